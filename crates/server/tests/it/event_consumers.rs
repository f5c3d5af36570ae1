//! Event consumers. Each consumer processes every event. An event that fails repeatedly is
//! moved to the dead events with its error and can be redriven.

use std::sync::Arc;
use std::time::Duration;

use ade_api::event_consumers::EventConsumer;
use ade_core::limits::{GROUP_BATCH, GROUP_TRIES_MAX};
use ade_engine::{App, workers};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::coverage::cases;
use crate::world::{Person, World, id};

cases! {
    event_that_fails_becomes_a_dead_event_and_is_redriven:
        Happy "GET /v1/event-consumers",
        Happy "GET /v1/event-consumers/dead-events",
        Happy "POST /v1/event-consumers/dead-events/redrive",
        Conflict "POST /v1/event-consumers/dead-events/redrive";
    event_consumers_are_closed_to_all_but_operators:
        Denied "GET /v1/event-consumers",
        Denied "GET /v1/event-consumers/dead-events",
        Denied "POST /v1/event-consumers/dead-events/redrive";
}

const ANALYTICS: &str = "analytics_pipeline";
/// Longer than the time for all attempts of one event.
const TRIED: Duration = Duration::from_mins(1);

/// Runs the relay and the worker until they have nothing left to do.
async fn read(world: &World, worker: &str) {
    while world.work("relay").await.has_more {}
    while world.work(worker).await.has_more {}
}

async fn standing(world: &World, who: &Person, consumer: EventConsumer) -> Value {
    let all = world.get(&who.token, "/v1/event-consumers").await.expect(200);
    let items = all["items"].as_array().unwrap();
    items.iter().find(|item| item["consumer"] == json!(consumer)).unwrap().clone()
}

async fn all_at_once(apps: impl IntoIterator<Item = Arc<App>>, worker: &'static str) {
    let mut running = JoinSet::new();
    for app in apps {
        running.spawn(async move { workers::run_once(&app, worker).await.unwrap().unwrap() });
    }
    running.join_all().await;
}

async fn counted(world: &World) -> i64 {
    world.database.number("SELECT coalesce(sum(count), 0)::bigint FROM event_rate").await
}

/// Makes the worker fail for one kind of event, as a bug would.
async fn plant(world: &World) {
    let planted = "ALTER TABLE event_rate ADD CONSTRAINT planted CHECK (kind <> 'task.submitted')";
    world.database.run(planted).await;
}

async fn event_that_fails_becomes_a_dead_event_and_is_redriven(world: &World) {
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
    // The clock is stopped, so that no retry becomes due.
    let now = "SELECT (extract(epoch FROM moment()) * 1000000)::bigint";
    let now = world.database.number(now).await;
    world.database.stop_clock(now).await;
    read(world, ANALYTICS).await;
    let stands = standing(world, &oper, EventConsumer::AnalyticsPipeline).await;
    assert_eq!((&stands["seq"], &stands["behind"]), (&json!(3), &json!(3)), "{stands}");
    assert_eq!(stands["trouble"]["seq"], 4, "{stands}");
    assert!(stands["trouble"]["problem"].as_str().unwrap().contains("planted"), "{stands}");
    read(world, ANALYTICS).await;
    let waits = standing(world, &oper, EventConsumer::AnalyticsPipeline).await;
    assert_eq!(waits["trouble"]["tries"], 1, "the retry is not due yet: {waits}");
    for tries in 1..=GROUP_TRIES_MAX {
        world.pass(TRIED * tries).await;
        read(world, ANALYTICS).await;
    }
    let passed = standing(world, &oper, EventConsumer::AnalyticsPipeline).await;
    assert_eq!((&passed["behind"], &passed["dead"]), (&json!(0), &json!(1)), "{passed}");
    assert_eq!(passed["trouble"], json!(null), "{passed}");
    assert_eq!(counted(world).await, 5, "the events behind it are processed");

    let at = "/v1/event-consumers/dead-events?consumer=analytics_pipeline&state=dead";
    let listed = world.get(&oper.token, at).await.expect(200);
    let dead = &listed["items"][0];
    assert_eq!((&dead["seq"], &dead["type"]), (&json!(4), &json!("task.submitted")), "{listed}");
    assert_eq!((&dead["object"], &dead["tries"]), (&tasks[1]["id"], &json!(GROUP_TRIES_MAX)));
    let redrive = "/v1/event-consumers/dead-events/redrive";
    let one = json!({ "event_ids": [id(dead)] });
    world.post(&oper.token, redrive, one.clone()).await.expect(202);
    world.work("event_redriver").await;
    let again = world.get(&oper.token, at).await.expect(200);
    assert_eq!(
        again["items"][0]["tries"],
        json!(GROUP_TRIES_MAX + 1),
        "the event still fails: {again}"
    );

    world.database.run("ALTER TABLE event_rate DROP CONSTRAINT planted").await;
    let key = [("idempotency-key", "fixed")];
    let asked = Some(json!({ "consumer": "analytics_pipeline" }));
    let sent = world.send("POST", &oper.token, redrive, asked.clone(), &key).await.expect(202);
    assert_eq!((&sent["count"], &sent["has_more"]), (&json!(1), &json!(false)));
    assert!(world.send("POST", &oper.token, redrive, asked, &key).await.is_repeated);
    let others = [world.another_app(), world.another_app()];
    all_at_once(others, "event_redriver").await;
    assert_eq!(counted(world).await, 6, "counted once, although two processes redrive");
    let taken = "/v1/event-consumers/dead-events?state=taken";
    let taken = world.get(&oper.token, taken).await.expect(200);
    assert_eq!(id(&taken["items"][0]), id(dead));
    let none = world.post(&oper.token, redrive, one).await.expect(202);
    assert_eq!(none["count"], 0, "there is nothing left to redrive");
    for bad in [
        json!({}),
        json!({ "event_ids": [] }),
        json!({ "event_ids": [id(dead)], "consumer": "audit_logger" }),
    ] {
        world.post(&oper.token, redrive, bad).await.refused(422, "invalid_body");
    }
    let leaves = world.get(&world.admin.token, "/v1/audit?object=analytics-pipeline").await;
    assert_eq!(leaves.expect(200)["items"][0]["leaf"]["what"]["action"], "event_consumer.redrive");
}

async fn event_consumers_are_closed_to_all_but_operators(world: &World) {
    let bob = world.person("Bob", &["author"]).await;
    let rea = world.person("Rea", &["reviewer", "auditor"]).await;
    let redrive = "/v1/event-consumers/dead-events/redrive";
    for who in [&bob, &rea] {
        for path in ["/v1/event-consumers", "/v1/event-consumers/dead-events"] {
            world.get(&who.token, path).await.refused(403, "not_allowed");
        }
        let asked = json!({ "consumer": "audit_logger" });
        let refused = world.post(&who.token, redrive, asked).await;
        refused.refused(403, "not_allowed");
    }
    assert!(world.refusals(&world.tenant, "event_consumer.redrive").await >= 2);
    let (_, other) = world.tenant("other").await;
    let seen = world.get(&other.token, "/v1/event-consumers/dead-events").await.expect(200);
    assert_eq!(seen["items"], json!([]));
}

#[tokio::test]
async fn event_that_fails_in_a_flood_does_not_block_the_others() {
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
    assert_eq!(
        counted(&world).await,
        i64::from(flood),
        "all but the failing event, plus the first draft"
    );
    let dead = world.database.number("SELECT count(*) FROM dead_event").await;
    assert_eq!(dead, 1);
}

#[tokio::test]
async fn event_rates_in_the_overview_count_each_event_once() {
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
