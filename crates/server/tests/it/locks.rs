//! Locks over HTTP, the same with either queue: in PostgreSQL, as every world has it, and in
//! Redis.

use std::time::Duration;

use ade_testkit::eventually;
use serde_json::{Value, json};

use crate::coverage::on_both;
use crate::leavers::leave;
use crate::world::{Answer, Person, World};

on_both! {
    a_lease_is_had_kept_seen_and_given_back:
        Happy "POST /v1/locks/acquire",
        Happy "POST /v1/leases/heartbeat",
        Happy "POST /v1/leases/{id}/release",
        Happy "GET /v1/leases",
        Happy "GET /v1/locks",
        Happy "GET /v1/locks/{type}/{id}";
    a_fenced_lease_is_on_the_record:
        Happy "POST /v1/locks/acquire";
    people_have_no_leases:
        Denied "POST /v1/locks/acquire",
        Denied "POST /v1/leases/heartbeat",
        Denied "POST /v1/leases/{id}/release";
    agents_of_somebody_who_left_have_no_leases:
        Denied "POST /v1/locks/acquire",
        Denied "POST /v1/leases/{id}/release";
    strangers_see_no_locks:
        Denied "GET /v1/leases",
        Denied "GET /v1/locks",
        Denied "GET /v1/locks/graph",
        Denied "GET /v1/locks/deadlocks",
        Denied "GET /v1/locks/{type}/{id}";
    a_set_is_had_whole_or_not_at_all:
        Happy "POST /v1/locks/acquire";
    of_many_at_once_one_has_it:
        Happy "POST /v1/locks/acquire";
    some_share_and_some_are_counted:
        Happy "POST /v1/locks/acquire";
    a_lease_id_is_one_request:
        Conflict "POST /v1/locks/acquire";
    a_session_that_has_ended_stays_so:
        Conflict "POST /v1/leases/heartbeat";
    what_was_lost_cannot_be_given_back:
        Conflict "POST /v1/leases/{id}/release";
    an_operator_breaks_a_lock:
        Happy "POST /v1/locks/{type}/{id}/break",
        Denied "POST /v1/locks/{type}/{id}/break",
        Conflict "POST /v1/locks/{type}/{id}/break";
    an_incident_keeps_everybody_out_until_its_end:
        Happy "POST /v1/locks/incidents",
        Denied "POST /v1/locks/incidents",
        Conflict "POST /v1/locks/incidents";
    who_waits_for_whom_is_seen:
        Happy "GET /v1/locks/graph",
        Happy "GET /v1/locks/deadlocks";
    no_tenant_touches_the_locks_of_another:
        Denied "POST /v1/leases/{id}/release";
    what_cannot_be_asked_for_is_said:
        Happy "POST /v1/locks/acquire";
}

const SOON: Duration = Duration::from_secs(10);
pub const ACQUIRE: &str = "/v1/locks/acquire";
pub const HEARTBEAT: &str = "/v1/leases/heartbeat";

/// Exclusive locks of these databases.
pub fn want(names: &[&str]) -> Value {
    let locks: Vec<Value> = names.iter().map(|id| json!({ "type": "db", "id": id })).collect();
    json!({ "resources": locks })
}

pub fn with(mut body: Value, more: &Value) -> Value {
    for (name, value) in more.as_object().unwrap() {
        body[name] = value.clone();
    }
    body
}

pub fn lease_of(answer: &Value) -> &str {
    answer["lease"].as_str().unwrap()
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

async fn a_lease_is_had_kept_seen_and_given_back(world: &World) {
    let [one, other] = bots(world, ["one", "other"]).await;
    let held = world.post(&one.token, ACQUIRE, want(&["orders"])).await.expect(200);
    let lease = lease_of(&held).to_owned();
    assert_eq!(held["resources"], json!(["db:orders"]));
    assert_eq!(held["ttl_ms"], 30_000);

    let busy = world.post(&other.token, ACQUIRE, want(&["orders"])).await.refused(423, "lock_held");
    assert_eq!(busy["holder"]["agent"], json!(one.id), "{busy}");
    assert_eq!(busy["resource"], "db:orders");
    assert!(busy["position"].is_null(), "it did not stand in line: {busy}");
    assert!(!busy.to_string().contains(&lease), "the id is its holder's secret: {busy}");

    let beats = json!({ "leases": [lease, format!("lease_{}", "0".repeat(26))] });
    let beats = world.post(&one.token, HEARTBEAT, beats).await.expect(200);
    assert_eq!(beats["leases"][0]["state"], "granted");
    assert_eq!(beats["leases"][0]["token"], held["token"]);
    assert!(beats["leases"][0]["expires_at"].as_str() > held["expires_at"].as_str(), "{beats}");
    assert_eq!(beats["leases"][1]["state"], "unknown");

    let seen = world.get(&other.token, "/v1/locks/db/orders").await.expect(200);
    assert_eq!((&seen["holding"], &seen["waiting"]), (&json!(1), &json!(0)));
    assert_eq!(seen["holders"][0]["lease_hash"], held["lease_hash"]);
    let all = world.get(&world.admin.token, "/v1/locks").await.expect(200);
    assert_eq!(all["items"][0]["resource"], "db:orders");
    let own = world.get(&one.token, "/v1/leases").await.expect(200);
    assert_eq!(own["items"][0]["lease_hash"], held["lease_hash"]);
    let none = world.get(&other.token, "/v1/leases").await.expect(200);
    assert_eq!(none["items"], json!([]), "an agent sees its own");
    for told in [&seen, &all, &own] {
        assert!(!told.to_string().contains(&lease), "{told}");
    }

    for _ in 0..2 {
        let given = release(world, &one, &lease).await.expect(200);
        assert_eq!(given["state"], "released");
    }
    world.get(&other.token, "/v1/locks/db/orders").await.refused(404, "not_found");
    world.post(&other.token, ACQUIRE, want(&["orders"])).await.expect(200);
}

async fn a_fenced_lease_is_on_the_record(world: &World) {
    let [one] = bots(world, ["one"]).await;
    let asked = json!({ "fenced": true, "purpose": "migrate the orders" });
    let asked = with(want(&["a", "b"]), &asked);
    let held = world.post(&one.token, ACQUIRE, asked.clone()).await.expect(200);
    assert_eq!(held["fenced"], true);
    let open = "SELECT count(*) FROM lock_hold WHERE fenced_by IS NULL AND released_at IS NULL";
    assert_eq!(world.database.number(open).await, 2);
    let again = with(asked, &json!({ "lease": held["lease"] }));
    let again = world.post(&one.token, ACQUIRE, again).await.expect(200);
    assert_eq!((&again["token"], &again["lease"]), (&held["token"], &held["lease"]));
    let leaves = "SELECT count(*) FROM audit_leaf WHERE action = 'lock.acquire'";
    assert_eq!(world.database.number(leaves).await, 1, "told once, however often it is sent");
    release(world, &one, lease_of(&held)).await.expect(200);
    assert_eq!(world.database.number(open).await, 0);
    let told = "SELECT count(*) FROM outbox WHERE kind IN ('lock.acquired', 'lock.released')";
    assert_eq!(world.database.number(told).await, 2);
    let secret =
        format!("SELECT count(*) FROM outbox WHERE payload::text LIKE '%{}%'", lease_of(&held));
    assert_eq!(world.database.number(&secret).await, 0);
}

/// Whoever was let in a moment ago is not asked again, but for less than a second.
async fn agents_of_somebody_who_left_have_no_leases(world: &World) {
    let bob = world.person("Bob", &["author"]).await;
    let bot = world.agent("bot", &bob).await;
    let held = world.post(&bot.token, ACQUIRE, want(&["a"])).await.expect(200);
    leave(world, &bob).await;
    eventually("the agent is let go", SOON, async || {
        match world.post(&bot.token, ACQUIRE, want(&["b"])).await.status {
            401 => Ok(()),
            status => Err(status.to_string()),
        }
    })
    .await;
    release(world, &bot, lease_of(&held)).await.refused(401, "unauthenticated");
}

async fn people_have_no_leases(world: &World) {
    let admin = &world.admin;
    world.post(&admin.token, ACQUIRE, want(&["a"])).await.refused(403, "not_allowed");
    world.post(&admin.token, HEARTBEAT, json!({})).await.refused(403, "not_allowed");
    let none = format!("lease_{}", "0".repeat(26));
    release(world, admin, &none).await.refused(403, "not_allowed");
    assert_eq!(world.refusals(&world.tenant, "lock.acquire").await, 3);
}

async fn strangers_see_no_locks(world: &World) {
    for path in
        ["/v1/leases", "/v1/locks", "/v1/locks/graph", "/v1/locks/deadlocks", "/v1/locks/db/a"]
    {
        world.get("", path).await.refused(401, "unauthenticated");
    }
    world.get(&world.admin.token, "/v1/locks/DB/a").await.refused(404, "not_found");
}

async fn a_set_is_had_whole_or_not_at_all(world: &World) {
    let [one, other] = bots(world, ["one", "other"]).await;
    let held = world.post(&one.token, ACQUIRE, want(&["b"])).await.expect(200);
    world.post(&other.token, ACQUIRE, want(&["a", "b", "c"])).await.refused(423, "lock_held");
    let rest = world.post(&one.token, ACQUIRE, want(&["a", "c"])).await.expect(200);
    release(world, &one, lease_of(&held)).await.expect(200);
    release(world, &one, lease_of(&rest)).await.expect(200);
    let whole = world.post(&other.token, ACQUIRE, want(&["c", "a", "b"])).await.expect(200);
    assert_eq!(whole["resources"], json!(["db:a", "db:b", "db:c"]), "in one order for all");
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
    assert_eq!(found, ["db:a", "db:b", "db:c"], "each once, whichever page it is on");
    let leases = world.get(&world.admin.token, "/v1/leases").await.expect(200);
    assert_eq!(leases["items"].as_array().unwrap().len(), 1, "one lease of three locks");
}

/// As many as a world has connections, so that none waits for one of those instead.
async fn of_many_at_once_one_has_it(world: &World) {
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

async fn some_share_and_some_are_counted(world: &World) {
    let [one] = bots(world, ["one"]).await;
    let shared = json!({ "resources": [{ "type": "db", "id": "a", "mode": "shared" }] });
    let counted =
        json!({ "resources": [{ "type": "slot", "id": "x", "mode": "counting", "capacity": 2 }] });
    for body in [&shared, &shared, &shared, &counted, &counted] {
        world.post(&one.token, ACQUIRE, body.clone()).await.expect(200);
    }
    world.post(&one.token, ACQUIRE, counted).await.refused(423, "lock_held");
    world.post(&one.token, ACQUIRE, want(&["a"])).await.refused(423, "lock_held");
    let seen = world.get(&one.token, "/v1/locks/db/a").await.expect(200);
    assert_eq!(seen["holding"], 3);
    assert_eq!(seen["holders"][0]["resources"][0]["mode"], "shared");
}

async fn a_lease_id_is_one_request(world: &World) {
    let [one] = bots(world, ["one"]).await;
    let lease = "lease_3s2m0aw1fkdk9gq4n8xz5v7t0e";
    let asked = with(want(&["a"]), &json!({ "lease": lease }));
    let held = world.post(&one.token, ACQUIRE, asked.clone()).await.expect(200);
    assert_eq!(held["lease"], lease);
    let again = world.post(&one.token, ACQUIRE, asked.clone()).await.expect(200);
    assert_eq!(again["token"], held["token"]);
    let other = with(want(&["b"]), &json!({ "lease": lease }));
    world.post(&one.token, ACQUIRE, other).await.refused(409, "lease_reused");
    let session = "ags_00000000000000000000000001";
    let mine = |name: &str| with(want(&[name]), &json!({ "session": session }));
    world.post(&one.token, ACQUIRE, mine("s")).await.expect(200);
    world.post(&one.token, ACQUIRE, mine("s")).await.refused(409, "lock_self_conflict");
    release(world, &one, lease).await.expect(200);
    let late = world.post(&one.token, ACQUIRE, asked).await.refused(409, "lease_lost");
    assert_eq!(late["state"], "released", "a late duplicate brings nothing back");
}

async fn a_session_that_has_ended_stays_so(world: &World) {
    let [one, other] = bots(world, ["one", "other"]).await;
    let beat = json!({ "session": "ags_00000000000000000000000001" });
    let begun = world.post(&one.token, HEARTBEAT, beat.clone()).await.expect(200);
    assert!(begun["session_until"].is_string(), "{begun}");
    world.post(&one.token, HEARTBEAT, beat.clone()).await.expect(200);
    world.post(&other.token, HEARTBEAT, beat.clone()).await.refused(404, "not_found");
    world.database.run("UPDATE agent_session SET lease_until = clock_timestamp()").await;
    world.post(&one.token, HEARTBEAT, beat.clone()).await.refused(409, "session_over");
    world.work("hold_reaper").await;
    let closed = "SELECT count(*) FROM agent_session WHERE closed_at IS NOT NULL";
    assert_eq!(world.database.number(closed).await, 1);
    let asked = with(want(&["a"]), &json!({ "session": beat["session"] }));
    world.post(&one.token, ACQUIRE, asked).await.refused(409, "session_over");
}

async fn what_was_lost_cannot_be_given_back(world: &World) {
    let [one, other] = bots(world, ["one", "other"]).await;
    let short = json!({ "ttl": "1s", "fenced": true });
    let held = world.post(&one.token, ACQUIRE, with(want(&["a"]), &short)).await.expect(200);
    let open = "SELECT count(*) FROM lock_hold WHERE fenced_by IS NULL";
    // Its deadline, then the lock delay; then the worker notices.
    eventually("it has run out", SOON, async || {
        world.pass(Duration::from_secs(1)).await;
        world.work("hold_reaper").await;
        match world.database.number(open).await {
            0 => Ok(()),
            open => Err(open),
        }
    })
    .await;
    let told = release(world, &one, lease_of(&held)).await.refused(409, "lease_lost");
    assert_eq!(told["state"], "expired");
    let beats = json!({ "leases": [held["lease"]] });
    let beats = world.post(&one.token, HEARTBEAT, beats).await.expect(200);
    assert_eq!(beats["leases"][0]["state"], "expired");
    let told = "SELECT count(*) FROM outbox WHERE kind = 'lock.expired'";
    assert_eq!(world.database.number(told).await, 1);
    let next = with(want(&["a"]), &json!({ "fenced": true }));
    let next = world.post(&other.token, ACQUIRE, next).await.expect(200);
    assert!(next["token"].as_u64() > held["token"].as_u64(), "{next} after {held}");
}

async fn an_operator_breaks_a_lock(world: &World) {
    let [one, other] = bots(world, ["one", "other"]).await;
    let olga = world.person("Olga", &["operator"]).await;
    let path = "/v1/locks/db/a/break";
    let body = json!({ "reason": "it hangs" });
    world.post(&olga.token, path, body.clone()).await.refused(404, "not_found");
    let held = with(want(&["a", "b"]), &json!({ "fenced": true }));
    let held = world.post(&one.token, ACQUIRE, held).await.expect(200);
    world.post(&one.token, path, body.clone()).await.refused(403, "class_closed");
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
    let leaf = "SELECT count(*) FROM audit_leaf WHERE action = 'lock.break'
                   AND kind = 'change' AND object = 'db:a'";
    assert_eq!(world.database.number(leaf).await, 1);
    let told = "SELECT count(*) FROM outbox WHERE kind = 'lock.broken'";
    assert_eq!(world.database.number(told).await, 1);
}

async fn an_incident_keeps_everybody_out_until_its_end(world: &World) {
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
    world.post(&one.token, path, body(60)).await.refused(403, "class_closed");
    world.post(&olga.token, path, body(-60)).await.refused(422, "invalid_body");
    world.post(&olga.token, path, body(100_000)).await.refused(422, "invalid_body");
    let held = with(want(&["b"]), &json!({ "fenced": true }));
    let held = world.post(&one.token, ACQUIRE, held).await.expect(200);
    let busy = world.post(&olga.token, path, body(3_000)).await.refused(423, "lock_held");
    assert_eq!(busy["holder"]["agent"], json!(one.id), "{busy}");
    release(world, &one, lease_of(&held)).await.expect(200);

    world.twice("POST", &olga.token, path, [body(3_000), body(2_000)]).await;
    for fenced in [true, false] {
        let asked = with(want(&["a"]), &json!({ "fenced": fenced }));
        let told = world.post(&one.token, ACQUIRE, asked).await.refused(423, "lock_held");
        assert_eq!(told["holder"]["user"], json!(olga.id), "{told}");
    }
    let seen = world.get(&one.token, "/v1/locks/db/b").await.expect(200);
    assert_eq!(seen["holders"][0]["expires_at"], at(3_000), "no heartbeat is needed");
    let end = json!({ "reason": "it is over" });
    world.post(&olga.token, "/v1/locks/db/a/break", end).await.expect(200);
    world.post(&one.token, ACQUIRE, want(&["a", "b"])).await.expect(200);
}

async fn who_waits_for_whom_is_seen(world: &World) {
    let [one, other] = bots(world, ["one", "other"]).await;
    let session = |number: u8| json!({ "session": format!("ags_{number:026}") });
    let held = with(want(&["a"]), &session(1));
    let held = world.post(&one.token, ACQUIRE, held).await.expect(200);
    let asked = with(with(want(&["a"]), &session(2)), &json!({ "wait": "1ms", "priority": 7 }));
    let told = world.post(&other.token, ACQUIRE, asked.clone()).await.refused(423, "lock_held");
    assert_eq!(told["position"], 1, "{told}");
    let graph = world.get(&one.token, "/v1/locks/graph").await.expect(200);
    assert_eq!(graph["edges"].as_array().unwrap().len(), 1, "{graph}");
    assert_eq!(graph["root_blockers"][0]["blocked"], 1);
    let seen = world.get(&one.token, "/v1/locks/db/a").await.expect(200);
    assert_eq!(seen["queue"][0]["priority"], 7);
    assert_eq!(seen["holders"][0]["owner_hash"], graph["edges"][0]["waits_for"]);

    // It keeps its place by its id; another request of this session has to wait for it.
    let mine = json!({ "lease": told["lease"] });
    let same = world.post(&other.token, ACQUIRE, with(asked.clone(), &mine)).await;
    assert_eq!(same.refused(423, "lock_held")["lease"], told["lease"]);
    world.post(&other.token, ACQUIRE, asked).await.refused(409, "lock_already_waiting");
    release(world, &other, lease_of(&told)).await.expect(200);

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
    assert_eq!(cycle[0]["agent"], json!(other.id), "the youngest gives way");
    assert!(!found.to_string().contains(lease_of(&held)));
    let told = "SELECT count(*) FROM outbox WHERE kind = 'lock.deadlock'";
    assert_eq!(world.database.number(told).await, 1);
}

async fn no_tenant_touches_the_locks_of_another(world: &World) {
    let [one] = bots(world, ["one"]).await;
    let (_, stranger) = world.tenant("other").await;
    let made = world
        .post(&stranger.token, "/v1/agents", json!({ "name": "theirs", "owner": stranger.id }))
        .await
        .expect(201);
    let token = json!({ "agent": made["id"], "scopes": ["read", "execute"] });
    let token = world.post(&stranger.token, "/v1/tokens", token).await.expect(201);
    let theirs = Person {
        id: made["id"].as_str().unwrap().to_owned(),
        token: token["token"].as_str().unwrap().to_owned(),
    };
    let held = with(want(&["a"]), &json!({ "fenced": true }));
    let held = world.post(&one.token, ACQUIRE, held).await.expect(200);
    release(world, &theirs, lease_of(&held)).await.refused(404, "not_found");
    let beats = json!({ "leases": [held["lease"]] });
    let beats = world.post(&theirs.token, HEARTBEAT, beats).await.expect(200);
    assert_eq!(beats["leases"][0]["state"], "unknown");
    world.get(&theirs.token, "/v1/locks/db/a").await.refused(404, "not_found");
    world.post(&theirs.token, ACQUIRE, want(&["a"])).await.expect(200);
    let still = json!({ "leases": [held["lease"]] });
    let still = world.post(&one.token, HEARTBEAT, still).await.expect(200);
    assert_eq!(still["leases"][0]["state"], "granted");
}

async fn what_cannot_be_asked_for_is_said(world: &World) {
    let [one] = bots(world, ["one"]).await;
    for bad in [
        json!({ "resources": [] }),
        with(want(&["a", "a"]), &json!({})),
        with(want(&["a"]), &json!({ "ttl": "0s" })),
        with(want(&["a"]), &json!({ "ttl": "301s" })),
        with(want(&["a"]), &json!({ "wait": "56s" })),
        with(want(&["a"]), &json!({ "wait": "soon" })),
        with(want(&["a"]), &json!({ "priority": 101 })),
        with(want(&["a"]), &json!({ "purpose": " " })),
        json!({ "resources": [{ "type": "db", "id": "a", "mode": "counting" }] }),
        json!({ "resources": [{ "type": "db", "id": "a", "capacity": 2 }] }),
        json!({ "resources": [{ "type": "DB", "id": "a" }] }),
    ] {
        world.post(&one.token, ACQUIRE, bad.clone()).await.refused(422, "invalid_body");
    }
    let many: Vec<String> = (0..1_001).map(|number| format!("lease_{number:026}")).collect();
    let beats = json!({ "leases": many });
    world.post(&one.token, HEARTBEAT, beats).await.refused(422, "invalid_body");
    world.post(&one.token, ACQUIRE, want(&["a"])).await.expect(200);
}
