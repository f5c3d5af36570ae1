//! How long leases, reviews and attempts may take: as the installation has it, until a tenant says
//! otherwise.

use std::time::Duration;

use ade_core::ids::AgentSessionId;
use ade_core::time::Timestamp;
use ade_core::times::{TaskTimes, Times};
use ade_server::assemble;
use ade_server::config::Config;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::coverage::cases;
use crate::executions::{claim, runner};
use crate::locks::{ACQUIRE, want, with};
use crate::world::{Answer, Person, World, plan};

cases! {
    times_hold_from_the_call_on_and_keep_their_versions:
        Happy "GET /v1/times",
        Denied "GET /v1/times",
        Happy "PUT /v1/times",
        Denied "PUT /v1/times",
        Conflict "PUT /v1/times";
    leases_are_as_long_as_the_tenant_says: Happy "POST /v1/locks/acquire";
    a_claim_is_as_long_as_the_tenant_says: Happy "POST /v1/agents/{id}/claim";
    reviewers_have_as_long_as_the_tenant_says: Happy "PUT /v1/times";
}

const TIMES: &str = "/v1/times";

async fn set(world: &World, version: u64, body: Value) -> Answer {
    let version = format!("\"{version}\"");
    world.send("PUT", &world.admin.token, TIMES, Some(body), &[("if-match", &*version)]).await
}

fn lock(default_ttl: u32, max_ttl: u32, heartbeat_interval: u32) -> Value {
    json!({ "lock": { "default_ttl": default_ttl, "max_ttl": max_ttl,
                      "heartbeat_interval": heartbeat_interval } })
}

async fn times_hold_from_the_call_on_and_keep_their_versions(world: &World) {
    let bob = world.person("Bob", &["author"]).await;
    let before = world.get(&bob.token, TIMES).await.expect(200);
    let usual = json!({
        "version": 0, "own": [], "set_by": null, "set_at": null,
        "lock": { "default_ttl": 30, "max_ttl": 300, "heartbeat_interval": 10 },
        "approval": { "default_timeout": 172_800, "max_timeout": 2_592_000 },
        "task": { "default_timeout": 3_600 },
    });
    assert_eq!(before, usual);
    assert_eq!(world.draft(&bob, "usual").await["timeout_seconds"], 3_600);

    let body = json!({ "task": { "default_timeout": 900 }, "reason": "ours are quick" });
    let made = set(world, 0, body.clone()).await.expect(200);
    assert_eq!((&made["version"], &made["own"]), (&json!(1), &json!(["task"])));
    assert_eq!((&made["task"], &made["lock"]), (&body["task"], &usual["lock"]));
    assert_eq!(made["set_by"], json!(world.admin.id));
    assert_eq!(world.get(&bob.token, TIMES).await.expect(200), made);
    assert_eq!(world.draft(&bob, "quick").await["timeout_seconds"], 900);
    let own = with(plan("own"), &json!({ "timeout_seconds": 60 }));
    let own = world.post(&bob.token, "/v1/tasks", own).await.expect(201);
    assert_eq!(own["timeout_seconds"], 60, "whoever says is heard");
    set(world, 0, body.clone()).await.refused(412, "version_mismatch");
    let leaves = world.get(&world.admin.token, "/v1/audit?object=times version 1").await;
    let leaf = &leaves.expect(200)["items"][0]["leaf"];
    assert_eq!(leaf["what"]["action"], "times.set");
    assert_eq!(leaf["why"]["reason"], "ours are quick");

    let approval = |usual: u32, most: u32| {
        let times = json!({ "default_timeout": usual, "max_timeout": most });
        json!({ "approval": times })
    };
    for (bad, path) in [
        (lock(31, 30, 1), "lock.default_ttl"),
        (lock(30, 301, 1), "lock.max_ttl"),
        (lock(9, 9, 4), "lock.heartbeat_interval"),
        (approval(7_200, 3_600), "approval.default_timeout"),
        (approval(59, 3_600), "approval.default_timeout"),
        (json!({ "task": { "default_timeout": 86_401 } }), "task.default_timeout"),
        (json!({ "reason": " " }), "reason"),
    ] {
        let told = set(world, 1, bad).await.refused(422, "invalid_body");
        assert_eq!(told["path"], path, "{told}");
    }
    let version = [("if-match", "\"1\"")];
    let denied = world.send("PUT", &bob.token, TIMES, Some(body), &version).await;
    denied.refused(403, "not_allowed");
    assert_eq!(world.refusals(&world.tenant, "settings.edit").await, 1);
    world.get("", TIMES).await.refused(401, "unauthenticated");
    let (_, other) = world.tenant("other").await;
    let theirs = world.get(&other.token, TIMES).await.expect(200);
    assert_eq!(theirs, usual, "of another tenant");

    let back = set(world, 1, json!({})).await.expect(200);
    assert_eq!((&back["version"], &back["own"]), (&json!(2), &json!([])));
    assert_eq!(back["task"], usual["task"], "what is left out is as it was at first");
}

#[tokio::test]
async fn an_installation_has_its_own_in_its_file() {
    let read = |name: &str, value: &str| {
        let set = [(format!("ADE__DEFAULTS__{name}"), value.to_owned())];
        Config::read(None, set.into_iter().collect())
    };
    let config = read("TASK__DEFAULT_TIMEOUT", "77").unwrap();
    let base = assemble::unconnected(&config).unwrap().books.base();
    let usual = Times::default();
    let own = TaskTimes { default_timeout: 77 };
    assert_eq!(base.times, Times { task: own, ..usual });
    let config = read("RISK_THRESHOLDS__HIGH", "50").unwrap();
    let base = assemble::unconnected(&config).unwrap().books.base();
    assert_eq!((base.times, base.thresholds.in_order()), (usual, [30, 50, 85]));
    let told = read("LOCK__MAX_TTL", "301").unwrap_err().to_string();
    assert!(told.contains("`lock.max_ttl` is 301 s: 1 to 300 s"), "{told}");
}

async fn leases_are_as_long_as_the_tenant_says(world: &World) {
    let owner = world.person("Olga", &["author"]).await;
    let agent = world.agent("bot", &owner).await;
    set(world, 0, lock(6, 12, 2)).await.expect(200);
    let lease = world.post(&agent.token, ACQUIRE, want(&["a"])).await.expect(200);
    assert_eq!(lease["ttl_ms"], 6_000);
    for (asked, name) in [("12s", "b"), ("1s", "c")] {
        let body = with(want(&[name]), &json!({ "ttl": asked }));
        world.post(&agent.token, ACQUIRE, body).await.expect(200);
    }
    let body = with(want(&["d"]), &json!({ "ttl": "13s" }));
    let told = world.post(&agent.token, ACQUIRE, body).await.refused(422, "invalid_body");
    assert_eq!((&told["path"], &told["detail"]), (&json!("ttl"), &json!("ttl: at most 12 s")));
    let beat = json!({ "session": AgentSessionId::from_uuid(Uuid::now_v7()), "leases": [] });
    let path = format!("/v1/agents/{}/heartbeat", agent.id);
    let told = world.post(&agent.token, &path, beat).await.expect(200);
    assert_eq!(told["heartbeat_every_ms"], 2_000);
}

async fn a_claim_is_as_long_as_the_tenant_says(world: &World) {
    let (author, reviewer) =
        (world.person("Ann", &["author"]).await, world.person("Rob", &["reviewer"]).await);
    let agent = runner(world, "bot", &author).await;
    world.approved(&author, &reviewer, "one").await;
    set(world, 0, lock(7, 8, 2)).await.expect(200);
    for wrong in ["9s", "999ms"] {
        let told = claim(world, &agent, json!({ "ttl": wrong })).await;
        assert_eq!(told.refused(422, "invalid_body")["path"], "ttl", "{wrong}");
    }
    let claimed = claim(world, &agent, json!({})).await.expect(200);
    assert_eq!(claimed["permit"]["ttl_ms"], 7_000, "{claimed}");
}

/// How long this reviewer has to answer what is now handed in.
async fn time_to_answer(
    world: &World,
    author: &Person,
    reviewer: &Person,
    title: &str,
) -> Duration {
    let task = world.reviewing(author, title).await;
    let inbox = world.get(&reviewer.token, "/v1/approvals?page_size=200").await.expect(200);
    let items = inbox["items"].as_array().unwrap();
    let found = items.iter().find(|item| item["task"]["id"] == task["id"]).unwrap();
    let at = |name: &str| found[name].as_str().unwrap().parse::<Timestamp>().unwrap();
    at("due_at").since(at("requested_at"))
}

async fn reviewers_have_as_long_as_the_tenant_says(world: &World) {
    let (author, reviewer) =
        (world.person("Ann", &["author"]).await, world.person("Rob", &["reviewer"]).await);
    let hours = Duration::from_hours;
    assert_eq!(time_to_answer(world, &author, &reviewer, "at first").await, hours(48));
    let body = json!({ "approval": { "default_timeout": 7_200, "max_timeout": 10_800 } });
    set(world, 0, body).await.expect(200);
    assert_eq!(time_to_answer(world, &author, &reviewer, "without a policy").await, hours(2));
    let policy = "name: silent\nrequire: [{roles: [reviewer], min: 1}]\n";
    world.policy(policy).await;
    assert_eq!(time_to_answer(world, &author, &reviewer, "under one").await, hours(2));
    world.database.run("UPDATE policy SET enabled = false").await;
    let slow = "name: slow\nrequire: [{roles: [reviewer], min: 1}]\nrespond_within: 5d\n";
    world.policy(slow).await;
    assert_eq!(time_to_answer(world, &author, &reviewer, "no longer than").await, hours(3));
}
