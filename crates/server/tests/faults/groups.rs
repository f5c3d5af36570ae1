//! Relays and event consumers are killed during thousands of transitions. The ledger of every
//! consumer group has every event, the events of each object are in order, and no event is counted
//! twice. `ADE_ROUNDS=5000` makes a hundred thousand transitions.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ade_core::consumer::Consumer;
use ade_testkit::{Database, eventually};
use serde_json::{Value, json};

use crate::listeners::{Program, Settings, pepper};
use crate::meetings::{Office, SOON, rounds};
use crate::world::{LockBackend, World, path_of, plan};

const WORKERS: usize = 3;
const WRITERS: usize = 4;
/// The time between two kills, long enough for the others to take over sometimes.
const LIFE: Duration = Duration::from_millis(600);
const RUN: &str = "relay,webhook_dispatcher,audit_logger,analytics_pipeline,notification_service,\
                   message_sender,event_redriver";

/// The number of tasks. Each of them emits two events.
fn tasks() -> usize {
    rounds() * 10 / WRITERS * WRITERS
}

async fn write(office: Arc<Office>, count: usize) {
    let (world, token) = (&office.world, &office.bob.token);
    for number in 0..count {
        let task =
            world.post(token, "/v1/tasks", plan(&format!("task {number}"))).await.expect(201);
        let change = Some(json!({ "tags": ["two"], "parameters": { "for": "two" } }));
        world.matching("PATCH", token, &path_of(&task), change, &task).await.expect(200);
    }
}

async fn kill(
    settings: Arc<Settings>,
    mut programs: Vec<Program>,
    is_over: Arc<AtomicBool>,
) -> (usize, Vec<Program>) {
    let mut kills = 0;
    while !is_over.load(Ordering::Relaxed) {
        tokio::time::sleep(LIFE).await;
        let one = kills * 5 % programs.len();
        programs[one].child.kill().unwrap();
        let settings = Arc::clone(&settings);
        programs[one] =
            tokio::task::spawn_blocking(move || settings.start("worker")).await.unwrap();
        kills += 1;
    }
    (kills, programs)
}

/// Asserts that a ledger is complete and has the events of each object in order.
fn assert_ledger(name: &str, entries: &[(u64, String, i64)], end: u64) {
    let seqs: BTreeSet<u64> = entries.iter().map(|(seq, ..)| *seq).collect();
    assert_eq!(seqs, (1..=end).collect(), "{name}");
    let (mut known, mut versions) = (BTreeSet::new(), BTreeMap::<&str, i64>::new());
    for (seq, object, version) in entries {
        if known.insert(seq) {
            let before = versions.insert(object, *version).unwrap_or_default();
            assert!(before <= *version, "{name}: {object} goes back at {seq}");
        }
    }
}

fn lines(text: &str) -> Vec<(u64, String, i64)> {
    // A process that was killed while writing leaves half a line; its events are written again.
    let read = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    read.map(|event| {
        let object = event["object"].as_str().unwrap().to_owned();
        (event["seq"].as_u64().unwrap(), object, event["version"].as_i64().unwrap_or_default())
    })
    .collect()
}

/// Asserts the same for the groups that keep their ledger in the database.
async fn assert_rows(database: &Database, end: u64) {
    for (what, sql, wanted) in [
        (
            "batches follow each other",
            "SELECT count(*) FROM (
              SELECT first_seq - 1 AS before, coalesce(lag(last_seq) OVER (ORDER BY first_seq), 0)
                  AS last FROM export_batch) AS batch WHERE before <> last",
            0,
        ),
        ("each is counted once", "SELECT sum(count)::bigint FROM event_rate", end),
        ("each is delivered", "SELECT count(DISTINCT seq) FROM webhook_delivery", end),
        ("each is delivered once", "SELECT count(*) FROM webhook_delivery", end),
        ("none is put aside", "SELECT count(*) FROM dead_event", 0),
    ] {
        assert_eq!(u64::try_from(database.number(sql).await).unwrap(), wanted, "{what}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ledger_of_each_group_is_complete_when_processes_are_killed() {
    let line = LockBackend::redis(LockBackend::SETTINGS).await;
    let LockBackend::Redis(redis, _) = line.clone() else {
        panic!("the lock queue is not in Redis")
    };
    let office = Arc::new(Office::in_world(World::locking(line).await, 1).await);
    office.world.database.be_patient().await;
    let database = &office.world.database;
    let directory = std::env::temp_dir().join(format!("{}-groups", database.name()));
    std::fs::create_dir(&directory).unwrap();
    pepper(&directory.join("pepper"));
    let file = directory.join("events.jsonl");
    let hook = json!({ "url": "http://127.0.0.1:9/", "events": ["*"] });
    office.world.post(&office.world.admin.token, "/v1/webhooks", hook).await.expect(201);
    let mut settings = Settings::over(database, directory.join("pepper"), &redis, RUN);
    settings.others = vec![
        ("ADE__EXPORT__SINK", format!("file://{}", file.display())),
        ("ADE__WEBHOOKS__ALLOW_LOOPBACK", "true".to_owned()),
        ("ADE__WORKERS__LEASE_S", "1".to_owned()),
    ];
    let settings = Arc::new(settings);
    let mut programs = Vec::new();
    for _ in 0..WORKERS {
        let settings = Arc::clone(&settings);
        let started = tokio::task::spawn_blocking(move || settings.start("worker"));
        programs.push(started.await.unwrap());
    }
    let is_over = Arc::new(AtomicBool::new(false));
    let killing = tokio::spawn(kill(Arc::clone(&settings), programs, Arc::clone(&is_over)));
    let each = tasks() / WRITERS;
    let writing: Vec<_> =
        (0..WRITERS).map(|_| tokio::spawn(write(Arc::clone(&office), each))).collect();
    for writer in writing {
        writer.await.unwrap();
    }
    is_over.store(true, Ordering::Relaxed);
    let (kills, programs) = killing.await.unwrap();
    let count = "SELECT count(*) FROM outbox o JOIN tenant t USING (tenant_id)
                  WHERE t.name = 'acme'";
    let end = database.number(count).await;
    for group in Consumer::ALL {
        let cursor = format!(
            "SELECT coalesce(max(c.tenant_seq), 0) FROM consumer_cursor c
               JOIN tenant t USING (tenant_id)
              WHERE t.name = 'acme' AND c.consumer = '{group}'"
        );
        eventually(&format!("{group} has read everything"), SOON, async || {
            match database.number(&cursor).await {
                seq if seq == end => Ok(()),
                seq => Err(format!("position {seq} of {end}")),
            }
        })
        .await;
    }
    drop(programs);
    let end = u64::try_from(end).unwrap();
    assert_ledger("audit-logger", &lines(&std::fs::read_to_string(&file).unwrap()), end);
    assert_rows(database, end).await;
    std::fs::remove_dir_all(directory).unwrap();
    println!("{end} events, {kills} kills");
    assert!(kills > 0);
}
