//! Who gets what: many tasks that cannot be applied now, and many who want work at once.

use std::collections::BTreeSet;

use ade_core::limits::CLAIM_PAGE;
use ade_engine::work::Driver;
use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::coverage::on_both;
use crate::executions::{claim, permit, runner, say};
use crate::world::{Person, World, id, plan};

on_both! {
    what_cannot_be_applied_now_hides_nothing_behind_it:
        Happy "POST /v1/agents/{id}/claim";
    claimers_at_once_get_a_task_each:
        Happy "POST /v1/agents/{id}/claim";
}

/// Approved, and of this database.
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
    let request = world.request(reviewer, &task).await;
    world.approve(reviewer, &task, &request).await;
    task
}

pub async fn may_have(world: &World, agent: &Person, tasks: u32) {
    let (path, change) = (format!("/v1/agents/{}", agent.id), json!({ "max_tasks": tasks }));
    world.send("PATCH", &world.admin.token, &path, Some(change), &[]).await.expect(200);
}

async fn what_cannot_be_applied_now_hides_nothing_behind_it(world: &World) {
    let bob = world.person("Bob", &["author"]).await;
    let rea = world.person("Rea", &["reviewer"]).await;
    let bot = runner(world, "infra-bot", &bob).await;
    let entry = json!({ "criticality": 10, "environment": "prod", "owner": world.admin.id });
    let path = "/v1/resources/database/orders";
    world.send("PUT", &world.admin.token, path, Some(entry), &[]).await.expect(200);
    // More than are read at once, also while one of them is held.
    for _ in 0..CLAIM_PAGE + 2 {
        approved_of(world, &bob, &rea, "orders").await;
    }
    let gets_what_is_free = async |why: &str| {
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
        gets_what_is_free(&scope.to_string()).await;
        let path = format!("/v1/freezes/{}", id(&freeze.expect(201)));
        world.send("DELETE", &world.admin.token, &path, None, &[]).await.expect(200);
    }
    let held = permit(world, &bot).await;
    assert_eq!(held["resources"][0]["resource"], "database:orders", "there is nothing else");
    gets_what_is_free("one of orders is held").await;
}

async fn claimers_at_once_get_a_task_each(world: &World) {
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
    assert_eq!(got.len(), CLAIMERS as usize, "one each: {claimed:#?}");
    let over = claim(world, &bot, json!({})).await.expect(200);
    assert_eq!(over["permit"], Value::Null, "there were no more");
    watching.stop().await;
}
