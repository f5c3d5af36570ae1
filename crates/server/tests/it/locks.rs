//! Locks over HTTP. Every case runs with the lock queue in PostgreSQL, which is the default of a
//! test world, and in Redis.

use std::time::Duration;

use ade_testkit::eventually;
use serde_json::{Value, json};

use crate::coverage::on_both;
use crate::leavers::leave;
use crate::world::{Answer, Person, World};

on_both! {
    lease_is_acquired_extended_shown_and_released:
        Happy "POST /v1/locks/acquire",
        Happy "POST /v1/leases/heartbeat",
        Happy "POST /v1/leases/{id}/release",
        Happy "GET /v1/leases",
        Happy "GET /v1/locks",
        Happy "GET /v1/locks/{type}/{id}";
    fenced_lease_is_stored_and_audited_once:
        Happy "POST /v1/locks/acquire";
    lease_for_a_person_is_refused:
        Denied "POST /v1/locks/acquire",
        Denied "POST /v1/leases/heartbeat",
        Denied "POST /v1/leases/{id}/release";
    lease_for_an_agent_of_a_leaver_is_refused:
        Denied "POST /v1/locks/acquire",
        Denied "POST /v1/leases/{id}/release";
    locks_without_a_token_are_not_shown:
        Denied "GET /v1/leases",
        Denied "GET /v1/locks",
        Denied "GET /v1/locks/graph",
        Denied "GET /v1/locks/deadlocks",
        Denied "GET /v1/locks/{type}/{id}";
    lock_set_is_granted_as_a_whole_or_not_at_all:
        Happy "POST /v1/locks/acquire";
    lock_requested_concurrently_is_granted_once:
        Happy "POST /v1/locks/acquire";
    lock_modes_shared_and_counting_allow_several_holders:
        Happy "POST /v1/locks/acquire";
    lease_id_reused_for_another_request_is_refused:
        Conflict "POST /v1/locks/acquire";
    session_that_expired_cannot_be_used_again:
        Conflict "POST /v1/leases/heartbeat";
    lease_that_expired_cannot_be_released:
        Conflict "POST /v1/leases/{id}/release";
    lock_broken_by_an_operator_is_released_and_audited:
        Happy "POST /v1/locks/{type}/{id}/break",
        Denied "POST /v1/locks/{type}/{id}/break",
        Conflict "POST /v1/locks/{type}/{id}/break";
    incident_lock_keeps_agents_out_until_it_ends:
        Happy "POST /v1/locks/incidents",
        Denied "POST /v1/locks/incidents",
        Conflict "POST /v1/locks/incidents";
    lock_graph_shows_waiters_and_deadlocks:
        Happy "GET /v1/locks/graph",
        Happy "GET /v1/locks/deadlocks";
    locks_of_another_tenant_are_unreachable:
        Denied "POST /v1/leases/{id}/release";
    lock_request_that_is_invalid_is_refused:
        Happy "POST /v1/locks/acquire";
}

const SOON: Duration = Duration::from_mins(1);
pub const ACQUIRE: &str = "/v1/locks/acquire";
pub const HEARTBEAT: &str = "/v1/leases/heartbeat";

/// A request for exclusive locks on these databases.
pub fn want(names: &[&str]) -> Value {
    let locks: Vec<Value> = names.iter().map(|id| json!(format!("db:{id}"))).collect();
    json!({ "resources": locks })
}

pub fn with(mut body: Value, more: &Value) -> Value {
    for (name, value) in more.as_object().unwrap() {
        body[name] = value.clone();
    }
    body
}

pub fn lease_of(answer: &Value) -> &str {
    answer["lease_id"].as_str().unwrap()
}

pub async fn bots<const N: usize>(world: &World, names: [&str; N]) -> [Person; N] {
    let bob = world.person("Bob", &["author"]).await;
    let mut made = Vec::new();
    for name in names {
        made.push(world.agent(name, &bob).await);
    }
    made.try_into().unwrap_or_else(|_| unreachable!())
}

pub async fn release(world: &World, who: &Person, lease: &str) -> Answer {
    world.send("POST", &who.token, &format!("/v1/leases/{lease}/release"), None, &[]).await
}

async fn lease_is_acquired_extended_shown_and_released(world: &World) {
    let [one, other] = bots(world, ["one", "other"]).await;
    let held = world.post(&one.token, ACQUIRE, want(&["orders"])).await.expect(200);
    let lease = lease_of(&held).to_owned();
    assert_eq!(held["resources"], json!(["db:orders"]));
    assert_eq!(held["ttl_seconds"], 30);

    let busy = world.post(&other.token, ACQUIRE, want(&["orders"])).await.refused(423, "lock_held");
    assert_eq!(busy["holder"]["agent_id"], json!(one.id), "{busy}");
    assert_eq!(busy["resource"], "db:orders");
    assert!(busy["position"].is_null(), "the request is not queued: {busy}");
    assert!(!busy.to_string().contains(&lease), "the lease id is a secret of its holder: {busy}");

    let beats = json!({ "lease_ids": [lease, format!("lease_{}", "0".repeat(26))] });
    let beats = world.post(&one.token, HEARTBEAT, beats).await.expect(200);
    assert_eq!(beats["leases"][0]["state"], "GRANTED");
    assert_eq!(beats["leases"][0]["fence"], held["fence"]);
    assert!(beats["leases"][0]["expires_at"].as_str() > held["expires_at"].as_str(), "{beats}");
    assert_eq!(beats["leases"][1]["state"], "UNKNOWN");

    let seen = world.get(&other.token, "/v1/locks/db/orders").await.expect(200);
    assert_eq!((&seen["holding"], &seen["waiting"]), (&json!(1), &json!(0)));
    assert_eq!(seen["holders"][0]["lease_hash"], held["lease_hash"]);
    let all = world.get(&world.admin.token, "/v1/locks").await.expect(200);
    assert_eq!(all["items"][0]["resource"], "db:orders");
    let own = world.get(&one.token, "/v1/leases").await.expect(200);
    assert_eq!(own["items"][0]["lease_hash"], held["lease_hash"]);
    let none = world.get(&other.token, "/v1/leases").await.expect(200);
    assert_eq!(none["items"], json!([]), "an agent sees only its own leases");
    for shown in [&seen, &all, &own] {
        assert!(!shown.to_string().contains(&lease), "{shown}");
    }

    for _ in 0..2 {
        let given = release(world, &one, &lease).await.expect(200);
        assert_eq!(given["state"], "RELEASED");
    }
    world.get(&other.token, "/v1/locks/db/orders").await.refused(404, "not_found");
    world.post(&other.token, ACQUIRE, want(&["orders"])).await.expect(200);
}

async fn fenced_lease_is_stored_and_audited_once(world: &World) {
    let [one] = bots(world, ["one"]).await;
    let asked = json!({ "fenced": true, "purpose": "migrate the orders" });
    let asked = with(want(&["a", "b"]), &asked);
    let held = world.post(&one.token, ACQUIRE, asked.clone()).await.expect(200);
    assert_eq!(held["fenced"], true);
    let open = "SELECT count(*) FROM lock_hold WHERE fenced_by IS NULL AND released_at IS NULL";
    assert_eq!(world.database.number(open).await, 2);
    let again = with(asked, &json!({ "lease_id": held["lease_id"] }));
    let again = world.post(&one.token, ACQUIRE, again).await.expect(200);
    assert_eq!((&again["fence"], &again["lease_id"]), (&held["fence"], &held["lease_id"]));
    let leaves = "SELECT count(*) FROM audit_entry WHERE action = 'lock.acquire'";
    assert_eq!(world.database.number(leaves).await, 1, "recorded once, however often it is sent");
    release(world, &one, lease_of(&held)).await.expect(200);
    assert_eq!(world.database.number(open).await, 0);
    let events = "SELECT count(*) FROM outbox WHERE kind IN ('lock.acquired', 'lock.released')";
    assert_eq!(world.database.number(events).await, 2);
    let secret =
        format!("SELECT count(*) FROM outbox WHERE payload::text LIKE '%{}%'", lease_of(&held));
    assert_eq!(world.database.number(&secret).await, 0);
}

/// A token that was checked a moment ago may be accepted for less than a second more.
async fn lease_for_an_agent_of_a_leaver_is_refused(world: &World) {
    let bob = world.person("Bob", &["author"]).await;
    let bot = world.agent("bot", &bob).await;
    let held = world.post(&bot.token, ACQUIRE, want(&["a"])).await.expect(200);
    leave(world, &bob).await;
    eventually("the agent is refused", SOON, async || {
        match world.post(&bot.token, ACQUIRE, want(&["b"])).await.status {
            401 => Ok(()),
            status => Err(status.to_string()),
        }
    })
    .await;
    release(world, &bot, lease_of(&held)).await.refused(401, "unauthenticated");
}

async fn lease_for_a_person_is_refused(world: &World) {
    let admin = &world.admin;
    world.post(&admin.token, ACQUIRE, want(&["a"])).await.refused(403, "not_allowed");
    world.post(&admin.token, HEARTBEAT, json!({})).await.refused(403, "not_allowed");
    let none = format!("lease_{}", "0".repeat(26));
    release(world, admin, &none).await.refused(403, "not_allowed");
    assert_eq!(world.refusals(&world.tenant, "lock.acquire").await, 3);
}

async fn locks_without_a_token_are_not_shown(world: &World) {
    for path in
        ["/v1/leases", "/v1/locks", "/v1/locks/graph", "/v1/locks/deadlocks", "/v1/locks/db/a"]
    {
        world.get("", path).await.refused(401, "unauthenticated");
    }
    world.get(&world.admin.token, "/v1/locks/DB/a").await.refused(404, "not_found");
}

async fn lock_set_is_granted_as_a_whole_or_not_at_all(world: &World) {
    let [one, other] = bots(world, ["one", "other"]).await;
    let held = world.post(&one.token, ACQUIRE, want(&["b"])).await.expect(200);
    world.post(&other.token, ACQUIRE, want(&["a", "b", "c"])).await.refused(423, "lock_held");
    let rest = world.post(&one.token, ACQUIRE, want(&["a", "c"])).await.expect(200);
    release(world, &one, lease_of(&held)).await.expect(200);
    release(world, &one, lease_of(&rest)).await.expect(200);
    let whole = world.post(&other.token, ACQUIRE, want(&["c", "a", "b"])).await.expect(200);
    assert_eq!(whole["resources"], json!(["db:a", "db:b", "db:c"]), "in the canonical order");
    let mut found = Vec::new();
    let mut token = String::new();
    loop {
        let page = world.get(&other.token, &format!("/v1/locks?page_size=1{token}")).await;
        let page = page.expect(200);
        let items = page["items"].as_array().unwrap().iter();
        found.extend(items.map(|lock| lock["resource"].as_str().unwrap().to_owned()));
        let Some(next) = page["next_page_token"].as_str() else { break };
        token = format!("&page_token={next}");
    }
    found.sort();
    assert_eq!(found, ["db:a", "db:b", "db:c"], "each lock is on one page");
    let leases = world.get(&world.admin.token, "/v1/leases").await.expect(200);
    assert_eq!(leases["items"].as_array().unwrap().len(), 1, "one lease with three locks");
}

/// Makes as many calls as a test world has connections, so that none waits for a connection.
async fn lock_requested_concurrently_is_granted_once(world: &World) {
    world.database.be_patient().await;
    let [one] = bots(world, ["one"]).await;
    for round in 0..5 {
        let name = format!("a{round}");
        let asked = with(want(&[&name, "b"]), &json!({ "fenced": true }));
        let ask = || world.post(&one.token, ACQUIRE, asked.clone());
        let two = async || <[Answer; 2]>::from(tokio::join!(ask(), ask()));
        let answers = <[_; 3]>::from(tokio::join!(two(), two(), two()));
        let mut held = Vec::new();
        for answer in answers.into_iter().flatten() {
            match answer.status {
                200 => held.push(lease_of(&answer.body).to_owned()),
                _ => drop(answer.refused(423, "lock_held")),
            }
        }
        assert_eq!(held.len(), 1, "in round {round}");
        release(world, &one, &held[0]).await.expect(200);
    }
}

async fn lock_modes_shared_and_counting_allow_several_holders(world: &World) {
    let [one] = bots(world, ["one"]).await;
    let shared = json!({ "resources": [{ "resource": "db:a", "mode": "shared" }] });
    let counted =
        json!({ "resources": [{ "resource": "slot:x", "mode": "counting", "capacity": 2 }] });
    for body in [&shared, &shared, &shared, &counted, &counted] {
        world.post(&one.token, ACQUIRE, body.clone()).await.expect(200);
    }
    world.post(&one.token, ACQUIRE, counted).await.refused(423, "lock_held");
    world.post(&one.token, ACQUIRE, want(&["a"])).await.refused(423, "lock_held");
    let seen = world.get(&one.token, "/v1/locks/db/a").await.expect(200);
    assert_eq!(seen["holding"], 3);
    assert_eq!(seen["holders"][0]["mode"], "shared");
}

async fn lease_id_reused_for_another_request_is_refused(world: &World) {
    let [one] = bots(world, ["one"]).await;
    let lease = "lease_3s2m0aw1fkdk9gq4n8xz5v7t0e";
    let asked = with(want(&["a"]), &json!({ "lease_id": lease }));
    let held = world.post(&one.token, ACQUIRE, asked.clone()).await.expect(200);
    assert_eq!(held["lease_id"], lease);
    let again = world.post(&one.token, ACQUIRE, asked.clone()).await.expect(200);
    assert_eq!(again["fence"], held["fence"]);
    let other = with(want(&["b"]), &json!({ "lease_id": lease }));
    world.post(&one.token, ACQUIRE, other).await.refused(409, "lease_reused");
    let session = "ags_00000000000000000000000001";
    let mine = |name: &str| with(want(&[name]), &json!({ "process_id": session }));
    world.post(&one.token, ACQUIRE, mine("s")).await.expect(200);
    world.post(&one.token, ACQUIRE, mine("s")).await.refused(409, "lock_self_conflict");
    release(world, &one, lease).await.expect(200);
    let late = world.post(&one.token, ACQUIRE, asked).await.refused(409, "lease_lost");
    assert_eq!(late["state"], "RELEASED", "a late duplicate has no effect");
}

async fn session_that_expired_cannot_be_used_again(world: &World) {
    let [one, other] = bots(world, ["one", "other"]).await;
    let beat = json!({ "process_id": "ags_00000000000000000000000001" });
    let begun = world.post(&one.token, HEARTBEAT, beat.clone()).await.expect(200);
    assert!(begun["process_expires_at"].is_string(), "{begun}");
    world.post(&one.token, HEARTBEAT, beat.clone()).await.expect(200);
    world.post(&other.token, HEARTBEAT, beat.clone()).await.refused(404, "not_found");
    world.database.run("UPDATE agent_session SET lease_until = clock_timestamp()").await;
    world.post(&one.token, HEARTBEAT, beat.clone()).await.refused(409, "process_expired");
    world.work("hold_reaper").await;
    let closed = "SELECT count(*) FROM agent_session WHERE closed_at IS NOT NULL";
    assert_eq!(world.database.number(closed).await, 1);
    let asked = with(want(&["a"]), &json!({ "process_id": beat["process_id"] }));
    world.post(&one.token, ACQUIRE, asked).await.refused(409, "process_expired");
}

async fn lease_that_expired_cannot_be_released(world: &World) {
    let [one, other] = bots(world, ["one", "other"]).await;
    let short = json!({ "ttl_seconds": 1, "fenced": true });
    let held = world.post(&one.token, ACQUIRE, with(want(&["a"]), &short)).await.expect(200);
    let open = "SELECT count(*) FROM lock_hold WHERE fenced_by IS NULL";
    // The deadline and the lock delay have to pass before the worker notices.
    eventually("the lease has expired", SOON, async || {
        world.pass(Duration::from_secs(1)).await;
        world.work("hold_reaper").await;
        match world.database.number(open).await {
            0 => Ok(()),
            open => Err(open),
        }
    })
    .await;
    let lost = release(world, &one, lease_of(&held)).await.refused(409, "lease_lost");
    assert_eq!(lost["state"], "EXPIRED");
    let beats = json!({ "lease_ids": [held["lease_id"]] });
    let beats = world.post(&one.token, HEARTBEAT, beats).await.expect(200);
    assert_eq!(beats["leases"][0]["state"], "EXPIRED");
    let events = "SELECT count(*) FROM outbox WHERE kind = 'lock.expired'";
    assert_eq!(world.database.number(events).await, 1);
    let next = with(want(&["a"]), &json!({ "fenced": true }));
    let next = world.post(&other.token, ACQUIRE, next).await.expect(200);
    assert!(next["fence"].as_u64() > held["fence"].as_u64(), "{next} after {held}");
}

async fn lock_broken_by_an_operator_is_released_and_audited(world: &World) {
    let [one, other] = bots(world, ["one", "other"]).await;
    let olga = world.person("Olga", &["operator"]).await;
    let path = "/v1/locks/db/a/break";
    let body = json!({ "reason": "it hangs" });
    world.post(&olga.token, path, body.clone()).await.refused(404, "not_found");
    let held = with(want(&["a", "b"]), &json!({ "fenced": true }));
    let held = world.post(&one.token, ACQUIRE, held).await.expect(200);
    world.post(&one.token, path, body.clone()).await.refused(403, "insufficient_scope");
    let bob = world.person("Eve", &["author", "reviewer"]).await;
    world.post(&bob.token, path, body.clone()).await.refused(403, "not_allowed");
    world.post(&olga.token, path, json!({ "reason": " " })).await.refused(422, "invalid_body");
    let other_hash = format!("sha256:{}", "0".repeat(64));
    let only = json!({ "reason": "x", "lease_hash": other_hash });
    world.post(&olga.token, path, only).await.refused(404, "not_found");

    let key = [("idempotency-key", "once")];
    let broken = world.send("POST", &olga.token, path, Some(body.clone()), &key).await.expect(200);
    assert_eq!(broken["leases"][0]["lease_hash"], held["lease_hash"], "{broken}");
    let again = world.send("POST", &olga.token, path, Some(body), &key).await;
    assert!(again.is_repeated);
    release(world, &one, lease_of(&held)).await.refused(409, "lease_lost");
    let whole = with(want(&["a", "b"]), &json!({ "fenced": true }));
    world.post(&other.token, ACQUIRE, whole).await.expect(200);
    let leaf = "SELECT count(*) FROM audit_entry WHERE action = 'lock.break'
                   AND kind = 'change' AND object = 'db:a'";
    assert_eq!(world.database.number(leaf).await, 1);
    let events = "SELECT count(*) FROM outbox WHERE kind = 'lock.broken'";
    assert_eq!(world.database.number(events).await, 1);
}

async fn incident_lock_keeps_agents_out_until_it_ends(world: &World) {
    let [one] = bots(world, ["one"]).await;
    let olga = world.person("Olga", &["operator"]).await;
    let path = "/v1/locks/incidents";
    let now = "SELECT extract(epoch FROM clock_timestamp())::bigint * 1000000";
    let now = world.database.number(now).await;
    let at = |seconds: i64| {
        let micros = now + seconds * 1_000_000;
        ade_core::time::Timestamp::from_micros(micros).to_string()
    };
    let body = |seconds| {
        let resources = json!(["db:a", "db:b"]);
        json!({ "resources": resources, "reason": "leak", "ends_at": at(seconds) })
    };
    world.post(&one.token, path, body(60)).await.refused(403, "insufficient_scope");
    world.post(&olga.token, path, body(-60)).await.refused(422, "invalid_body");
    world.post(&olga.token, path, body(100_000)).await.refused(422, "invalid_body");
    let held = with(want(&["b"]), &json!({ "fenced": true }));
    let held = world.post(&one.token, ACQUIRE, held).await.expect(200);
    let busy = world.post(&olga.token, path, body(3_000)).await.refused(423, "lock_held");
    assert_eq!(busy["holder"]["agent_id"], json!(one.id), "{busy}");
    release(world, &one, lease_of(&held)).await.expect(200);

    world.twice("POST", &olga.token, path, [body(3_000), body(2_000)]).await;
    for fenced in [true, false] {
        let asked = with(want(&["a"]), &json!({ "fenced": fenced }));
        let held = world.post(&one.token, ACQUIRE, asked).await.refused(423, "lock_held");
        assert_eq!(held["holder"]["user_id"], json!(olga.id), "{held}");
    }
    let seen = world.get(&one.token, "/v1/locks/db/b").await.expect(200);
    assert_eq!(seen["holders"][0]["expires_at"], at(3_000), "no heartbeat is needed");
    let end = json!({ "reason": "it is over" });
    world.post(&olga.token, "/v1/locks/db/a/break", end).await.expect(200);
    world.post(&one.token, ACQUIRE, want(&["a", "b"])).await.expect(200);
}

async fn lock_graph_shows_waiters_and_deadlocks(world: &World) {
    let [one, other] = bots(world, ["one", "other"]).await;
    let session = |number: u8| json!({ "process_id": format!("ags_{number:026}") });
    let held = with(want(&["a"]), &session(1));
    let held = world.post(&one.token, ACQUIRE, held).await.expect(200);
    let asked = with(with(want(&["a"]), &session(2)), &json!({ "wait": "1ms", "priority": 7 }));
    let queued = world.post(&other.token, ACQUIRE, asked.clone()).await.refused(423, "lock_held");
    assert_eq!(queued["position"], 1, "{queued}");
    let graph = world.get(&one.token, "/v1/locks/graph").await.expect(200);
    assert_eq!(graph["edges"].as_array().unwrap().len(), 1, "{graph}");
    assert_eq!(graph["root_blockers"][0]["blocked"], 1);
    let seen = world.get(&one.token, "/v1/locks/db/a").await.expect(200);
    assert_eq!(seen["queue"][0]["priority"], 7);
    assert_eq!(seen["holders"][0]["owner_hash"], graph["edges"][0]["waits_for"]);

    // A request keeps its place by its lease id. Another request of the same session is refused.
    let mine = json!({ "lease_id": queued["lease_id"] });
    let same = world.post(&other.token, ACQUIRE, with(asked.clone(), &mine)).await;
    assert_eq!(same.refused(423, "lock_held")["lease_id"], queued["lease_id"]);
    world.post(&other.token, ACQUIRE, asked).await.refused(409, "lock_already_waiting");
    release(world, &other, lease_of(&queued)).await.expect(200);

    let next = with(with(want(&["b"]), &session(2)), &json!({}));
    world.post(&other.token, ACQUIRE, next).await.expect(200);
    let first = with(with(want(&["b"]), &session(1)), &json!({ "wait": "1ms" }));
    world.post(&one.token, ACQUIRE, first).await.refused(423, "lock_held");
    let last = with(with(want(&["a"]), &session(2)), &json!({ "wait": "1ms" }));
    world.post(&other.token, ACQUIRE, last).await.refused(423, "deadlock_detected");
    let found = world.get(&one.token, "/v1/locks/deadlocks").await.expect(200);
    let cycle = found["items"][0]["cycle"].as_array().unwrap();
    assert_eq!(cycle.len(), 2, "{found}");
    assert_eq!(cycle[0]["lease_hash"], found["items"][0]["victim"]);
    assert_eq!(cycle[0]["agent_id"], json!(other.id), "the youngest request is the victim");
    assert!(!found.to_string().contains(lease_of(&held)));
    let events = "SELECT count(*) FROM outbox WHERE kind = 'lock.deadlock'";
    assert_eq!(world.database.number(events).await, 1);
}

async fn locks_of_another_tenant_are_unreachable(world: &World) {
    let [one] = bots(world, ["one"]).await;
    let (_, stranger) = world.tenant("other").await;
    let made = world
        .post(&stranger.token, "/v1/agents", json!({ "name": "theirs", "owner_id": stranger.id }))
        .await
        .expect(201);
    let token = json!({ "agent_id": made["id"], "scopes": ["read", "execute"] });
    let token = world.post(&stranger.token, "/v1/tokens", token).await.expect(201);
    let theirs = Person {
        id: made["id"].as_str().unwrap().to_owned(),
        token: token["token"].as_str().unwrap().to_owned(),
    };
    let held = with(want(&["a"]), &json!({ "fenced": true }));
    let held = world.post(&one.token, ACQUIRE, held).await.expect(200);
    release(world, &theirs, lease_of(&held)).await.refused(404, "not_found");
    let beats = json!({ "lease_ids": [held["lease_id"]] });
    let beats = world.post(&theirs.token, HEARTBEAT, beats).await.expect(200);
    assert_eq!(beats["leases"][0]["state"], "UNKNOWN");
    world.get(&theirs.token, "/v1/locks/db/a").await.refused(404, "not_found");
    world.post(&theirs.token, ACQUIRE, want(&["a"])).await.expect(200);
    let still = json!({ "lease_ids": [held["lease_id"]] });
    let still = world.post(&one.token, HEARTBEAT, still).await.expect(200);
    assert_eq!(still["leases"][0]["state"], "GRANTED");
}

async fn lock_request_that_is_invalid_is_refused(world: &World) {
    let [one] = bots(world, ["one"]).await;
    for bad in [
        json!({ "resources": [] }),
        with(want(&["a", "a"]), &json!({})),
        with(want(&["a"]), &json!({ "ttl_seconds": 0 })),
        with(want(&["a"]), &json!({ "ttl_seconds": 301 })),
        with(want(&["a"]), &json!({ "wait": "56s" })),
        with(want(&["a"]), &json!({ "wait": "soon" })),
        with(want(&["a"]), &json!({ "priority": 101 })),
        with(want(&["a"]), &json!({ "purpose": " " })),
        json!({ "resources": [{ "resource": "db:a", "mode": "counting" }] }),
        json!({ "resources": [{ "resource": "db:a", "capacity": 2 }] }),
        json!({ "resources": ["DB:a"] }),
    ] {
        world.post(&one.token, ACQUIRE, bad.clone()).await.refused(422, "invalid_body");
    }
    let many: Vec<String> = (0..1_001).map(|number| format!("lease_{number:026}")).collect();
    let beats = json!({ "lease_ids": many });
    world.post(&one.token, HEARTBEAT, beats).await.refused(422, "invalid_body");
    world.post(&one.token, ACQUIRE, want(&["a"])).await.expect(200);
}
