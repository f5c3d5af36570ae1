//! Requirements that every executor has to meet, and the risk rating of observed effects.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use ade_core::change::{StrictValue, content_digest};
use ade_core::ids::TenantId;
use ade_core::resource::ResourceRef;
use ade_engine::services::executors::{
    Executor, PlanExecutor, PreviewError, PreviewTarget, Proposal, SqlPreview, TargetKind,
};
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

/// Asserts that previews are repeatable, change nothing, and refuse an invalid proposal.
async fn assert_conforms(
    executor: &dyn Executor,
    tenant: TenantId,
    good: &Proposal,
    bad: &Proposal,
    fingerprint: impl AsyncFn() -> String,
) {
    let name = executor.name();
    let before = fingerprint().await;
    let first = executor.preview(tenant, good).await.unwrap();
    assert_eq!(fingerprint().await, before, "{name}");
    let second = executor.preview(tenant, good).await.unwrap();
    assert_eq!(first, second, "{name}");
    assert!(!first.effect.changes().is_empty(), "{name}");
    let digest = |preview: &ade_engine::services::executors::Preview| {
        let modes = good.resources.iter().map(|(resource, mode)| (resource, mode.as_deref()));
        content_digest(&good.task_type, &good.parameters, modes, &preview.effect).unwrap()
    };
    assert_eq!(digest(&first), digest(&second), "{name}");
    let refused = executor.preview(tenant, bad).await;
    assert!(matches!(refused, Err(PreviewError::Invalid { .. })), "{name}: {refused:?}");
    assert_eq!(fingerprint().await, before, "{name}");
}

#[tokio::test]
async fn executor_of_each_kind_meets_the_requirements() {
    let world = World::new().await;
    let target = target(&world).await;
    let seen = async || fingerprint(&target).await.to_string();
    let tenant: TenantId = world.tenant.parse().unwrap();
    let stated = plan("x")["plan"].clone();
    let good = proposal(&json!({}), Some(stated));
    assert_conforms(&PlanExecutor, tenant, &good, &proposal(&json!({}), None), &seen).await;

    let (port, name) = (world.database.server().port(), world.database.name());
    let url = format!("postgres://{name}_preview:x@127.0.0.1:{port}/{name}_orders?sslmode=disable");
    let orders = PreviewTarget::new(url, TargetKind::Copy, Some(vec![world.tenant.clone()]).into());
    let targets = BTreeMap::from([("orders".to_owned(), orders)]);
    let sql: Arc<dyn Executor> = Arc::new(SqlPreview::new(targets, world.app.pools.api.clone()));
    let script = "DELETE FROM sale WHERE id > 5; CREATE TABLE tag (word text)";
    let good = proposal(&json!({ "target": "orders", "sql": script }), None);
    let bad = proposal(&json!({ "target": "orders" }), None);
    assert_conforms(sql.as_ref(), tenant, &good, &bad, &seen).await;

    for subject in [Subject::command(), Subject::http().await] {
        let good = proposal(&json!({ "value": "two" }), None);
        let bad = proposal(&json!({ "value": 2 }), None);
        let seen = async || subject.value();
        assert_conforms(subject.executor.as_ref(), tenant, &good, &bad, seen).await;
        let stated = proposal(&json!({ "value": "two" }), Some(plan("x")["plan"].clone()));
        let refused = subject.executor.preview(tenant, &stated).await;
        assert!(matches!(refused, Err(PreviewError::Invalid { .. })), "{refused:?}");
        let mut elsewhere = good.clone();
        elsewhere.resources = BTreeMap::from([("database:other".parse().unwrap(), None)]);
        let refused = subject.executor.preview(tenant, &elsewhere).await;
        assert!(matches!(refused, Err(PreviewError::Invalid { .. })), "unnamed: {refused:?}");
    }
}

/// Creates a task that adds five columns and returns it with its risk score. The change is small
/// and its effect is observed, because a declared effect gets the worst rating.
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
async fn risk_of_small_changes_by_one_author_adds_up() {
    let world = World::new().await;
    let _target = target(&world).await;
    let bob = world.person("Bob", &["author"]).await;
    let eve = world.person("Eve", &["author"]).await;
    let bot = world.agent("bot", &bob).await;
    // The resource is registered with a low criticality, so that only the number of changes counts.
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
    let sum = "the preview observed 35 added, 0 changed and 0 removed, 0 of them irreversible, \
               combined with 6 recent tasks by the same author on these resources";
    assert!(why.contains(sum), "{why}");
    let (_, by_bot) = rated(&world, &bot, "by bot").await;
    assert_eq!(by_bot, last, "an agent's changes count for its owner");
    let (_, another) = rated(&world, &eve, "another").await;
    assert_eq!(another, alone, "another author");
    world.pass(Duration::from_mins(61)).await;
    let (_, later) = rated(&world, &bob, "later").await;
    assert_eq!(later, alone, "an hour later");
}
