//! Everything that leaves something in Redis, once. `cargo xtask redis-keys audit` runs it on a
//! cluster that nobody else uses and then looks at what is there (`ADE_WORKLOAD_REDIS`).

use ade_engine::work::Driver;
use ade_testkit::Cluster;
use serde_json::json;

use crate::locks::{bots, want, with};
use crate::world::{Line, World, path_of, quoted};

#[tokio::test]
async fn every_feature_over_redis() {
    let given = std::env::var("ADE_WORKLOAD_REDIS").ok();
    let urls = match given {
        Some(urls) => urls.split(',').map(str::to_owned).collect(),
        None => Cluster::shared().await.urls(),
    };
    let world = World::locking(Line::Redis(urls, Line::SETTINGS)).await;
    let watching = Driver::watch(&world.app);
    let bob = world.person("Bo", &["author"]).await;
    let rea = world.person("Rea", &["reviewer"]).await;
    let [one, other] = bots(&world, ["one", "other"]).await;

    // Locks: held alone, shared, in line, released, fenced and not.
    for (bot, more) in [
        (&one, json!({ "ttl": "60s", "fenced": true })),
        (&one, json!({ "ttl": "60s", "fenced": false })),
    ] {
        let name = if more["fenced"] == true { "fenced" } else { "advisory" };
        world.post(&bot.token, "/v1/locks/acquire", with(want(&[name]), &more)).await.expect(200);
        let ask = with(want(&[name]), &json!({ "ttl": "60s", "wait": "1s" }));
        world.post(&other.token, "/v1/locks/acquire", ask).await.refused(423, "lock_held");
    }

    // Tasks: reviewed, approved, deleted, and one that waits.
    world.approved(&bob, &rea, "approved").await;
    let waiting = world.reviewing(&bob, "waiting").await;
    let gone = world.draft(&bob, "gone").await;
    let version = quoted(&gone);
    let matching = [("if-match", &*version)];
    world.send("DELETE", &bob.token, &path_of(&gone), None, &matching).await.expect(200);

    // Agents, so that there is an event of each topic.
    let able = json!({ "capabilities": ["*"], "max_tasks": 2 });
    let path = format!("/v1/agents/{}", one.id);
    world.send("PATCH", &world.admin.token, &path, Some(able), &[]).await.expect(200);
    let beat = format!("/v1/agents/{}/heartbeat", one.id);
    let session = json!({ "session": uuid::Uuid::now_v7().to_string() });
    let _ = world.post(&one.token, &beat, session).await;

    // Events and models.
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
