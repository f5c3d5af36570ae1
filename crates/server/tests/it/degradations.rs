//! What works less well is told, in the status and in one line, while it does and no longer. Each
//! is caused for real.

use std::time::{Duration, Instant};

use ade_core::limits::{BACKLOG_OVERDUE, CONTENTION_TOLD, LOCK_QUEUE_DEPTH_MAX, RELAY_LAG_TOLD};
use ade_engine::work::{Driver, Plan};
use ade_testkit::{Cluster, eventually};
use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::hoarding::fill;
use crate::locks::{bots, want, with};
use crate::world::{Line, Person, World, path_of};

const SOON: Duration = Duration::from_mins(1);

pub async fn status(world: &World, who: &Person) -> Value {
    world.get(&who.token, "/v1/status").await.expect(200)
}

pub fn detail<'a>(status: &'a Value, part: &str) -> Option<&'a str> {
    let mut all = status["degradations"].as_array().unwrap().iter();
    all.find(|one| one["part"] == part).map(|one| one["detail"].as_str().unwrap())
}

/// What a worker stumbled over may name tables, hosts and the rows of one tenant.
#[tokio::test]
async fn that_a_worker_fails_is_told_and_not_how() {
    let world = World::new().await;
    let bob = world.person("Bob", &["author"]).await;
    world.database.run("ALTER TABLE daily_count RENAME TO put_away").await;
    world.draft(&bob, "x").await;
    let (run, lease) = (vec!["tally_keeper".to_owned()], Duration::from_secs(30));
    let period = Duration::from_millis(50);
    let driver = Driver::start(&world.app, &Plan { run, period, lease });
    let told = eventually("its failure is told", SOON, async || {
        let told = status(&world, &bob).await;
        if detail(&told, "worker").is_some() { Ok(told) } else { Err(told) }
    })
    .await;
    driver.stop().await;
    let failure = detail(&told, "worker").unwrap();
    assert!(failure.starts_with("tally_keeper: the record"), "{told}");
    assert!(!told.to_string().contains("daily_count"), "{told}");
}

#[tokio::test]
async fn events_that_wait_are_told_until_a_relay_comes() {
    let world = World::new().await;
    let bob = world.person("Bob", &["author"]).await;
    world.work("relay").await;
    let well = status(&world, &bob).await;
    assert_eq!((detail(&well, "events"), &well["banner"]), (None, &Value::Null), "{well}");
    world.draft(&bob, "x").await;
    world.pass(RELAY_LAG_TOLD * 2).await;
    let told = status(&world, &bob).await;
    assert!(detail(&told, "events").unwrap().contains("relay"), "{told}");
    assert_eq!(told["events"]["waiting"], 1);
    assert!(told["events"]["lag_ms"].as_u64().unwrap() >= 10_000, "{told}");
    assert!(told["banner"].as_str().unwrap().starts_with("events: "), "{told}");
    let watching = Driver::watch(&world.app);
    let figures = eventually("the figures say so", SOON, async || {
        let text = world.rig.get("/metrics").send().await.unwrap().text().await.unwrap();
        let is_told = text.contains("ade_degraded{part=\"events\"}");
        if is_told && text.contains("ade_relay_waiting") { Ok(text) } else { Err(text) }
    });
    assert!(figures.await.contains("ade_relay_lag_seconds"));
    world.work("relay").await;
    assert_eq!(detail(&status(&world, &bob).await, "events"), None);
    watching.stop().await;
}

#[tokio::test]
async fn without_redis_everything_is_read_from_the_record_and_said_so() {
    let cluster = Cluster::owned().await;
    let world = World::locking(Line::Redis(cluster.urls(), Line::SETTINGS)).await;
    let bob = world.person("Bob", &["author"]).await;
    let rea = world.person("Rea", &["reviewer"]).await;
    let task = world.reviewing(&bob, "one").await;
    world.work("relay").await;
    world.work("read_model_projector").await;
    let read = format!("{}?since_version=1", path_of(&task));
    world.get(&bob.token, &read).await.expect(200);
    assert_eq!(detail(&status(&world, &bob).await, "redis"), None);

    cluster.nodes().iter().for_each(|node| cluster.kill(node));
    let told = status(&world, &bob).await;
    assert!(detail(&told, "redis").unwrap().contains("none is lost"), "{told}");
    assert!(told["banner"].as_str().unwrap().starts_with("redis: "), "{told}");
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
    eventually("it is well again", SOON, async || {
        let told = status(&world, &bob).await;
        if detail(&told, "redis").is_none() { Ok(()) } else { Err(told) }
    })
    .await;
    eventually("the models are back", SOON, async || {
        let _ = world.try_work("read_model_checker").await;
        let told = status(&world, &bob).await;
        let is_back = told["read_models"] == json!({ "behind": 0, "differences": 0 });
        if is_back { Ok(()) } else { Err(told) }
    })
    .await;
}

#[tokio::test]
async fn a_full_queue_of_a_lock_is_told_to_the_operator() {
    let world = World::locking(Line::redis(Line::SETTINGS).await).await;
    let [holder, waiter] = bots(&world, ["holder", "waiter"]).await;
    let ask = |wait: &str| with(want(&["a"]), &json!({ "ttl": "60s", "wait": wait }));
    world.post(&holder.token, "/v1/locks/acquire", ask("0s")).await.expect(200);
    assert_eq!(detail(&status(&world, &holder).await, "lock_queue"), None);
    fill(&world, 1, LOCK_QUEUE_DEPTH_MAX).await;
    let turned_away = eventually("the line is full", SOON, async || {
        let told = world.post(&waiter.token, "/v1/locks/acquire", ask("1s")).await;
        let code = told.body["code"].clone();
        if code == "lock_queue_full" { Ok(told) } else { Err(code) }
    });
    turned_away.await;
    let told = status(&world, &holder).await;
    assert!(detail(&told, "lock_queue").unwrap().contains("full"), "{told}");
}

#[tokio::test]
async fn callers_who_meet_at_one_row_are_told_as_contention() {
    let world = World::new().await;
    let bob = world.person("Bob", &["author"]).await;
    world.person("Rea", &["reviewer"]).await;
    let task = world.reviewing(&bob, "x").await;
    let mut other = world.database.session().await;
    other.run("BEGIN").await;
    other.run("SELECT FROM task FOR UPDATE").await;
    let mut left = CONTENTION_TOLD;
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
    let told = status(&world, &bob).await;
    assert!(detail(&told, "contention").unwrap().contains("same row"), "{told}");
    world
        .post(&bob.token, &format!("{}/comments", path_of(&task)), json!({ "text": "x" }))
        .await
        .expect(201);
}

#[tokio::test]
async fn a_backlog_is_shown_by_risk_and_said_to_be() {
    let world = World::new().await;
    let bob = world.person("Bob", &["author"]).await;
    let rea = world.person("Rea", &["reviewer"]).await;
    world.reviewing(&bob, "first").await;
    // As many more as a backlog has: copies of the one request, each of less risk than the next.
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
    let told = status(&world, &rea).await;
    assert!(detail(&told, "backlog").unwrap().contains("riskiest"), "{told}");
    assert_eq!(detail(&status(&world, &bob).await, "backlog"), None, "it is hers alone");
    let page = world.get(&rea.token, "/v1/approvals?page_size=50").await.expect(200);
    let scores: Vec<u64> = page["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["score"].as_u64().unwrap())
        .collect();
    assert!(scores.is_sorted_by(|one, next| one >= next), "{scores:?}");
    assert!(page["items"].as_array().unwrap().iter().all(|one| one["overdue"] == true));
    let next = page["next_page_token"].as_str().unwrap();
    let path = format!("/v1/approvals?page_size=50&page_token={next}");
    let next = world.get(&rea.token, &path).await.expect(200);
    let first = next["items"][0]["score"].as_u64().unwrap();
    assert!(first <= *scores.last().unwrap(), "it goes on in the same order");
    let end = "UPDATE approval SET status = 'SUPERSEDED' WHERE score < 4";
    world.database.run(end).await;
    assert_eq!(detail(&status(&world, &rea).await, "backlog"), None, "it has been worked off");
}
