//! Applying over HTTP, the same with either queue: in PostgreSQL, as every world has it, and in
//! Redis.

use std::time::{Duration, Instant};

use ade_core::ids::TenantId;
use ade_core::limits::DUE_WINDOW_ROWS;
use ade_engine::work::Driver;
use ade_receipt::{Expected, KeySet, Watermark};
use ade_testkit::eventually;
use serde_json::{Value, json};

use crate::claiming::{approved_of, may_have};
use crate::coverage::on_both;
use crate::world::{Answer, Person, World, id, path_of, quoted, seen};

on_both! {
    an_approved_task_is_claimed_begun_and_finished:
        Happy "POST /v1/agents/{id}/claim",
        Happy "POST /v1/executions/{id}/begin",
        Happy "POST /v1/executions/{id}/heartbeat",
        Happy "POST /v1/executions/{id}/log",
        Happy "POST /v1/executions/{id}/finish",
        Happy "GET /v1/executions/{id}",
        Happy "GET /v1/executions/{id}/log",
        Happy "GET /v1/tasks/{id}/executions",
        Happy "GET /.well-known/jwks.json";
    nobody_claims_for_another:
        Denied "POST /v1/agents/{id}/claim";
    nobody_speaks_for_the_attempt_of_another:
        Denied "POST /v1/executions/{id}/begin",
        Denied "POST /v1/executions/{id}/heartbeat",
        Denied "POST /v1/executions/{id}/log",
        Denied "POST /v1/executions/{id}/finish",
        Denied "POST /v1/executions/{id}/fail",
        Denied "GET /v1/executions/{id}",
        Denied "GET /v1/executions/{id}/log",
        Denied "GET /v1/tasks/{id}/executions";
    what_is_said_twice_happens_once:
        Conflict "POST /v1/agents/{id}/claim",
        Conflict "POST /v1/executions/{id}/begin",
        Conflict "POST /v1/executions/{id}/heartbeat",
        Conflict "POST /v1/executions/{id}/log",
        Conflict "POST /v1/executions/{id}/finish",
        Conflict "POST /v1/executions/{id}/fail";
    two_tasks_of_one_resource_are_applied_one_after_the_other:
        Happy "POST /v1/agents/{id}/claim";
    an_agent_has_no_more_tasks_than_it_may:
        Happy "POST /v1/agents/{id}/claim";
    an_agent_that_is_paused_gets_nothing:
        Happy "POST /v1/agents/{id}/claim";
    a_report_that_is_denied_gives_nothing_back:
        Denied "POST /v1/executions/{id}/finish";
    what_failed_without_a_trace_is_tried_again:
        Happy "POST /v1/executions/{id}/fail";
    who_is_told_to_stop_rolls_back:
        Happy "POST /v1/executions/{id}/fail";
    who_takes_too_long_is_told_to_stop_and_then_given_up:
        Happy "POST /v1/executions/{id}/heartbeat";
    whoever_is_told_to_stop_late_has_as_long_as_anybody:
        Happy "POST /v1/tasks/{id}/cancel";
    who_does_not_begin_loses_its_permit:
        Conflict "POST /v1/executions/{id}/begin";
    a_freeze_stops_permits:
        Happy "POST /v1/agents/{id}/claim";
    a_permit_that_finds_its_basis_gone_asks_again:
        Happy "POST /v1/agents/{id}/claim";
    a_holder_that_dies_before_it_begins_is_replaced:
        Happy "POST /v1/agents/{id}/claim";
    a_holder_that_dies_after_it_began_leaves_a_question:
        Happy "POST /v1/tasks/{id}/reconcile",
        Denied "POST /v1/tasks/{id}/reconcile",
        Conflict "POST /v1/tasks/{id}/reconcile";
}

const SOON: Duration = Duration::from_secs(30);

/// Bob's agent, who may apply what `plan` proposes.
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

/// The permit that is there now.
pub async fn permit(world: &World, agent: &Person) -> Value {
    let claimed = claim(world, agent, json!({})).await.expect(200);
    assert!(claimed["permit"].is_object(), "{claimed}");
    claimed["permit"].clone()
}

async fn nothing_for(world: &World, agent: &Person) {
    let claimed = claim(world, agent, json!({})).await.expect(200);
    assert_eq!((&claimed["permit"], &claimed["timed_out"]), (&Value::Null, &json!(true)));
}

pub async fn say(world: &World, agent: &Person, permit: &Value, verb: &str, more: Value) -> Answer {
    let path = format!("/v1/executions/{}/{verb}", permit["execution"].as_str().unwrap());
    let mut body = more;
    body["lease"] = permit["lease"].clone();
    world.post(&agent.token, &path, body).await
}

fn failed(left: &str) -> Value {
    json!({ "result": "failure", "left": left, "error": "no room on the disk" })
}

async fn state(world: &World, who: &Person, task: &Value) -> String {
    world.task(who, task).await["state"].as_str().unwrap().to_owned()
}

async fn an_approved_task_is_claimed_begun_and_finished(world: &World) {
    let Team { bob, rea, bot } = team(world).await;
    nothing_for(world, &bot).await;
    let task = world.approved(&bob, &rea, "Add a currency").await;
    let permit = permit(world, &bot).await;
    assert_eq!(permit["task"]["id"], task["id"]);
    assert_eq!((&permit["task"]["state"], &permit["attempt"]), (&json!("APPLYING"), &json!(1)));
    assert_eq!(permit["timeout_seconds"], 3600);
    let fence = permit["resources"][0]["fence"].as_u64().unwrap();

    // What a target does with the receipt, without asking anybody.
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
    assert_eq!(begun["state"], "running");
    let alive = say(world, &bot, &permit, "heartbeat", json!({})).await.expect(200);
    assert_eq!((&alive["abort_requested"], &alive["ttl_ms"]), (&json!(false), &json!(30_000)));
    let lines = json!({ "first": 0, "lines": [
        { "stream": "stdout", "text": "ALTER TABLE" }, { "stream": "stderr", "text": "slow" }] });
    say(world, &bot, &permit, "log", lines.clone()).await.expect(200);
    let again = say(world, &bot, &permit, "log", lines).await.expect(200);
    assert_eq!(again["next"], 2, "sent twice, kept once");
    let output = json!({ "output": "done", "details": { "rows": 3 } });
    let ended = say(world, &bot, &permit, "finish", output).await.expect(200);
    assert_eq!((&ended["state"], &ended["result"]), (&json!("ended"), &json!("success")));
    assert_eq!(state(world, &bob, &task).await, "COMPLETED");

    let path = format!("/v1/executions/{}", permit["execution"].as_str().unwrap());
    let seen = world.get(&rea.token, &path).await.expect(200);
    assert_eq!((&seen["output"], &seen["details"]["rows"]), (&json!("done"), &json!(3)));
    assert!(!seen.to_string().contains(permit["lease"].as_str().unwrap()), "the lease is secret");
    let log = world.get(&rea.token, &format!("{path}/log?from=1")).await.expect(200);
    assert_eq!(log["lines"][0]["text"], "slow");
    assert_eq!((&log["next"], &log["is_complete"]), (&json!(2), &json!(true)));
    let all = world.get(&bob.token, &format!("{}/executions", path_of(&task))).await.expect(200);
    assert_eq!(all["items"].as_array().unwrap().len(), 1);
    let held = "SELECT count(*) FROM lock_hold WHERE released_at IS NULL";
    assert_eq!(world.database.number(held).await, 0, "everything was given back");
}

async fn nobody_claims_for_another(world: &World) {
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
    nothing_for(world, &incapable).await;
}

async fn nobody_speaks_for_the_attempt_of_another(world: &World) {
    let Team { bob, rea, bot } = team(world).await;
    let task = world.approved(&bob, &rea, "Add a currency").await;
    let permit = permit(world, &bot).await;
    let other = runner(world, "other-bot", &bob).await;
    let mut guessed = permit.clone();
    guessed["lease"] = json!("lease_01k9xq3vb8f2n4s6t7w8y9z0ab");
    let lines = json!({ "first": 0, "lines": [{ "stream": "note", "text": "x" }] });
    for (verb, more) in [
        ("begin", json!({})),
        ("heartbeat", json!({})),
        ("log", lines),
        ("finish", json!({})),
        ("fail", failed("nothing")),
    ] {
        let by_another = say(world, &other, &permit, verb, more.clone()).await;
        by_another.refused(404, "not_found");
        say(world, &bot, &guessed, verb, more).await.refused(404, "not_found");
    }
    let (_, stranger) = world.tenant("umbrella").await;
    let execution = permit["execution"].as_str().unwrap();
    for path in [
        format!("/v1/executions/{execution}"),
        format!("/v1/executions/{execution}/log"),
        format!("{}/executions", path_of(&task)),
    ] {
        world.get(&stranger.token, &path).await.refused(404, "not_found");
    }
    assert_eq!(state(world, &bob, &task).await, "APPLYING");
}

async fn what_is_said_twice_happens_once(world: &World) {
    let Team { bob, rea, bot } = team(world).await;
    let task = world.approved(&bob, &rea, "Add a currency").await;
    let path = format!("/v1/agents/{}/claim", bot.id);
    let key = [("idempotency-key", "first")];
    let send = async || world.send("POST", &bot.token, &path, Some(json!({})), &key).await;
    let permit = send().await.expect(200)["permit"].clone();
    let again = send().await;
    assert!(again.is_repeated);
    assert_eq!(again.body["permit"], permit, "a lost answer is told again");
    say(world, &bot, &permit, "finish", json!({})).await.refused(409, "not_begun");
    say(world, &bot, &permit, "begin", json!({})).await.expect(200);
    say(world, &bot, &permit, "begin", json!({})).await.refused(409, "already_begun");
    say(world, &bot, &permit, "finish", json!({})).await.expect(200);
    let lines = json!({ "first": 0, "lines": [{ "stream": "note", "text": "x" }] });
    for (verb, more) in [
        ("heartbeat", json!({})),
        ("log", lines),
        ("finish", json!({})),
        ("fail", failed("changed")),
        ("begin", json!({})),
    ] {
        say(world, &bot, &permit, verb, more).await.refused(409, "lease_lost");
    }
    assert_eq!(state(world, &bob, &task).await, "COMPLETED");
}

async fn two_tasks_of_one_resource_are_applied_one_after_the_other(world: &World) {
    let Team { bob, rea, bot } = team(world).await;
    let first = world.approved(&bob, &rea, "Add a currency").await;
    world.approved(&bob, &rea, "Drop a currency").await;
    let held = permit(world, &bot).await;
    assert_eq!(held["task"]["id"], first["id"], "the older one first");
    nothing_for(world, &bot).await;
    say(world, &bot, &held, "begin", json!({})).await.expect(200);
    say(world, &bot, &held, "finish", json!({})).await.expect(200);
    let next = until_permit(world, &bot).await;
    assert!(next["token"].as_u64() > held["token"].as_u64(), "fences rise");
}

/// Until there is one: what waits for a resource is not always there at the first look.
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

async fn an_agent_has_no_more_tasks_than_it_may(world: &World) {
    let Team { bob, rea, bot } = team(world).await;
    may_have(world, &bot, 1).await;
    for database in ["orders", "prices"] {
        approved_of(world, &bob, &rea, database).await;
    }
    let held = permit(world, &bot).await;
    nothing_for(world, &bot).await;
    let other = runner(world, "other-bot", &bob).await;
    permit(world, &other).await;
    say(world, &bot, &held, "fail", failed("nothing")).await.expect(200);
}

async fn an_agent_that_is_paused_gets_nothing(world: &World) {
    let Team { bob, rea, bot } = team(world).await;
    world.approved(&bob, &rea, "Add a currency").await;
    for order in ["pause", "drain"] {
        let path = format!("/v1/agents/{}/{order}", bot.id);
        world.post(&world.admin.token, &path, json!({})).await.expect(200);
        nothing_for(world, &bot).await;
        let path = format!("/v1/agents/{}/resume", bot.id);
        world.post(&world.admin.token, &path, json!({})).await.expect(200);
    }
    until_permit(world, &bot).await;
}

/// Whose person has left reports nothing any more: what it has begun is for others to look at.
async fn a_report_that_is_denied_gives_nothing_back(world: &World) {
    let Team { bob, rea, bot } = team(world).await;
    let task = world.approved(&bob, &rea, "Add a currency").await;
    let held = permit(world, &bot).await;
    say(world, &bot, &held, "begin", json!({})).await.expect(200);
    let path = format!("/v1/users/{}", bob.id);
    let gone = json!({ "active": false });
    world.send("PATCH", &world.admin.token, &path, Some(gone), &[]).await.expect(200);
    for (verb, more) in [("finish", json!({})), ("fail", failed("nothing"))] {
        say(world, &bot, &held, verb, more).await.expect(404);
    }
    let open = "SELECT count(*) FROM lock_hold WHERE released_at IS NULL AND is_begun";
    assert_eq!(world.database.number(open).await, 2, "the database and the slot");
    assert_eq!(state(world, &world.admin, &task).await, "APPLYING");
}

async fn what_failed_without_a_trace_is_tried_again(world: &World) {
    let Team { bob, rea, bot } = team(world).await;
    let task = world.approved(&bob, &rea, "Add a currency").await;
    let held = permit(world, &bot).await;
    say(world, &bot, &held, "begin", json!({})).await.expect(200);
    say(world, &bot, &held, "fail", failed("rolled_back")).await.expect(200);
    assert_eq!(state(world, &bob, &task).await, "APPROVED");
    nothing_for(world, &bot).await;
    world.pass(Duration::from_mins(1)).await;
    let again = until_permit(world, &bot).await;
    assert_eq!(again["attempt"], 2);
    say(world, &bot, &again, "begin", json!({})).await.expect(200);
    say(world, &bot, &again, "fail", failed("changed")).await.expect(200);
    assert_eq!(state(world, &bob, &task).await, "FAILED", "what left something is not repeated");
    let path = format!("/v1/executions/{}", again["execution"].as_str().unwrap());
    let seen = world.get(&bob.token, &path).await.expect(200);
    assert_eq!((&seen["left"], &seen["error"]), (&json!("changed"), &json!("no room on the disk")));
}

async fn who_is_told_to_stop_rolls_back(world: &World) {
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
    let stopped = json!({ "result": "cancelled", "left": "rolled_back", "error": "told to stop" });
    say(world, &bot, &held, "fail", stopped).await.expect(200);
    assert_eq!(state(world, &bob, &task).await, "FAILED", "a stop forbids another try");
}

async fn who_takes_too_long_is_told_to_stop_and_then_given_up(world: &World) {
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

async fn whoever_is_told_to_stop_late_has_as_long_as_anybody(world: &World) {
    let Team { bob, rea, bot } = team(world).await;
    let task = world.approved(&bob, &rea, "Add a currency").await;
    let held = permit(world, &bot).await;
    say(world, &bot, &held, "begin", json!({})).await.expect(200);
    world.pass(Duration::from_mins(59)).await;
    let (now, path) = (world.task(&bob, &task).await, format!("{}/cancel", path_of(&task)));
    world.matching("POST", &bob.token, &path, Some(json!({})), &now).await.expect(202);
    world.pass(Duration::from_mins(68)).await;
    world.work("apply_timer").await;
    assert_eq!(state(world, &bob, &task).await, "APPLYING", "it is at its rollback");
    world.pass(Duration::from_mins(70)).await;
    world.work("apply_timer").await;
    assert_eq!(state(world, &bob, &task).await, "UNKNOWN");
}

async fn who_does_not_begin_loses_its_permit(world: &World) {
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

async fn a_freeze_stops_permits(world: &World) {
    let Team { bob, rea, bot } = team(world).await;
    let entry = json!({ "criticality": 50, "environment": "prod", "owner": world.admin.id });
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
        nothing_for(world, &bot).await;
        let path = format!("/v1/freezes/{}", id(&freeze));
        world.send("DELETE", &world.admin.token, &path, None, &[]).await.expect(200);
    }
    until_permit(world, &bot).await;
}

async fn a_permit_that_finds_its_basis_gone_asks_again(world: &World) {
    let Team { bob, rea, bot } = team(world).await;
    let task = world.approved(&bob, &rea, "Add a currency").await;
    let path = format!("/v1/users/{}/roles", rea.id);
    let none = json!({ "roles": [] });
    world.send("PUT", &world.admin.token, &path, Some(none), &[]).await.expect(200);
    nothing_for(world, &bot).await;
    assert_eq!(state(world, &bob, &task).await, "SUBMITTED", "its only vote counts no more");
}

/// Waits for real time: a hold runs out by PostgreSQL's own clock.
async fn until_state(world: &World, who: &Person, task: &Value, wanted: &str) {
    let began = Instant::now();
    while state(world, who, task).await != wanted {
        assert!(began.elapsed() < SOON, "not {wanted}: {}", world.task(who, task).await);
        world.pass(Duration::from_millis(200)).await;
        world.work("apply_rescuer").await;
    }
}

async fn a_holder_that_dies_before_it_begins_is_replaced(world: &World) {
    let Team { bob, rea, bot } = team(world).await;
    let task = world.approved(&bob, &rea, "Add a currency").await;
    let claimed = claim(world, &bot, json!({ "ttl": "1s" })).await.expect(200);
    let dead = claimed["permit"].clone();
    until_state(world, &bob, &task, "APPROVED").await;
    say(world, &bot, &dead, "begin", json!({})).await.refused(409, "lease_lost");
    let again = until_permit(world, &bot).await;
    assert_eq!(again["attempt"], 2);
    assert!(again["token"].as_u64() > dead["token"].as_u64(), "the dead one is fenced");
    let path = format!("/v1/executions/{}", dead["execution"].as_str().unwrap());
    assert_eq!(world.get(&bob.token, &path).await.expect(200)["result"], "lost");
}

async fn a_holder_that_dies_after_it_began_leaves_a_question(world: &World) {
    let Team { bob, rea, bot } = team(world).await;
    let task = world.approved(&bob, &rea, "Add a currency").await;
    world.approved(&bob, &rea, "Drop a currency").await;
    let claimed = claim(world, &bot, json!({ "ttl": "1s" })).await.expect(200);
    let dead = claimed["permit"].clone();
    say(world, &bot, &dead, "begin", json!({})).await.expect(200);
    until_state(world, &bob, &task, "UNKNOWN").await;
    nothing_for(world, &bot).await;
    say(world, &bot, &dead, "heartbeat", json!({})).await.refused(409, "lease_lost");
    let late = say(world, &bot, &dead, "finish", json!({})).await.expect(200);
    assert_eq!((&late["ended_at"], &late["result"]), (&Value::Null, &json!("unknown")));
    let unknown = world.task(&bob, &task).await;
    assert_eq!(unknown["state"], "UNKNOWN", "a late word changes nothing");

    let path = format!("{}/reconcile", path_of(&task));
    let found = json!({ "found": "completed", "reason": "the column is there" });
    let tell = async |who: &Person, version: &str, body: &Value| {
        let matching = [("if-match", version)];
        world.send("POST", &who.token, &path, Some(body.clone()), &matching).await
    };
    let now = quoted(&unknown);
    tell(&bob, &now, &found).await.refused(403, "not_allowed");
    tell(&world.admin, "\"1\"", &found).await.refused(412, "version_mismatch");
    tell(&world.admin, &now, &json!({ "found": "completed", "reason": " " }))
        .await
        .refused(422, "reason_required");
    tell(&world.admin, &now, &found).await.expect(200);
    assert_eq!(state(world, &bob, &task).await, "COMPLETED");
    let execution = format!("/v1/executions/{}", dead["execution"].as_str().unwrap());
    let seen = world.get(&bob.token, &execution).await.expect(200);
    assert_eq!((&seen["result"], &seen["late_report"]), (&json!("success"), &json!("finished")));
    until_permit(world, &bot).await;
}

/// Processes that share no Redis learn of each other's work by looking. What nobody ever claims in
/// another tenant must not stand in front of it.
#[tokio::test]
async fn a_claimer_finds_work_behind_what_nobody_claims() {
    let world = World::new().await;
    let Team { bob, rea, bot } = team(&world).await;
    let (other, _) = world.tenant("umbrella").await;
    let other = other.parse::<TenantId>().unwrap().uuid();
    let many = DUE_WINDOW_ROWS + 1;
    let flood = format!(
        "INSERT INTO due (tenant_id, kind, object, at)
         SELECT '{other}', 'claim', gen_random_uuid(), moment() - interval '1 day'
           FROM generate_series(1, {many})"
    );
    world.database.run(&flood).await;
    let task = world.reviewing(&bob, "Add a currency").await;
    let request = world.request(&rea, &task).await;
    let watching = Driver::watch(&world.app);
    let beside = world.beside().await;
    let approving = async {
        let waits = async || {
            let waited_in = world.app.claims.tenants();
            waited_in.first().map(drop).ok_or("nobody waits")
        };
        eventually("somebody waits", SOON, waits).await;
        let vote =
            beside.json(&format!("/v1/approvals/{request}/approve"), seen(&task).to_string());
        let voted = vote.header("authorization", format!("Bearer {}", rea.token)).send().await;
        assert_eq!(voted.unwrap().status(), 200);
    };
    let path = format!("/v1/agents/{}/claim?wait=10s", bot.id);
    let (claimed, ()) = tokio::join!(world.post(&bot.token, &path, json!({})), approving);
    assert_eq!(claimed.expect(200)["permit"]["task"]["id"], task["id"]);
    watching.stop().await;
}
