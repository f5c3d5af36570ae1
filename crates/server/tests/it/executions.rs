//! Execution of tasks over HTTP. Every case runs with the lock queue in PostgreSQL, which is the
//! default of a test world, and in Redis.

use std::time::{Duration, Instant};

use ade_core::ids::TenantId;
use ade_core::limits::DUE_WINDOW_ROWS;
use ade_engine::workers::Driver;
use ade_receipt::{Expected, KeySet, Watermark};
use ade_testkit::eventually;
use serde_json::{Value, json};

use crate::claiming::{approved_of, may_have};
use crate::coverage::on_both;
use crate::world::{Answer, Person, World, id, path_of, quoted, seen};

on_both! {
    execution_of_an_approved_task_completes_it:
        Happy "POST /v1/agents/{id}/claim",
        Happy "POST /v1/executions/{id}/begin",
        Happy "POST /v1/executions/{id}/heartbeat",
        Happy "POST /v1/executions/{id}/log",
        Happy "POST /v1/executions/{id}/finish",
        Happy "GET /v1/executions/{id}",
        Happy "GET /v1/executions/{id}/log",
        Happy "GET /v1/tasks/{id}/executions",
        Happy "GET /.well-known/jwks.json";
    claim_for_another_agent_is_refused:
        Denied "POST /v1/agents/{id}/claim";
    execution_report_by_another_agent_is_refused:
        Denied "POST /v1/executions/{id}/begin",
        Denied "POST /v1/executions/{id}/heartbeat",
        Denied "POST /v1/executions/{id}/log",
        Denied "POST /v1/executions/{id}/finish",
        Denied "GET /v1/executions/{id}",
        Denied "GET /v1/executions/{id}/log",
        Denied "GET /v1/tasks/{id}/executions";
    execution_report_that_is_repeated_takes_effect_once:
        Conflict "POST /v1/agents/{id}/claim",
        Conflict "POST /v1/executions/{id}/begin",
        Conflict "POST /v1/executions/{id}/heartbeat",
        Conflict "POST /v1/executions/{id}/log",
        Conflict "POST /v1/executions/{id}/finish";
    claims_on_one_resource_are_granted_one_at_a_time:
        Happy "POST /v1/agents/{id}/claim";
    claim_over_the_task_limit_gets_no_permit:
        Happy "POST /v1/agents/{id}/claim";
    claim_by_a_paused_or_draining_agent_gets_no_permit:
        Happy "POST /v1/agents/{id}/claim";
    execution_report_that_is_denied_releases_nothing:
        Denied "POST /v1/executions/{id}/finish";
    execution_released_to_the_host_is_no_success:
        Happy "POST /v1/executions/{id}/finish",
        Happy "GET /v1/tasks";
    execution_that_failed_without_changes_is_retried:
        Happy "POST /v1/executions/{id}/finish";
    execution_that_is_cancelled_can_roll_back:
        Happy "POST /v1/executions/{id}/finish";
    execution_over_its_timeout_is_stopped_then_unknown:
        Happy "POST /v1/executions/{id}/heartbeat";
    execution_cancelled_late_has_the_full_time_to_stop:
        Happy "POST /v1/tasks/{id}/cancel";
    permit_that_is_not_begun_expires:
        Conflict "POST /v1/executions/{id}/begin";
    permit_is_not_given_during_a_freeze:
        Happy "POST /v1/agents/{id}/claim";
    permit_without_a_valid_basis_reopens_the_review:
        Happy "POST /v1/agents/{id}/claim";
    execution_of_an_agent_that_dies_before_begin_is_retried:
        Happy "POST /v1/agents/{id}/claim";
    execution_of_an_agent_that_dies_after_begin_is_unknown:
        Happy "POST /v1/tasks/{id}/reconcile",
        Denied "POST /v1/tasks/{id}/reconcile",
        Conflict "POST /v1/tasks/{id}/reconcile";
}

const SOON: Duration = Duration::from_mins(1);

/// Creates an agent with the capability to apply what `plan` proposes.
pub async fn runner(world: &World, name: &str, owner: &Person) -> Person {
    let agent = world.agent(name, owner).await;
    let path = format!("/v1/agents/{}", agent.id);
    let change = json!({ "capabilities": ["db.*", "sql.*", "value.*"] });
    world.send("PATCH", &world.admin.token, &path, Some(change), &[]).await.expect(200);
    agent
}

struct Team {
    bob: Person,
    rea: Person,
    bot: Person,
}

async fn team(world: &World) -> Team {
    let bob = world.person("Bob", &["author"]).await;
    let rea = world.person("Rea", &["reviewer"]).await;
    let bot = runner(world, "infra-bot", &bob).await;
    Team { bob, rea, bot }
}

pub async fn claim(world: &World, agent: &Person, body: Value) -> Answer {
    world.post(&agent.token, &format!("/v1/agents/{}/claim", agent.id), body).await
}

/// Claims a task and asserts that a permit is available now.
pub async fn permit(world: &World, agent: &Person) -> Value {
    let claimed = claim(world, agent, json!({})).await.expect(200);
    assert!(claimed["permit"].is_object(), "{claimed}");
    claimed["permit"].clone()
}

async fn assert_no_permit(world: &World, agent: &Person) {
    let claimed = claim(world, agent, json!({})).await.expect(200);
    assert_eq!((&claimed["permit"], &claimed["timed_out"]), (&Value::Null, &json!(false)));
}

pub async fn say(world: &World, agent: &Person, permit: &Value, verb: &str, more: Value) -> Answer {
    let path = format!("/v1/executions/{}/{verb}", permit["execution_id"].as_str().unwrap());
    let mut body = more;
    body["lease_id"] = permit["lease_id"].clone();
    world.post(&agent.token, &path, body).await
}

fn failed(left: &str) -> Value {
    json!({ "outcome": "failed", "left_behind": left, "error": "no room on the disk" })
}

async fn state(world: &World, who: &Person, task: &Value) -> String {
    world.task(who, task).await["state"].as_str().unwrap().to_owned()
}

async fn execution_of_an_approved_task_completes_it(world: &World) {
    let Team { bob, rea, bot } = team(world).await;
    assert_no_permit(world, &bot).await;
    let task = world.approved(&bob, &rea, "Add a currency").await;
    let permit = permit(world, &bot).await;
    assert_eq!(permit["task"]["id"], task["id"]);
    assert_eq!((&permit["task"]["state"], &permit["attempt"]), (&json!("APPLYING"), &json!(1)));
    assert_eq!(permit["timeout_seconds"], 3600);
    let fence = permit["resources"][0]["fence"].as_u64().unwrap();

    // A target verifies the receipt offline.
    let keys = world.get("", "/.well-known/jwks.json").await.expect(200);
    let keys = KeySet::from_json(&keys.to_string()).unwrap();
    let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs();
    let expected = Expected { issuer: "ade", audience: "ade", now };
    let receipt = keys.verify(permit["receipt"].as_str().unwrap(), expected).unwrap();
    assert_eq!((receipt.task.as_str(), receipt.agent.as_str()), (id(&task), bot.id.as_str()));
    assert_eq!(receipt.digest, task["digest"].as_str().unwrap());
    assert_eq!(receipt.votes[0].user, rea.id);
    let fenced = receipt.of("database:orders").unwrap();
    assert_eq!(fenced.fence, fence);
    Watermark::default().admit(fenced).unwrap();

    let begun = say(world, &bot, &permit, "begin", json!({})).await.expect(200);
    assert_eq!(begun["state"], "RUNNING");
    let alive = say(world, &bot, &permit, "heartbeat", json!({})).await.expect(200);
    assert_eq!((&alive["abort_requested"], &alive["ttl_seconds"]), (&json!(false), &json!(30)));
    let lines = json!({ "first": 0, "lines": [
        { "stream": "stdout", "text": "ALTER TABLE" }, { "stream": "stderr", "text": "slow" }] });
    say(world, &bot, &permit, "log", lines.clone()).await.expect(200);
    let again = say(world, &bot, &permit, "log", lines).await.expect(200);
    assert_eq!(again["next"], 2, "sent twice, stored once");
    let output = json!({ "output": "done", "details": { "rows": 3 } });
    let ended = say(world, &bot, &permit, "finish", output).await.expect(200);
    assert_eq!((&ended["state"], &ended["outcome"]), (&json!("ENDED"), &json!("succeeded")));
    assert_eq!(state(world, &bob, &task).await, "COMPLETED");

    let path = format!("/v1/executions/{}", permit["execution_id"].as_str().unwrap());
    let seen = world.get(&rea.token, &path).await.expect(200);
    assert_eq!((&seen["output"], &seen["details"]["rows"]), (&json!("done"), &json!(3)));
    assert!(
        !seen.to_string().contains(permit["lease_id"].as_str().unwrap()),
        "the lease is secret"
    );
    let log = world.get(&rea.token, &format!("{path}/log?from=1")).await.expect(200);
    assert_eq!(log["lines"][0]["text"], "slow");
    assert_eq!((&log["next"], &log["is_complete"]), (&json!(2), &json!(true)));
    let all = world.get(&bob.token, &format!("{}/executions", path_of(&task))).await.expect(200);
    assert_eq!(all["items"].as_array().unwrap().len(), 1);
    let held = "SELECT count(*) FROM lock_hold WHERE released_at IS NULL";
    assert_eq!(world.database.number(held).await, 0, "all locks are released");
}

async fn execution_released_to_the_host_is_no_success(world: &World) {
    let Team { bob, rea, bot } = team(world).await;
    let task = world.approved(&bob, &rea, "Add a currency").await;
    let permit = permit(world, &bot).await;
    say(world, &bot, &permit, "begin", json!({})).await.expect(200);
    for (field, value) in [("error", "no room"), ("left_behind", "nothing")] {
        let body = json!({ "outcome": "released_to_host", field: value });
        say(world, &bot, &permit, "finish", body).await.refused(422, "invalid_body");
    }
    let released = json!({ "outcome": "released_to_host", "output": "started" });
    let ended = say(world, &bot, &permit, "finish", released).await.expect(200);
    assert_eq!((&ended["state"], &ended["outcome"]), (&json!("ENDED"), &json!("released_to_host")));
    let detail = json!("RELEASED_TO_HOST");
    let seen = world.task(&rea, &task).await;
    assert_eq!((&seen["state"], &seen["sub_state"]), (&json!("COMPLETED"), &detail));
    assert!(seen["is_final"].as_bool().unwrap());
    assert!(seen["next_action"]["message"].as_str().unwrap().contains("check the result"));
    let listed = world.get(&rea.token, "/v1/tasks?state=COMPLETED").await.expect(200);
    assert_eq!(listed["items"][0]["sub_state"], detail);
    let event = "SELECT count(*) FROM outbox WHERE kind = 'task.completed'
                  AND payload ->> 'sub_state' = 'RELEASED_TO_HOST'";
    assert_eq!(world.database.number(event).await, 1);
}

async fn claim_for_another_agent_is_refused(world: &World) {
    let Team { bob, rea, bot } = team(world).await;
    world.approved(&bob, &rea, "Add a currency").await;
    let other = runner(world, "other-bot", &bob).await;
    let path = format!("/v1/agents/{}/claim", bot.id);
    for who in [&other, &bob, &world.admin] {
        world.post(&who.token, &path, json!({})).await.refused(403, "not_allowed");
    }
    world.post("", &path, json!({})).await.refused(401, "unauthenticated");
    assert_eq!(world.refusals(&bot.id, "execution.claim").await, 3);
    let incapable = world.agent("reader", &bob).await;
    assert_no_permit(world, &incapable).await;
}

async fn execution_report_by_another_agent_is_refused(world: &World) {
    let Team { bob, rea, bot } = team(world).await;
    let task = world.approved(&bob, &rea, "Add a currency").await;
    let permit = permit(world, &bot).await;
    let other = runner(world, "other-bot", &bob).await;
    let mut guessed = permit.clone();
    guessed["lease_id"] = json!("lease_01k9xq3vb8f2n4s6t7w8y9z0ab");
    let lines = json!({ "first": 0, "lines": [{ "stream": "note", "text": "x" }] });
    for (verb, more) in [
        ("begin", json!({})),
        ("heartbeat", json!({})),
        ("log", lines),
        ("finish", json!({})),
        ("finish", failed("nothing")),
    ] {
        let by_another = say(world, &other, &permit, verb, more.clone()).await;
        by_another.refused(404, "not_found");
        say(world, &bot, &guessed, verb, more).await.refused(404, "not_found");
    }
    let (_, stranger) = world.tenant("umbrella").await;
    let execution = permit["execution_id"].as_str().unwrap();
    for path in [
        format!("/v1/executions/{execution}"),
        format!("/v1/executions/{execution}/log"),
        format!("{}/executions", path_of(&task)),
    ] {
        world.get(&stranger.token, &path).await.refused(404, "not_found");
    }
    assert_eq!(state(world, &bob, &task).await, "APPLYING");
}

async fn execution_report_that_is_repeated_takes_effect_once(world: &World) {
    let Team { bob, rea, bot } = team(world).await;
    let task = world.approved(&bob, &rea, "Add a currency").await;
    let path = format!("/v1/agents/{}/claim", bot.id);
    let key = [("idempotency-key", "first")];
    let send = async || world.send("POST", &bot.token, &path, Some(json!({})), &key).await;
    let permit = send().await.expect(200)["permit"].clone();
    let again = send().await;
    assert!(again.is_repeated);
    assert_eq!(again.body["permit"], permit, "the response is replayed");
    say(world, &bot, &permit, "finish", json!({})).await.refused(409, "not_begun");
    for odd in [
        json!({ "outcome": "failed" }),
        json!({ "outcome": "timed_out", "error": " " }),
        json!({ "error": "no room on the disk" }),
        json!({ "left_behind": "nothing" }),
    ] {
        say(world, &bot, &permit, "finish", odd).await.refused(422, "invalid_body");
    }
    say(world, &bot, &permit, "begin", json!({})).await.expect(200);
    say(world, &bot, &permit, "begin", json!({})).await.refused(409, "already_begun");
    say(world, &bot, &permit, "finish", json!({})).await.expect(200);
    let lines = json!({ "first": 0, "lines": [{ "stream": "note", "text": "x" }] });
    for (verb, more) in [
        ("heartbeat", json!({})),
        ("log", lines),
        ("finish", json!({})),
        ("finish", failed("changed")),
        ("begin", json!({})),
    ] {
        say(world, &bot, &permit, verb, more).await.refused(409, "lease_lost");
    }
    assert_eq!(state(world, &bob, &task).await, "COMPLETED");
}

async fn claims_on_one_resource_are_granted_one_at_a_time(world: &World) {
    let Team { bob, rea, bot } = team(world).await;
    let first = world.approved(&bob, &rea, "Add a currency").await;
    world.approved(&bob, &rea, "Drop a currency").await;
    let held = permit(world, &bot).await;
    assert_eq!(held["task"]["id"], first["id"], "the older task is first");
    assert_no_permit(world, &bot).await;
    say(world, &bot, &held, "begin", json!({})).await.expect(200);
    say(world, &bot, &held, "finish", json!({})).await.expect(200);
    let next = until_permit(world, &bot).await;
    assert!(next["fence"].as_u64() > held["fence"].as_u64(), "fences increase");
}

/// Claims until there is a permit, because a task that waits for a resource may need more than one
/// claim.
async fn until_permit(world: &World, agent: &Person) -> Value {
    let began = Instant::now();
    loop {
        let claimed = claim(world, agent, json!({})).await.expect(200);
        if claimed["permit"].is_object() {
            return claimed["permit"].clone();
        }
        assert!(began.elapsed() < SOON, "{claimed}");
        tokio::task::yield_now().await;
    }
}

async fn claim_over_the_task_limit_gets_no_permit(world: &World) {
    let Team { bob, rea, bot } = team(world).await;
    may_have(world, &bot, 1).await;
    for database in ["orders", "prices"] {
        approved_of(world, &bob, &rea, database).await;
    }
    let held = permit(world, &bot).await;
    assert_no_permit(world, &bot).await;
    let other = runner(world, "other-bot", &bob).await;
    permit(world, &other).await;
    say(world, &bot, &held, "finish", failed("nothing")).await.expect(200);
}

async fn claim_by_a_paused_or_draining_agent_gets_no_permit(world: &World) {
    let Team { bob, rea, bot } = team(world).await;
    world.approved(&bob, &rea, "Add a currency").await;
    for order in ["pause", "drain"] {
        let path = format!("/v1/agents/{}/{order}", bot.id);
        world.post(&world.admin.token, &path, json!({})).await.expect(200);
        assert_no_permit(world, &bot).await;
        let path = format!("/v1/agents/{}/resume", bot.id);
        world.post(&world.admin.token, &path, json!({})).await.expect(200);
    }
    until_permit(world, &bot).await;
}

/// The agent of a deactivated person cannot report, and its locks stay held until a person has
/// reconciled the task.
async fn execution_report_that_is_denied_releases_nothing(world: &World) {
    let Team { bob, rea, bot } = team(world).await;
    let task = world.approved(&bob, &rea, "Add a currency").await;
    let held = permit(world, &bot).await;
    say(world, &bot, &held, "begin", json!({})).await.expect(200);
    let path = format!("/v1/users/{}", bob.id);
    let gone = json!({ "active": false });
    world.send("PATCH", &world.admin.token, &path, Some(gone), &[]).await.expect(200);
    for (verb, more) in [("finish", json!({})), ("finish", failed("nothing"))] {
        say(world, &bot, &held, verb, more).await.expect(404);
    }
    let open = "SELECT count(*) FROM lock_hold WHERE released_at IS NULL AND is_begun";
    assert_eq!(world.database.number(open).await, 2, "the database and the slot");
    assert_eq!(state(world, &world.admin, &task).await, "APPLYING");
}

async fn execution_that_failed_without_changes_is_retried(world: &World) {
    let Team { bob, rea, bot } = team(world).await;
    let task = world.approved(&bob, &rea, "Add a currency").await;
    let held = permit(world, &bot).await;
    say(world, &bot, &held, "begin", json!({})).await.expect(200);
    say(world, &bot, &held, "finish", failed("rolled_back")).await.expect(200);
    assert_eq!(state(world, &bob, &task).await, "APPROVED");
    assert_no_permit(world, &bot).await;
    world.pass(Duration::from_mins(1)).await;
    let again = until_permit(world, &bot).await;
    assert_eq!(again["attempt"], 2);
    say(world, &bot, &again, "begin", json!({})).await.expect(200);
    say(world, &bot, &again, "finish", failed("changed")).await.expect(200);
    assert_eq!(
        state(world, &bob, &task).await,
        "FAILED",
        "an attempt that left changes is not repeated"
    );
    let path = format!("/v1/executions/{}", again["execution_id"].as_str().unwrap());
    let seen = world.get(&bob.token, &path).await.expect(200);
    assert_eq!(
        (&seen["left_behind"], &seen["error"]),
        (&json!("changed"), &json!("no room on the disk"))
    );
}

async fn execution_that_is_cancelled_can_roll_back(world: &World) {
    let Team { bob, rea, bot } = team(world).await;
    let task = world.approved(&bob, &rea, "Add a currency").await;
    let held = permit(world, &bot).await;
    let cancel = async || {
        let now = world.task(&bob, &task).await;
        let path = format!("{}/cancel", path_of(&task));
        world.matching("POST", &bob.token, &path, Some(json!({})), &now).await.expect(202)
    };
    say(world, &bot, &held, "begin", json!({})).await.expect(200);
    cancel().await;
    let alive = say(world, &bot, &held, "heartbeat", json!({})).await.expect(200);
    assert_eq!(alive["abort_requested"], true);
    let stopped =
        json!({ "outcome": "cancelled", "left_behind": "rolled_back", "error": "asked to stop" });
    say(world, &bot, &held, "finish", stopped).await.expect(200);
    assert_eq!(state(world, &bob, &task).await, "FAILED", "a cancelled task is not tried again");
}

async fn execution_over_its_timeout_is_stopped_then_unknown(world: &World) {
    let Team { bob, rea, bot } = team(world).await;
    let task = world.approved(&bob, &rea, "Add a currency").await;
    let held = permit(world, &bot).await;
    say(world, &bot, &held, "begin", json!({})).await.expect(200);
    world.pass(Duration::from_mins(59)).await;
    world.work("apply_timer").await;
    let alive = say(world, &bot, &held, "heartbeat", json!({})).await.expect(200);
    assert_eq!(alive["abort_requested"], false);
    world.pass(Duration::from_hours(1)).await;
    world.work("apply_timer").await;
    let alive = say(world, &bot, &held, "heartbeat", json!({})).await.expect(200);
    assert_eq!(alive["abort_requested"], true);
    world.pass(Duration::from_mins(69)).await;
    world.work("apply_timer").await;
    assert_eq!(state(world, &bob, &task).await, "APPLYING");
    world.pass(Duration::from_mins(71)).await;
    world.work("apply_timer").await;
    assert_eq!(state(world, &bob, &task).await, "UNKNOWN");
}

async fn execution_cancelled_late_has_the_full_time_to_stop(world: &World) {
    let Team { bob, rea, bot } = team(world).await;
    let task = world.approved(&bob, &rea, "Add a currency").await;
    let held = permit(world, &bot).await;
    say(world, &bot, &held, "begin", json!({})).await.expect(200);
    world.pass(Duration::from_mins(59)).await;
    let (now, path) = (world.task(&bob, &task).await, format!("{}/cancel", path_of(&task)));
    world.matching("POST", &bob.token, &path, Some(json!({})), &now).await.expect(202);
    world.pass(Duration::from_mins(68)).await;
    world.work("apply_timer").await;
    assert_eq!(state(world, &bob, &task).await, "APPLYING", "the agent is rolling back");
    world.pass(Duration::from_mins(70)).await;
    world.work("apply_timer").await;
    assert_eq!(state(world, &bob, &task).await, "UNKNOWN");
}

async fn permit_that_is_not_begun_expires(world: &World) {
    let Team { bob, rea, bot } = team(world).await;
    let task = world.approved(&bob, &rea, "Add a currency").await;
    let held = permit(world, &bot).await;
    world.pass(Duration::from_mins(1)).await;
    world.work("apply_timer").await;
    assert_eq!(state(world, &bob, &task).await, "APPLYING");
    world.pass(Duration::from_mins(2)).await;
    world.work("apply_timer").await;
    assert_eq!(state(world, &bob, &task).await, "APPROVED");
    say(world, &bot, &held, "begin", json!({})).await.refused(409, "lease_lost");
}

async fn permit_is_not_given_during_a_freeze(world: &World) {
    let Team { bob, rea, bot } = team(world).await;
    let entry = json!({ "criticality": 50, "environment": "prod", "owner_id": world.admin.id });
    let path = "/v1/resources/database/orders";
    world.send("PUT", &world.admin.token, path, Some(entry), &[]).await.expect(200);
    world.approved(&bob, &rea, "Add a currency").await;
    for scope in [
        json!({ "scope": "tenant" }),
        json!({ "scope": "environment", "target": "prod" }),
        json!({ "scope": "resources", "target": "database:*" }),
    ] {
        let mut body = scope.clone();
        body["reason"] = json!("INC-7");
        let freeze = world.post(&world.admin.token, "/v1/freezes", body).await.expect(201);
        assert_no_permit(world, &bot).await;
        let path = format!("/v1/freezes/{}", id(&freeze));
        world.send("DELETE", &world.admin.token, &path, None, &[]).await.expect(200);
    }
    until_permit(world, &bot).await;
}

async fn permit_without_a_valid_basis_reopens_the_review(world: &World) {
    let Team { bob, rea, bot } = team(world).await;
    let task = world.approved(&bob, &rea, "Add a currency").await;
    let path = format!("/v1/users/{}/roles", rea.id);
    let none = json!({ "roles": [] });
    world.send("PUT", &world.admin.token, &path, Some(none), &[]).await.expect(200);
    assert_no_permit(world, &bot).await;
    assert_eq!(state(world, &bob, &task).await, "SUBMITTED", "its only vote no longer counts");
}

/// Waits in real time, because a lock expires by the clock of PostgreSQL.
async fn until_state(world: &World, who: &Person, task: &Value, wanted: &str) {
    let began = Instant::now();
    while state(world, who, task).await != wanted {
        assert!(began.elapsed() < SOON, "not {wanted}: {}", world.task(who, task).await);
        world.pass(Duration::from_millis(200)).await;
        world.work("apply_rescuer").await;
    }
}

async fn execution_of_an_agent_that_dies_before_begin_is_retried(world: &World) {
    let Team { bob, rea, bot } = team(world).await;
    let task = world.approved(&bob, &rea, "Add a currency").await;
    let claimed = claim(world, &bot, json!({ "ttl_seconds": 1 })).await.expect(200);
    let dead = claimed["permit"].clone();
    until_state(world, &bob, &task, "APPROVED").await;
    say(world, &bot, &dead, "begin", json!({})).await.refused(409, "lease_lost");
    let again = until_permit(world, &bot).await;
    assert_eq!(again["attempt"], 2);
    assert!(again["fence"].as_u64() > dead["fence"].as_u64(), "the dead holder is fenced off");
    let path = format!("/v1/executions/{}", dead["execution_id"].as_str().unwrap());
    assert_eq!(world.get(&bob.token, &path).await.expect(200)["outcome"], "lost");
}

async fn execution_of_an_agent_that_dies_after_begin_is_unknown(world: &World) {
    let Team { bob, rea, bot } = team(world).await;
    let task = world.approved(&bob, &rea, "Add a currency").await;
    world.approved(&bob, &rea, "Drop a currency").await;
    let claimed = claim(world, &bot, json!({ "ttl_seconds": 1 })).await.expect(200);
    let dead = claimed["permit"].clone();
    say(world, &bot, &dead, "begin", json!({})).await.expect(200);
    until_state(world, &bob, &task, "UNKNOWN").await;
    assert_no_permit(world, &bot).await;
    say(world, &bot, &dead, "heartbeat", json!({})).await.refused(409, "lease_lost");
    let late = say(world, &bot, &dead, "finish", json!({})).await.expect(200);
    assert_eq!((&late["ended_at"], &late["outcome"]), (&Value::Null, &json!("unknown")));
    let unknown = world.task(&bob, &task).await;
    assert_eq!(unknown["state"], "UNKNOWN", "a late report changes nothing");

    let path = format!("{}/reconcile", path_of(&task));
    let found = json!({ "found": "completed", "reason": "the column is there" });
    let reconcile = async |who: &Person, version: &str, body: &Value| {
        let matching = [("if-match", version)];
        world.send("POST", &who.token, &path, Some(body.clone()), &matching).await
    };
    let now = quoted(&unknown);
    reconcile(&bob, &now, &found).await.refused(403, "not_allowed");
    reconcile(&world.admin, "\"1\"", &found).await.refused(412, "version_mismatch");
    reconcile(&world.admin, &now, &json!({ "found": "completed", "reason": " " }))
        .await
        .refused(422, "reason_required");
    reconcile(&world.admin, &now, &found).await.expect(200);
    assert_eq!(state(world, &bob, &task).await, "COMPLETED");
    let execution = format!("/v1/executions/{}", dead["execution_id"].as_str().unwrap());
    let seen = world.get(&bob.token, &execution).await.expect(200);
    assert_eq!((&seen["outcome"], &seen["late_report"]), (&json!("succeeded"), &json!("finished")));
    until_permit(world, &bot).await;
}

/// Processes without a shared Redis find each other's work by polling. Unclaimed work of another
/// tenant must not block them.
#[tokio::test]
async fn claim_finds_work_behind_unclaimed_work_of_others() {
    let world = World::new().await;
    let Team { bob, rea, bot } = team(&world).await;
    let (other, _) = world.tenant("umbrella").await;
    let other = other.parse::<TenantId>().unwrap().uuid();
    let many = DUE_WINDOW_ROWS + 1;
    let flood = format!(
        "INSERT INTO scheduled_job (tenant_id, kind, object, at)
         SELECT '{other}', 'claim', gen_random_uuid(), moment() - interval '1 day'
           FROM generate_series(1, {many})"
    );
    world.database.run(&flood).await;
    let task = world.reviewing(&bob, "Add a currency").await;
    let watching = Driver::watch(&world.app);
    let beside = world.beside().await;
    let approving = async {
        let waits = async || {
            let waited_in = world.app.claims.tenants();
            waited_in.first().map(drop).ok_or("no claim is waiting")
        };
        eventually("a claim is waiting", SOON, waits).await;
        let path = format!("{}/approve", path_of(&task));
        let vote = beside.json(&path, seen(&task).to_string());
        let voted = vote.header("authorization", format!("Bearer {}", rea.token)).send().await;
        assert_eq!(voted.unwrap().status(), 200);
    };
    let path = format!("/v1/agents/{}/claim?wait=10s", bot.id);
    let (claimed, ()) = tokio::join!(world.post(&bot.token, &path, json!({})), approving);
    assert_eq!(claimed.expect(200)["permit"]["task"]["id"], task["id"]);
    watching.stop().await;
}
