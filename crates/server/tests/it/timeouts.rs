//! The durations of leases, reviews and attempts: those of the installation, until a tenant sets
//! its own.

use std::time::Duration;

use ade_core::ids::ProcessId;
use ade_core::time::Timestamp;
use ade_core::timeouts::{TaskTimeouts, Timeouts};
use ade_server::assemble;
use ade_server::config::Config;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::coverage::cases;
use crate::executions::{claim, runner};
use crate::locks::{ACQUIRE, want, with};
use crate::world::{Answer, Person, World, plan};

cases! {
    times_apply_at_once_and_are_versioned:
        Happy "GET /v1/settings/timeouts",
        Denied "GET /v1/settings/timeouts",
        Happy "PUT /v1/settings/timeouts",
        Denied "PUT /v1/settings/timeouts",
        Conflict "PUT /v1/settings/timeouts";
    lease_ttl_follows_the_tenant_settings: Happy "POST /v1/locks/acquire";
    claim_ttl_follows_the_tenant_settings: Happy "POST /v1/agents/{id}/claim";
    review_timeout_follows_the_tenant_settings: Happy "PUT /v1/settings/timeouts";
}

const TIMES: &str = "/v1/settings/timeouts";

async fn set(world: &World, version: u64, body: Value) -> Answer {
    let version = format!("\"{version}\"");
    world.send("PUT", &world.admin.token, TIMES, Some(body), &[("if-match", &*version)]).await
}

fn lock(default_ttl_seconds: u32, max_ttl_seconds: u32, heartbeat_interval_seconds: u32) -> Value {
    json!({ "lock": { "default_ttl_seconds": default_ttl_seconds,
                      "max_ttl_seconds": max_ttl_seconds,
                      "heartbeat_interval_seconds": heartbeat_interval_seconds } })
}

async fn times_apply_at_once_and_are_versioned(world: &World) {
    let bob = world.person("Bob", &["author"]).await;
    let before = world.get(&bob.token, TIMES).await.expect(200);
    let usual = json!({
        "version": 0, "overridden": [], "set_by": null, "set_at": null,
        "lock": { "default_ttl_seconds": 30, "max_ttl_seconds": 300,
                  "heartbeat_interval_seconds": 10 },
        "approval": { "default_timeout_seconds": 172_800, "max_timeout_seconds": 2_592_000 },
        "task": { "default_timeout_seconds": 3_600 },
    });
    assert_eq!(before, usual);
    assert_eq!(world.draft(&bob, "usual").await["timeout_seconds"], 3_600);

    let body = json!({ "task": { "default_timeout_seconds": 900 }, "reason": "ours are quick" });
    let made = set(world, 0, body.clone()).await.expect(200);
    assert_eq!((&made["version"], &made["overridden"]), (&json!(1), &json!(["task"])));
    assert_eq!((&made["task"], &made["lock"]), (&body["task"], &usual["lock"]));
    assert_eq!(made["set_by"], json!(world.admin.id));
    assert_eq!(world.get(&bob.token, TIMES).await.expect(200), made);
    assert_eq!(world.draft(&bob, "quick").await["timeout_seconds"], 900);
    let own = with(plan("own"), &json!({ "timeout_seconds": 60 }));
    let own = world.post(&bob.token, "/v1/tasks", own).await.expect(201);
    assert_eq!(own["timeout_seconds"], 60, "an explicit value is used");
    set(world, 0, body.clone()).await.refused(412, "version_mismatch");
    let entries = world.get(&world.admin.token, "/v1/audit?object=timeouts version 1").await;
    let entry = &entries.expect(200)["items"][0]["leaf"];
    assert_eq!(entry["what"]["action"], "timeouts.set");
    assert_eq!(entry["why"]["reason"], "ours are quick");

    let approval = |usual: u32, most: u32| {
        let timeouts = json!({ "default_timeout_seconds": usual, "max_timeout_seconds": most });
        json!({ "approval": timeouts })
    };
    for (bad, path) in [
        (lock(31, 30, 1), "lock.default_ttl_seconds"),
        (lock(30, 301, 1), "lock.max_ttl_seconds"),
        (lock(9, 9, 4), "lock.heartbeat_interval_seconds"),
        (approval(7_200, 3_600), "approval.default_timeout_seconds"),
        (approval(59, 3_600), "approval.default_timeout_seconds"),
        (json!({ "task": { "default_timeout_seconds": 86_401 } }), "task.default_timeout_seconds"),
        (json!({ "reason": " " }), "reason"),
    ] {
        let problem = set(world, 1, bad).await.refused(422, "invalid_body");
        assert_eq!(problem["path"], path, "{problem}");
    }
    let version = [("if-match", "\"1\"")];
    let denied = world.send("PUT", &bob.token, TIMES, Some(body), &version).await;
    denied.refused(403, "not_allowed");
    assert_eq!(world.refusals(&world.tenant, "settings.edit").await, 1);
    world.get("", TIMES).await.refused(401, "unauthenticated");
    let (_, other) = world.tenant("other").await;
    let theirs = world.get(&other.token, TIMES).await.expect(200);
    assert_eq!(theirs, usual, "the timeouts of another tenant");

    let back = set(world, 1, json!({})).await.expect(200);
    assert_eq!((&back["version"], &back["overridden"]), (&json!(2), &json!([])));
    assert_eq!(back["task"], usual["task"], "an omitted group returns to its defaults");
}

#[tokio::test]
async fn default_times_are_read_from_the_settings() {
    let read = |name: &str, value: &str| {
        let set = [(format!("ADE__DEFAULTS__{name}"), value.to_owned())];
        Config::read(None, set.into_iter().collect())
    };
    let config = read("TASK__DEFAULT_TIMEOUT_SECONDS", "77").unwrap();
    let base = assemble::unconnected(&config).unwrap().books.base();
    let usual = Timeouts::default();
    let own = TaskTimeouts { default_timeout_seconds: 77 };
    assert_eq!(base.timeouts, Timeouts { task: own, ..usual });
    let config = read("RISK_THRESHOLDS__HIGH", "50").unwrap();
    let base = assemble::unconnected(&config).unwrap().books.base();
    assert_eq!((base.timeouts, base.thresholds.in_order()), (usual, [30, 50, 85]));
    let message = read("LOCK__MAX_TTL_SECONDS", "301").unwrap_err().to_string();
    assert!(
        message.contains("`lock.max_ttl_seconds` is 301 s: it must be 1 to 300 s"),
        "{message}"
    );
}

async fn lease_ttl_follows_the_tenant_settings(world: &World) {
    let owner = world.person("Olga", &["author"]).await;
    let agent = world.agent("bot", &owner).await;
    set(world, 0, lock(6, 12, 2)).await.expect(200);
    let lease = world.post(&agent.token, ACQUIRE, want(&["a"])).await.expect(200);
    assert_eq!(lease["ttl_seconds"], 6);
    for (asked, name) in [("12s", "b"), ("1s", "c")] {
        let body = with(want(&[name]), &json!({ "ttl_seconds": asked }));
        world.post(&agent.token, ACQUIRE, body).await.expect(200);
    }
    let body = with(want(&["d"]), &json!({ "ttl_seconds": 13 }));
    let problem = world.post(&agent.token, ACQUIRE, body).await.refused(422, "invalid_body");
    assert_eq!(
        (&problem["path"], &problem["detail"]),
        (&json!("ttl_seconds"), &json!("ttl_seconds: must be at most 12 s"))
    );
    let beat = json!({ "process_id": ProcessId::from_uuid(Uuid::now_v7()), "lease_ids": [] });
    let path = format!("/v1/agents/{}/heartbeat", agent.id);
    let heartbeat = world.post(&agent.token, &path, beat).await.expect(200);
    assert_eq!(heartbeat["heartbeat_every_seconds"], 2);
}

async fn claim_ttl_follows_the_tenant_settings(world: &World) {
    let (author, reviewer) =
        (world.person("Ann", &["author"]).await, world.person("Rob", &["reviewer"]).await);
    let agent = runner(world, "bot", &author).await;
    world.approved(&author, &reviewer, "one").await;
    set(world, 0, lock(7, 8, 2)).await.expect(200);
    for wrong in ["9s", "999ms"] {
        let response = claim(world, &agent, json!({ "ttl_seconds": wrong })).await;
        assert_eq!(response.refused(422, "invalid_body")["path"], "ttl_seconds", "{wrong}");
    }
    let claimed = claim(world, &agent, json!({})).await.expect(200);
    assert_eq!(claimed["permit"]["ttl_seconds"], 7, "{claimed}");
}

/// Creates a task in review and returns the time that this reviewer has to answer.
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

async fn review_timeout_follows_the_tenant_settings(world: &World) {
    let (author, reviewer) =
        (world.person("Ann", &["author"]).await, world.person("Rob", &["reviewer"]).await);
    let hours = Duration::from_hours;
    assert_eq!(time_to_answer(world, &author, &reviewer, "at first").await, hours(48));
    let approval = json!({ "default_timeout_seconds": 7_200, "max_timeout_seconds": 10_800 });
    let body = json!({ "approval": approval });
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
