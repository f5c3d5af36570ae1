//! Degradations in the status and its banner: each is reported while it lasts and no longer. The
//! tests cause every degradation for real.

use std::time::{Duration, Instant};

use ade_core::limits::{
    BACKLOG_OVERDUE, CONTENTION_MIN, LOCK_QUEUE_DEPTH_MAX, RELAY_LAG_REPORT_MIN,
};
use ade_engine::workers::{Driver, WorkerPlan};
use ade_testkit::{Cluster, eventually};
use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::hoarding::fill;
use crate::locks::{bots, want, with};
use crate::world::{LockBackend, Person, World, path_of};

const SOON: Duration = Duration::from_mins(1);

pub async fn status(world: &World, who: &Person) -> Value {
    world.get(&who.token, "/v1/status").await.expect(200)
}

pub fn detail<'a>(status: &'a Value, part: &str) -> Option<&'a str> {
    let mut all = status["degradations"].as_array().unwrap().iter();
    all.find(|one| one["part"] == part).map(|one| one["detail"].as_str().unwrap())
}

/// The error of a worker may contain tables, hosts and rows of a tenant, so it is not shown.
#[tokio::test]
async fn status_reports_a_failing_worker_without_its_error() {
    let world = World::new().await;
    let bob = world.person("Bob", &["author"]).await;
    world.database.run("ALTER TABLE daily_count RENAME TO put_away").await;
    world.draft(&bob, "x").await;
    let (run, lease) = (vec!["tally_keeper".to_owned()], Duration::from_secs(30));
    let period = Duration::from_millis(50);
    let driver = Driver::start(&world.app, &WorkerPlan { run, period, lease });
    let degraded = eventually("the failure is reported", SOON, async || {
        let status = status(&world, &bob).await;
        if detail(&status, "worker").is_some() { Ok(status) } else { Err(status) }
    })
    .await;
    driver.stop().await;
    let failure = detail(&degraded, "worker").unwrap();
    assert!(failure.starts_with("tally_keeper: the database"), "{degraded}");
    assert!(!degraded.to_string().contains("daily_count"), "{degraded}");
}

#[tokio::test]
async fn status_reports_delayed_events_until_a_relay_runs() {
    let world = World::new().await;
    let bob = world.person("Bob", &["author"]).await;
    world.work("relay").await;
    let well = status(&world, &bob).await;
    assert_eq!((detail(&well, "events"), &well["banner"]), (None, &Value::Null), "{well}");
    world.draft(&bob, "x").await;
    world.pass(RELAY_LAG_REPORT_MIN * 2).await;
    let degraded = status(&world, &bob).await;
    assert!(detail(&degraded, "events").unwrap().contains("relay"), "{degraded}");
    assert_eq!(degraded["events"]["waiting"], 1);
    assert!(degraded["events"]["lag_seconds"].as_f64().unwrap() >= 10.0, "{degraded}");
    assert!(degraded["banner"].as_str().unwrap().starts_with("events: "), "{degraded}");
    let watching = Driver::watch(&world.app);
    let metrics = eventually("the metrics report it", SOON, async || {
        let text = world.rig.get("/metrics").send().await.unwrap().text().await.unwrap();
        let is_degraded = text.contains("ade_degraded{part=\"events\"}");
        if is_degraded && text.contains("ade_relay_waiting") { Ok(text) } else { Err(text) }
    });
    assert!(metrics.await.contains("ade_relay_lag_seconds"));
    world.work("relay").await;
    assert_eq!(detail(&status(&world, &bob).await, "events"), None);
    watching.stop().await;
}

#[tokio::test]
async fn reads_without_redis_return_in_time_and_are_reported() {
    let cluster = Cluster::owned().await;
    let world = World::locking(LockBackend::Redis(cluster.urls(), LockBackend::SETTINGS)).await;
    let bob = world.person("Bob", &["author"]).await;
    let rea = world.person("Rea", &["reviewer"]).await;
    let task = world.reviewing(&bob, "one").await;
    world.work("relay").await;
    world.work("read_model_projector").await;
    let read = format!("{}?since_version=1", path_of(&task));
    world.get(&bob.token, &read).await.expect(200);
    assert_eq!(detail(&status(&world, &bob).await, "redis"), None);

    cluster.nodes().iter().for_each(|node| cluster.kill(node));
    let degraded = status(&world, &bob).await;
    assert!(detail(&degraded, "redis").unwrap().contains("not lost"), "{degraded}");
    assert!(degraded["banner"].as_str().unwrap().starts_with("redis: "), "{degraded}");
    let began = Instant::now();
    for _ in 0..20 {
        world.get(&bob.token, &read).await.expect(200);
        let inbox = world.get(&rea.token, "/v1/approvals?since_version=0").await.expect(200);
        assert_eq!(inbox["items"].as_array().unwrap().len(), 1);
    }
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    world.draft(&bob, "two").await;
    world.work("relay").await;

    for node in cluster.nodes() {
        cluster.restart_empty(node).await;
    }
    cluster.wait_until_ok(SOON).await;
    eventually("Redis is reported as available", SOON, async || {
        let status = status(&world, &bob).await;
        if detail(&status, "redis").is_none() { Ok(()) } else { Err(status) }
    })
    .await;
    eventually("the read models are rebuilt", SOON, async || {
        let _ = world.try_work("read_model_checker").await;
        let status = status(&world, &bob).await;
        let is_back = status["read_models"] == json!({ "behind": 0, "differences": 0 });
        if is_back { Ok(()) } else { Err(status) }
    })
    .await;
}

#[tokio::test]
async fn status_reports_a_full_lock_queue() {
    let world = World::locking(LockBackend::redis(LockBackend::SETTINGS).await).await;
    let [holder, waiter] = bots(&world, ["holder", "waiter"]).await;
    let ask = |wait: &str| with(want(&["a"]), &json!({ "ttl_seconds": 60, "wait": wait }));
    world.post(&holder.token, "/v1/locks/acquire", ask("0s")).await.expect(200);
    assert_eq!(detail(&status(&world, &holder).await, "lock_queue"), None);
    fill(&world, 1, LOCK_QUEUE_DEPTH_MAX).await;
    let turned_away = eventually("the lock queue is full", SOON, async || {
        let response = world.post(&waiter.token, "/v1/locks/acquire", ask("1s")).await;
        let code = response.body["code"].clone();
        if code == "lock_queue_full" { Ok(response) } else { Err(code) }
    });
    turned_away.await;
    let degraded = status(&world, &holder).await;
    assert!(detail(&degraded, "lock_queue").unwrap().contains("full"), "{degraded}");
}

#[tokio::test]
async fn status_reports_contention_on_one_row() {
    let world = World::new().await;
    let bob = world.person("Bob", &["author"]).await;
    world.person("Rea", &["reviewer"]).await;
    let task = world.reviewing(&bob, "x").await;
    let mut other = world.database.session().await;
    other.run("BEGIN").await;
    other.run("SELECT FROM task FOR UPDATE").await;
    let mut left = CONTENTION_MIN;
    while left > 0 {
        let some = left.min(5);
        let calls = (0..some).map(|_| async {
            let path = format!("{}/comments", path_of(&task));
            world.post(&bob.token, &path, json!({ "text": "x" })).await.refused(503, "busy")
        });
        join_all(calls).await;
        left -= some;
    }
    other.run("ROLLBACK").await;
    let degraded = status(&world, &bob).await;
    assert!(detail(&degraded, "contention").unwrap().contains("same row"), "{degraded}");
    world
        .post(&bob.token, &format!("{}/comments", path_of(&task)), json!({ "text": "x" }))
        .await
        .expect(201);
}

#[tokio::test]
async fn inbox_with_a_backlog_is_sorted_by_risk_and_reported() {
    let world = World::new().await;
    let bob = world.person("Bob", &["author"]).await;
    let rea = world.person("Rea", &["reviewer"]).await;
    world.reviewing(&bob, "first").await;
    // Copies of the request make up a backlog. Their risk scores increase with their numbers.
    let copies = "
        WITH copied AS (
            INSERT INTO task
            SELECT (jsonb_populate_record(t, jsonb_build_object(
                       'id', uuid_v7(), 'number', t.number + n))).*
              FROM task t, generate_series(1, $COUNT) n RETURNING tenant_id, id, number),
        revised AS (
            INSERT INTO task_revision
            SELECT (jsonb_populate_record(r, jsonb_build_object('task_id', c.id))).*
              FROM task_revision r, copied c)
        INSERT INTO approval (tenant_id, task_id, revision, reviewer_id, status, places,
                              requested_at, due_at, score)
        SELECT a.tenant_id, c.id, a.revision, a.reviewer_id, a.status, a.places,
               a.requested_at, a.due_at - make_interval(secs => c.number), 1 + c.number
          FROM approval a, copied c WHERE a.reviewer_id = '$REA'";
    let rea_id: ade_core::ids::UserId = rea.id.parse().unwrap();
    let copies = copies
        .replace("$COUNT", &BACKLOG_OVERDUE.to_string())
        .replace("$REA", &rea_id.uuid().to_string());
    world.database.run(&copies).await;
    assert_eq!(detail(&status(&world, &rea).await, "backlog"), None, "nothing is overdue");
    world.pass(Duration::from_hours(72)).await;
    let degraded = status(&world, &rea).await;
    assert!(detail(&degraded, "backlog").unwrap().contains("sorted by risk"), "{degraded}");
    assert_eq!(
        detail(&status(&world, &bob).await, "backlog"),
        None,
        "only the reviewer has the backlog"
    );
    let page = world.get(&rea.token, "/v1/approvals?page_size=50").await.expect(200);
    let scores: Vec<u64> = page["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["urgency"].as_u64().unwrap())
        .collect();
    assert!(scores.is_sorted_by(|one, next| one >= next), "{scores:?}");
    assert!(page["items"].as_array().unwrap().iter().all(|one| one["overdue"] == true));
    let next = page["next_page_token"].as_str().unwrap();
    let path = format!("/v1/approvals?page_size=50&page_token={next}");
    let next = world.get(&rea.token, &path).await.expect(200);
    let first = next["items"][0]["urgency"].as_u64().unwrap();
    assert!(first <= *scores.last().unwrap(), "the next page continues the order");
    let end = "UPDATE approval SET status = 'SUPERSEDED' WHERE score < 4";
    world.database.run(end).await;
    assert_eq!(detail(&status(&world, &rea).await, "backlog"), None, "the backlog is gone");
}
