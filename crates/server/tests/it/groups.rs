//! Groups that read events: each takes every event, an event that cannot be taken is put aside with
//! its reason and can be redriven, and what is away is waited for.

use std::sync::Arc;
use std::time::Duration;

use ade_core::group::Group;
use ade_core::limits::{GROUP_BATCH, GROUP_TRIES_MAX};
use ade_engine::{App, work};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::coverage::cases;
use crate::world::{Person, World, id};

cases! {
    an_event_that_cannot_be_taken_is_put_aside_and_redriven:
        Happy "GET /v1/groups",
        Happy "GET /v1/dead-events",
        Happy "POST /v1/dead-events/redrive",
        Conflict "POST /v1/dead-events/redrive";
    nobody_but_operators_looks_after_groups:
        Denied "GET /v1/groups",
        Denied "GET /v1/dead-events",
        Denied "POST /v1/dead-events/redrive";
}

const ANALYTICS: &str = "analytics_pipeline";
/// More than all tries of one event take.
const TRIED: Duration = Duration::from_mins(1);

/// Until there is nothing to do now.
async fn read(world: &World, worker: &str) {
    while world.work("relay").await.has_more {}
    while world.work(worker).await.has_more {}
}

async fn standing(world: &World, who: &Person, group: Group) -> Value {
    let all = world.get(&who.token, "/v1/groups").await.expect(200);
    let items = all["items"].as_array().unwrap();
    items.iter().find(|item| item["group"] == group.as_str()).unwrap().clone()
}

async fn all_at_once(apps: impl IntoIterator<Item = Arc<App>>, worker: &'static str) {
    let mut running = JoinSet::new();
    for app in apps {
        running.spawn(async move { work::run_once(&app, worker).await.unwrap().unwrap() });
    }
    running.join_all().await;
}

async fn counted(world: &World) -> i64 {
    world.database.number("SELECT coalesce(sum(count), 0)::bigint FROM event_rate").await
}

/// Counting refuses one kind of event, as a bug in it would.
async fn plant(world: &World) {
    let planted = "ALTER TABLE event_rate ADD CONSTRAINT planted CHECK (kind <> 'task.submitted')";
    world.database.run(planted).await;
}

async fn an_event_that_cannot_be_taken_is_put_aside_and_redriven(world: &World) {
    let bob = world.person("Bob", &["author"]).await;
    let oper = world.person("Oper", &["operator"]).await;
    plant(world).await;
    let mut tasks = Vec::new();
    for title in ["one", "two", "three"] {
        tasks.push(world.draft(&bob, title).await);
    }
    world.submit(&bob, &tasks[1]).await;
    for title in ["four", "five"] {
        world.draft(&bob, title).await;
    }
    // So that the time for another try does not come by itself.
    let now = "SELECT (extract(epoch FROM moment()) * 1000000)::bigint";
    let now = world.database.number(now).await;
    world.database.stop_clock(now).await;
    read(world, ANALYTICS).await;
    let stands = standing(world, &oper, Group::AnalyticsPipeline).await;
    assert_eq!((&stands["seq"], &stands["behind"]), (&json!(3), &json!(3)), "{stands}");
    assert_eq!(stands["trouble"]["seq"], 4, "{stands}");
    assert!(stands["trouble"]["problem"].as_str().unwrap().contains("planted"), "{stands}");
    read(world, ANALYTICS).await;
    let waits = standing(world, &oper, Group::AnalyticsPipeline).await;
    assert_eq!(waits["trouble"]["tries"], 1, "it is not tried before its time: {waits}");
    for tries in 1..=GROUP_TRIES_MAX {
        world.pass(TRIED * tries).await;
        read(world, ANALYTICS).await;
    }
    let passed = standing(world, &oper, Group::AnalyticsPipeline).await;
    assert_eq!((&passed["behind"], &passed["dead"]), (&json!(0), &json!(1)), "{passed}");
    assert_eq!(passed["trouble"], json!(null), "{passed}");
    assert_eq!(counted(world).await, 5, "what is behind it goes on");

    let at = "/v1/dead-events?group=analytics-pipeline&state=dead";
    let listed = world.get(&oper.token, at).await.expect(200);
    let dead = &listed["items"][0];
    assert_eq!((&dead["seq"], &dead["type"]), (&json!(4), &json!("task.submitted")), "{listed}");
    assert_eq!((&dead["object"], &dead["tries"]), (&tasks[1]["id"], &json!(GROUP_TRIES_MAX)));
    let redrive = "/v1/dead-events/redrive";
    let one = json!({ "events": [id(dead)] });
    world.post(&oper.token, redrive, one.clone()).await.expect(202);
    world.work("event_redriver").await;
    let again = world.get(&oper.token, at).await.expect(200);
    assert_eq!(again["items"][0]["tries"], json!(GROUP_TRIES_MAX + 1), "it still cannot: {again}");

    world.database.run("ALTER TABLE event_rate DROP CONSTRAINT planted").await;
    let key = [("idempotency-key", "mended")];
    let asked = Some(json!({ "group": "analytics-pipeline" }));
    let sent = world.send("POST", &oper.token, redrive, asked.clone(), &key).await.expect(202);
    assert_eq!((&sent["count"], &sent["has_more"]), (&json!(1), &json!(false)));
    assert!(world.send("POST", &oper.token, redrive, asked, &key).await.is_repeated);
    let others = [world.another_app(), world.another_app()];
    all_at_once(others, "event_redriver").await;
    assert_eq!(counted(world).await, 6, "once, whoever redrives");
    let taken = world.get(&oper.token, "/v1/dead-events?state=taken").await.expect(200);
    assert_eq!(id(&taken["items"][0]), id(dead));
    let none = world.post(&oper.token, redrive, one).await.expect(202);
    assert_eq!(none["count"], 0, "it was taken");
    for bad in [
        json!({}),
        json!({ "events": [] }),
        json!({ "events": [id(dead)], "group": "audit-logger" }),
    ] {
        world.post(&oper.token, redrive, bad).await.refused(422, "invalid_body");
    }
    let leaves = world.get(&world.admin.token, "/v1/audit?object=analytics-pipeline").await;
    assert_eq!(leaves.expect(200)["items"][0]["leaf"]["what"]["action"], "group.redrive");
}

async fn nobody_but_operators_looks_after_groups(world: &World) {
    let bob = world.person("Bob", &["author"]).await;
    let rea = world.person("Rea", &["reviewer", "auditor"]).await;
    for who in [&bob, &rea] {
        for path in ["/v1/groups", "/v1/dead-events"] {
            world.get(&who.token, path).await.refused(403, "not_allowed");
        }
        let asked = json!({ "group": "audit-logger" });
        let refused = world.post(&who.token, "/v1/dead-events/redrive", asked).await;
        refused.refused(403, "not_allowed");
    }
    assert!(world.refusals(&world.tenant, "group.redrive").await >= 2);
    let (_, other) = world.tenant("other").await;
    let seen = world.get(&other.token, "/v1/dead-events").await.expect(200);
    assert_eq!(seen["items"], json!([]));
}

#[tokio::test]
async fn a_flood_with_a_bad_event_in_it_is_taken_around_that_event() {
    let world = World::new().await;
    let bob = world.person("Bob", &["author"]).await;
    world.draft(&bob, "first").await;
    let tenant: ade_core::ids::TenantId = world.tenant.parse().unwrap();
    let flood = GROUP_BATCH * 2;
    world
        .database
        .run(&format!(
            "INSERT INTO outbox (tenant_id, at, kind, object, payload)
             SELECT '{}', now(), CASE nr WHEN 300 THEN 'task.submitted' ELSE 'task.amended' END,
                    'task_' || nr % 7, '{{}}'
               FROM generate_series(1, {flood}) AS nr ORDER BY nr",
            tenant.uuid()
        ))
        .await;
    plant(&world).await;
    for tries in 0..=GROUP_TRIES_MAX {
        world.pass(TRIED * tries).await;
        read(&world, ANALYTICS).await;
    }
    assert_eq!(counted(&world).await, i64::from(flood), "all but one, and the first");
    let dead = world.database.number("SELECT count(*) FROM dead_event").await;
    assert_eq!(dead, 1);
}

#[tokio::test]
async fn rates_are_in_the_overview_and_count_each_event_once() {
    let world = World::new().await;
    let bob = world.person("Bob", &["author"]).await;
    for title in ["one", "two"] {
        world.draft(&bob, title).await;
    }
    while world.work("relay").await.has_more {}
    let others = [world.another_app(), world.another_app(), world.another_app()];
    all_at_once(others, ANALYTICS).await;
    let overview = world.get(&bob.token, "/v1/stats/overview").await.expect(200);
    assert_eq!(overview["rates"]["task.created"], 2, "{overview}");
}
