//! Uses every feature that writes to Redis once. `cargo xtask redis-keys audit` runs this test on a
//! dedicated cluster (`ADE_WORKLOAD_REDIS`) and then inspects the keys.

use ade_engine::workers::Driver;
use ade_testkit::Cluster;
use serde_json::json;

use crate::locks::{bots, want, with};
use crate::world::{LockBackend, World, path_of, quoted};

#[tokio::test]
async fn redis_workload_uses_each_feature() {
    let given = std::env::var("ADE_WORKLOAD_REDIS").ok();
    let urls = match given {
        Some(urls) => urls.split(',').map(str::to_owned).collect(),
        None => Cluster::shared().await.urls(),
    };
    let world = World::locking(LockBackend::Redis(urls, LockBackend::SETTINGS)).await;
    let watching = Driver::watch(&world.app);
    let bob = world.person("Bo", &["author"]).await;
    let rea = world.person("Rea", &["reviewer"]).await;
    let [one, other] = bots(&world, ["one", "other"]).await;

    // Locks: held and queued, fenced and advisory.
    for (bot, more) in [
        (&one, json!({ "ttl_seconds": 60, "fenced": true })),
        (&one, json!({ "ttl_seconds": 60, "fenced": false })),
    ] {
        let name = if more["fenced"] == true { "fenced" } else { "advisory" };
        world.post(&bot.token, "/v1/locks/acquire", with(want(&[name]), &more)).await.expect(200);
        let ask = with(want(&[name]), &json!({ "ttl_seconds": 60, "wait": "1s" }));
        world.post(&other.token, "/v1/locks/acquire", ask).await.refused(423, "lock_held");
    }

    // Tasks: one approved, one under review, and one deleted.
    world.approved(&bob, &rea, "approved").await;
    let waiting = world.reviewing(&bob, "waiting").await;
    let gone = world.draft(&bob, "gone").await;
    let version = quoted(&gone);
    let matching = [("if-match", &*version)];
    world.send("DELETE", &bob.token, &path_of(&gone), None, &matching).await.expect(200);

    // An agent, so that every topic has an event.
    let able = json!({ "capabilities": ["*"], "max_tasks": 2 });
    let path = format!("/v1/agents/{}", one.id);
    world.send("PATCH", &world.admin.token, &path, Some(able), &[]).await.expect(200);
    let beat = format!("/v1/agents/{}/heartbeat", one.id);
    let session = json!({ "process_id": uuid::Uuid::now_v7().to_string() });
    let _ = world.post(&one.token, &beat, session).await;

    // Events and read models.
    for _ in 0..3 {
        world.work("relay").await;
        world.work("read_model_projector").await;
        world.work("read_model_checker").await;
        world.work("lock_sweeper").await;
    }
    let path = format!("{}?since_version=1", path_of(&waiting));
    world.get(&bob.token, &path).await.expect(200);
    world.get(&rea.token, "/v1/approvals?since_version=0").await.expect(200);
    watching.stop().await;
}
