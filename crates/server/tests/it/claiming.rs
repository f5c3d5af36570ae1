//! Claims with many tasks that cannot be applied now, with many concurrent claimers, and without a
//! permit.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use ade_core::limits::CLAIM_PAGE;
use ade_engine::workers::Driver;
use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::coverage::on_both;
use crate::executions::{claim, permit, runner, say};
use crate::world::{Person, World, id, path_of, plan, seen};

on_both! {
    claim_skips_tasks_that_cannot_be_applied_now:
        Happy "POST /v1/agents/{id}/claim";
    claims_made_concurrently_get_one_task_each:
        Happy "POST /v1/agents/{id}/claim";
    claim_of_an_ended_or_unknown_task_is_refused:
        Denied "POST /v1/agents/{id}/claim",
        Conflict "POST /v1/agents/{id}/claim";
    claim_without_a_permit_names_every_closed_gate:
        Happy "POST /v1/agents/{id}/claim";
    claim_of_one_task_begins_the_attempt_in_the_same_call:
        Happy "POST /v1/tasks/{id}/claim",
        Denied "POST /v1/tasks/{id}/claim",
        Conflict "POST /v1/tasks/{id}/claim";
    claim_that_waits_ends_when_the_task_is_rejected:
        Conflict "POST /v1/agents/{id}/claim";
}

/// Creates an approved task that changes this database.
pub async fn approved_of(
    world: &World,
    author: &Person,
    reviewer: &Person,
    database: &str,
) -> Value {
    let mut wanted = plan(&format!("Change {database}"));
    let named = json!(format!("database:{database}"));
    wanted["resources"][0]["resource"] = named.clone();
    wanted["plan"]["changes"][0]["resource"] = named;
    let task = world.post(&author.token, "/v1/tasks", wanted).await.expect(201);
    world.submit(author, &task).await;
    world.work("review_opener").await;
    let task = world.task(author, &task).await;
    world.approve(reviewer, &task).await;
    task
}

pub async fn may_have(world: &World, agent: &Person, tasks: u32) {
    let (path, change) = (format!("/v1/agents/{}", agent.id), json!({ "max_tasks": tasks }));
    world.send("PATCH", &world.admin.token, &path, Some(change), &[]).await.expect(200);
}

async fn claim_skips_tasks_that_cannot_be_applied_now(world: &World) {
    let bob = world.person("Bob", &["author"]).await;
    let rea = world.person("Rea", &["reviewer"]).await;
    let bot = runner(world, "infra-bot", &bob).await;
    let entry = json!({ "criticality": 10, "environment": "prod", "owner_id": world.admin.id });
    let path = "/v1/resources/database/orders";
    world.send("PUT", &world.admin.token, path, Some(entry), &[]).await.expect(200);
    // There are more tasks than one page of a claim, even while one of them is held.
    for _ in 0..CLAIM_PAGE + 2 {
        approved_of(world, &bob, &rea, "orders").await;
    }
    let assert_gets_free_task = async |why: &str| {
        let free = approved_of(world, &bob, &rea, "prices").await;
        let held = permit(world, &bot).await;
        assert_eq!(held["task"]["id"], free["id"], "{why}");
        for verb in ["begin", "finish"] {
            say(world, &bot, &held, verb, json!({})).await.expect(200);
        }
    };
    for scope in [
        json!({ "scope": "environment", "target": "prod", "reason": "INC-7" }),
        json!({ "scope": "resources", "target": "database:orders", "reason": "INC-7" }),
    ] {
        let freeze = world.post(&world.admin.token, "/v1/freezes", scope.clone()).await;
        assert_gets_free_task(&scope.to_string()).await;
        let path = format!("/v1/freezes/{}", id(&freeze.expect(201)));
        world.send("DELETE", &world.admin.token, &path, None, &[]).await.expect(200);
    }
    let held = permit(world, &bot).await;
    assert_eq!(held["resources"][0]["resource"], "database:orders", "no other task is left");
    assert_gets_free_task("a task of orders is held").await;
}

async fn claims_made_concurrently_get_one_task_each(world: &World) {
    const CLAIMERS: u32 = 24;
    world.database.be_patient().await;
    let bob = world.person("Bob", &["author"]).await;
    let rea = world.person("Rea", &["reviewer"]).await;
    let bot = runner(world, "infra-bot", &bob).await;
    may_have(world, &bot, CLAIMERS).await;
    for nth in 0..CLAIMERS {
        approved_of(world, &bob, &rea, &format!("orders-{nth}")).await;
    }
    let watching = Driver::watch(&world.app);
    let path = format!("/v1/agents/{}/claim?wait=20s", bot.id);
    let claimers = (0..CLAIMERS).map(async |_| world.post(&bot.token, &path, json!({})).await);
    let claimed: Vec<Value> =
        join_all(claimers).await.into_iter().map(|answer| answer.expect(200)).collect();
    let got: BTreeSet<_> =
        claimed.iter().filter_map(|claimed| claimed["permit"]["task"]["id"].as_str()).collect();
    assert_eq!(got.len(), CLAIMERS as usize, "one task each: {claimed:#?}");
    let over = claim(world, &bot, json!({})).await.expect(200);
    assert_eq!(over["permit"], Value::Null, "there are no more tasks");
    watching.stop().await;
}

async fn answer(world: &World, rea: &Person, task: &Value, answer: &str) {
    let mut vote = seen(task);
    vote["reason"] = json!("not on a Friday");
    let path = format!("{}/{answer}", path_of(task));
    world.post(&rea.token, &path, vote).await.expect(200);
}

async fn claim_of_an_ended_or_unknown_task_is_refused(world: &World) {
    let bob = world.person("Bob", &["author"]).await;
    let rea = world.person("Rea", &["reviewer"]).await;
    let bot = runner(world, "infra-bot", &bob).await;
    for unknown in ["task_01k9xq3vb8f2n4s6t7w8y9z0ab", "T-99"] {
        claim(world, &bot, json!({ "task_id": unknown })).await.refused(404, "not_found");
    }
    for (vote, state, outcome) in
        [("reject", "REJECTED", "rejected"), ("request-changes", "DRAFT", "changes_requested")]
    {
        let task = world.reviewing(&bob, vote).await;
        answer(world, &rea, &task, vote).await;
        let number = format!("T-{}", task["number"]);
        for (wait, name) in [("", id(&task)), ("?wait=20s", &number)] {
            let path = format!("/v1/agents/{}/claim{wait}", bot.id);
            let refused = world.post(&bot.token, &path, json!({ "task_id": name })).await;
            let problem = refused.refused(409, "wrong_state");
            assert_eq!(problem["state"], state, "{problem}");
            assert_eq!(problem["decision"]["outcome"], outcome, "{problem}");
            assert_eq!(problem["decision"]["reason"], "not on a Friday", "{problem}");
        }
    }
}

/// Claims the task without a wait and returns the code of each closed gate.
async fn blocked(world: &World, bot: &Person, task: &Value) -> (Value, Vec<String>) {
    let claimed = claim(world, bot, json!({ "task_id": id(task) })).await.expect(200);
    assert_eq!((&claimed["permit"], &claimed["timed_out"]), (&Value::Null, &json!(false)));
    assert!(claimed["retry_after_ms"].as_u64().is_some_and(|ms| ms >= 1_000), "{claimed}");
    let gates = claimed["blocked_by"].as_array().unwrap();
    assert!(
        gates.iter().all(|gate| gate["reason"].is_string() && gate["next_action"]["message"] != "")
    );
    let codes = gates.iter().map(|gate| gate["code"].as_str().unwrap().to_owned()).collect();
    (claimed, codes)
}

async fn claim_without_a_permit_names_every_closed_gate(world: &World) {
    let bob = world.person("Bob", &["author"]).await;
    let rea = world.person("Rea", &["reviewer"]).await;
    let bot = runner(world, "infra-bot", &bob).await;
    let under_review = world.reviewing(&bob, "Review me").await;
    assert_eq!(blocked(world, &bot, &under_review).await.1, ["approvals_missing"]);

    let task = approved_of(world, &bob, &rea, "orders").await;
    let freeze = json!({ "scope": "tenant", "reason": "launch day" });
    let freeze = world.post(&world.admin.token, "/v1/freezes", freeze).await.expect(201);
    let pause = format!("/v1/agents/{}/pause", bot.id);
    world.post(&world.admin.token, &pause, json!({})).await.expect(200);
    let (claimed, codes) = blocked(world, &bot, &task).await;
    assert_eq!(codes, ["agent_paused", "frozen"], "{claimed}");
    let reason = claimed["blocked_by"][1]["reason"].as_str().unwrap();
    assert!(reason.contains("launch day"), "{reason}");
    let path = format!("/v1/freezes/{}", id(&freeze));
    world.send("DELETE", &world.admin.token, &path, None, &[]).await.expect(200);
    let resume = format!("/v1/agents/{}/resume", bot.id);
    world.post(&world.admin.token, &resume, json!({})).await.expect(200);

    let other = approved_of(world, &bob, &rea, "orders").await;
    may_have(world, &bot, 3).await;
    let held = claim(world, &bot, json!({ "task_id": id(&task) })).await.expect(200);
    assert!(held["permit"].is_object() && held["blocked_by"] == json!([]), "{held}");
    let (claimed, codes) = blocked(world, &bot, &other).await;
    assert_eq!(codes, ["lock_held"], "{claimed}");
    let reason = claimed["blocked_by"][0]["reason"].as_str().unwrap();
    assert!(reason.contains(id(&task)), "it names the holder: {reason}");
    assert_eq!(blocked(world, &bot, &task).await.1, ["in_progress"]);

    let nothing = claim(world, &bot, json!({})).await.expect(200);
    assert_eq!(nothing["blocked_by"][0]["code"], "no_task_ready", "{nothing}");
    let path = format!("/v1/agents/{}/claim?wait=1s", bot.id);
    let waited = world.post(&bot.token, &path, json!({})).await.expect(200);
    assert_eq!(waited["timed_out"], true, "{waited}");
}

async fn claim_that_waits_ends_when_the_task_is_rejected(world: &World) {
    let bob = world.person("Bob", &["author"]).await;
    let rea = world.person("Rea", &["reviewer"]).await;
    let bot = runner(world, "infra-bot", &bob).await;
    let task = world.reviewing(&bob, "Reject me").await;
    let watching = Driver::watch(&world.app);
    let path = format!("/v1/agents/{}/claim?wait=50s", bot.id);
    let began = Instant::now();
    let waits = world.post(&bot.token, &path, json!({ "task_id": id(&task) }));
    let (refused, ()) = tokio::join!(waits, answer(world, &rea, &task, "reject"));
    let problem = refused.refused(409, "wrong_state");
    assert_eq!(problem["decision"]["outcome"], "rejected", "{problem}");
    assert!(began.elapsed() < Duration::from_secs(40), "{:?}", began.elapsed());
    watching.stop().await;
}

async fn claim_of_one_task_begins_the_attempt_in_the_same_call(world: &World) {
    let bob = world.person("Bob", &["author"]).await;
    let rea = world.person("Rea", &["reviewer"]).await;
    let bot = runner(world, "infra-bot", &bob).await;
    let task = approved_of(world, &bob, &rea, "orders").await;
    let watching = Driver::watch(&world.app);
    let path = format!("{}/claim", path_of(&task));
    let claim = json!({ "begin": true, "wait": "20s" });
    world.post(&bob.token, &path, claim.clone()).await.refused(403, "not_allowed");
    let key = [("idempotency-key", "one")];
    let send = async || world.send("POST", &bot.token, &path, Some(claim.clone()), &key).await;
    let claimed = send().await.expect(200);
    let permit = claimed["permit"].clone();
    assert!(permit["begun_at"].is_string(), "{claimed}");
    let again = send().await;
    assert!(again.is_repeated);
    assert_eq!(again.body["permit"], permit, "the same attempt, begun once");
    let running = format!("/v1/executions/{}", permit["execution_id"].as_str().unwrap());
    assert_eq!(world.get(&bot.token, &running).await.expect(200)["state"], "RUNNING");
    say(world, &bot, &permit, "finish", json!({})).await.expect(200);
    let late = world.post(&bot.token, &path, json!({ "begin": true })).await;
    let problem = late.refused(409, "wrong_state");
    assert_eq!(
        (&problem["state"], &problem["decision"]["outcome"]),
        (&json!("COMPLETED"), &json!("approved"))
    );
    let odd = world.post(&bot.token, &path, json!({ "wait": "9m" })).await;
    assert!([400, 422].contains(&odd.status), "{}", odd.body);
    watching.stop().await;
}
