//! What holds of every executor, asked of each in the same way; and how what they saw is rated.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use ade_core::change::{StrictValue, content_digest};
use ade_core::resource::ResourceRef;
use ade_engine::execute::{Executor, Plan, PreviewError, Proposal, SqlPreview, Target};
use serde_json::{Value, json};

use crate::executors::Subject;
use crate::previews::{change, fingerprint, target};
use crate::world::{Person, World, plan};

pub fn proposal(parameters: &Value, stated: Option<Value>) -> Proposal {
    let orders: ResourceRef = "database:orders".parse().unwrap();
    Proposal {
        task_type: "any.change".to_owned(),
        parameters: StrictValue::from_json(parameters).unwrap(),
        resources: BTreeMap::from([(orders, None)]),
        plan: stated.map(|stated| serde_json::from_value(stated).unwrap()),
    }
}

/// Asked twice it says the same, leaves nothing behind, and says no to what it cannot read.
async fn conforms(
    executor: &dyn Executor,
    good: &Proposal,
    bad: &Proposal,
    fingerprint: impl AsyncFn() -> String,
) {
    let name = executor.name();
    let before = fingerprint().await;
    let first = executor.preview(good).await.unwrap();
    assert_eq!(fingerprint().await, before, "{name}");
    let second = executor.preview(good).await.unwrap();
    assert_eq!(first, second, "{name}");
    assert!(!first.effect.changes().is_empty(), "{name}");
    let digest = |preview: &ade_engine::execute::Preview| {
        let modes = good.resources.iter().map(|(resource, mode)| (resource, mode.as_deref()));
        content_digest(&good.task_type, &good.parameters, modes, &preview.effect).unwrap()
    };
    assert_eq!(digest(&first), digest(&second), "{name}");
    let refused = executor.preview(bad).await;
    assert!(matches!(refused, Err(PreviewError::Invalid { .. })), "{name}: {refused:?}");
    assert_eq!(fingerprint().await, before, "{name}");
}

#[tokio::test]
async fn every_executor_conforms() {
    let world = World::new().await;
    let target = target(&world).await;
    let seen = async || fingerprint(&target).await.to_string();
    let stated = plan("x")["plan"].clone();
    let good = proposal(&json!({}), Some(stated));
    conforms(&Plan, &good, &proposal(&json!({}), None), &seen).await;

    let (port, name) = (world.database.server().port(), world.database.name());
    let url = format!("postgres://{name}_preview:x@127.0.0.1:{port}/{name}_orders?sslmode=disable");
    let sql: Arc<dyn Executor> =
        Arc::new(SqlPreview::new(BTreeMap::from([("orders".to_owned(), Target(url))])));
    let script = "DELETE FROM sale WHERE id > 5; CREATE TABLE tag (word text)";
    let good = proposal(&json!({ "target": "orders", "sql": script }), None);
    let bad = proposal(&json!({ "target": "orders" }), None);
    conforms(sql.as_ref(), &good, &bad, &seen).await;

    for subject in [Subject::command(), Subject::http().await] {
        let good = proposal(&json!({ "value": "two" }), None);
        let bad = proposal(&json!({ "value": 2 }), None);
        let seen = async || subject.value();
        conforms(subject.executor.as_ref(), &good, &bad, seen).await;
        let stated = proposal(&json!({ "value": "two" }), Some(plan("x")["plan"].clone()));
        let refused = subject.executor.preview(&stated).await;
        assert!(matches!(refused, Err(PreviewError::Invalid { .. })), "{refused:?}");
        let mut elsewhere = good.clone();
        elsewhere.resources = BTreeMap::from([("database:other".parse().unwrap(), None)]);
        let refused = subject.executor.preview(&elsewhere).await;
        assert!(matches!(refused, Err(PreviewError::Invalid { .. })), "unnamed: {refused:?}");
    }
}

/// Five columns: little by itself, and seen, for what is only stated is rated by the worst.
async fn rated(world: &World, author: &Person, title: &str) -> (Value, u64) {
    let column = |number: u32| format!("ADD COLUMN c{number} text");
    let columns = (0..5).map(column).collect::<Vec<String>>().join(", ");
    let mut proposal = change("orders", &format!("ALTER TABLE sale {columns}"));
    proposal["title"] = json!(title);
    let task = world.post(&author.token, "/v1/tasks", proposal).await.expect(201);
    assert_eq!(task["effect"]["errors"], json!([]));
    let score = task["risk"]["score"].as_u64().unwrap();
    (task, score)
}

#[tokio::test]
async fn many_small_changes_of_one_author_are_rated_as_the_large_one_they_are() {
    let world = World::new().await;
    let _target = target(&world).await;
    let bob = world.person("Bob", &["author"]).await;
    let eve = world.person("Eve", &["author"]).await;
    let bot = world.agent("bot", &bob).await;
    // Well known and of little weight, so that only the number of changes tells.
    let (path, entry) = ("/v1/resources/database/orders", json!({ "criticality": 5 }));
    world.send("PUT", &world.admin.token, path, Some(entry), &[]).await.expect(200);
    let (_, alone) = rated(&world, &bob, "alone").await;
    for number in 0..6 {
        let who = if number % 2 == 0 { &bob } else { &bot };
        let (task, _) = rated(&world, who, &format!("part {number}")).await;
        world.submit(who, &task).await;
    }
    let (task, last) = rated(&world, &bob, "last").await;
    assert!(last > alone, "{last} after {alone}");
    let path = format!("/v1/tasks/{}/risk", task["id"].as_str().unwrap());
    let why = world.get(&bob.token, &path).await.expect(200).to_string();
    let sum = "the preview saw 35 added, 0 changed and 0 removed, 0 of them irreversible, together \
               with 6 recent tasks of the same author on these resources";
    assert!(why.contains(sum), "{why}");
    let (_, by_bot) = rated(&world, &bot, "by bot").await;
    assert_eq!(by_bot, last, "an agent's changes are its person's");
    let (_, another) = rated(&world, &eve, "another").await;
    assert_eq!(another, alone, "another author");
    world.pass(Duration::from_mins(61)).await;
    let (_, later) = rated(&world, &bob, "later").await;
    assert_eq!(later, alone, "an hour later");
}
