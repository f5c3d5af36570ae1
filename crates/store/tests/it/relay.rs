//! Event numbers are dense in each tenant, assigned once, and never against causal order, however
//! many processes assign them and however these end.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use ade_core::event::EventKind;
use ade_core::ids::TenantId;
use ade_core::limits::EVENT_SHARDS;
use ade_store::outbox::{self, OutboxEvent};
use ade_store::{Pool, StoreError, events};
use ade_testkit::Random;
use serde_json::json;
use sqlx::{AssertSqlSafe, Connection, PgConnection};

use crate::test_database::{TestDatabase, run};

const OBJECTS: u64 = 6;
const WRITERS: u64 = 8;
const RELAYS: u64 = 4;

fn all_shards() -> Vec<u8> {
    (0..EVENT_SHARDS).collect()
}

/// Changes several objects, each with its event under the lock of its row. Some transactions get
/// their id before any lock, some take long, and some roll back.
async fn change(connection: &mut PgConnection, tenant: TenantId, random: &mut Random) -> u64 {
    let tenant = tenant.uuid();
    let mut sql = String::from("BEGIN;");
    if random.below(2) == 0 {
        sql += "SELECT pg_current_xact_id();";
    }
    let mut objects: Vec<u64> = (0..=random.below(3)).map(|_| random.below(OBJECTS)).collect();
    objects.sort_unstable();
    objects.dedup();
    for object in &objects {
        let pause = random.below(4);
        let step = format!(
            "SELECT pg_sleep(0.001 * {pause});
             WITH moved AS (UPDATE thing SET version = version + 1
                             WHERE tenant_id = '{tenant}' AND id = {object} RETURNING version)
             INSERT INTO outbox (tenant_id, at, kind, object, version, payload)
             SELECT '{tenant}', now(), 'task.amended', 'thing_{object}', version, '{{}}'
               FROM moved;"
        );
        sql += &step;
    }
    let is_kept = random.below(8) > 0;
    sql += if is_kept { "COMMIT" } else { "ROLLBACK" };
    sqlx::raw_sql(AssertSqlSafe(sql)).execute(connection).await.unwrap();
    if is_kept { u64::try_from(objects.len()).unwrap() } else { 0 }
}

async fn writer(rig: Arc<TestDatabase>, number: u64, rounds: u64) -> BTreeMap<TenantId, u64> {
    let mut connection = rig.database.connect().await;
    let mut random = Random::new(number);
    let mut written = BTreeMap::new();
    for _ in 0..rounds {
        let tenant = if random.below(3) == 0 { rig.other } else { rig.tenant };
        *written.entry(tenant).or_default() += change(&mut connection, tenant, &mut random).await;
    }
    connection.close().await.unwrap();
    written
}

/// Numbers events until the writers have finished. Now and then it fails on the way: its future is
/// dropped, or PostgreSQL ends its connection.
async fn relay(
    rig: Arc<TestDatabase>,
    workers: Pool,
    number: u64,
    is_over: Arc<AtomicBool>,
) -> u64 {
    let mut admin = rig.database.connect().await;
    let mut random = Random::new(1_000 + number);
    let mut deaths = 0;
    while !is_over.load(Ordering::Relaxed) {
        let most = u32::try_from(1 + random.below(20)).unwrap();
        let shards = all_shards();
        let numbering = events::number(&workers, &shards, most);
        match random.below(10) {
            0 => {
                let patience = Duration::from_micros(200 * random.below(20));
                deaths += u64::from(tokio::time::timeout(patience, numbering).await.is_err());
            }
            1 => {
                let kill = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                             WHERE datname = current_database() AND usename LIKE '%worker'
                               AND query LIKE '%number_events%' LIMIT 1";
                let ((), ended) = tokio::join!(run(&mut admin, kill), numbering);
                deaths += u64::from(ended.is_err());
            }
            _ => drop(numbering.await),
        }
    }
    deaths
}

async fn rows(rig: &TestDatabase, tenant: TenantId) -> Vec<(i64, String, i64)> {
    let mut admin = rig.database.connect().await;
    sqlx::query_as(
        "SELECT tenant_seq, object, version FROM outbox
          WHERE tenant_id = $1 AND tenant_seq IS NOT NULL ORDER BY tenant_seq",
    )
    .bind(tenant.uuid())
    .fetch_all(&mut admin)
    .await
    .unwrap()
}

#[tokio::test]
async fn event_numbers_are_dense_unique_and_causally_ordered() {
    let rounds = std::env::var("ADE_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(60);
    let rig = Arc::new(TestDatabase::new().await);
    let workers = rig.worker_pool().await;
    let mut admin = rig.database.connect().await;
    run(
        &mut admin,
        &format!(
            "CREATE TABLE thing (tenant_id uuid, id bigint, version bigint,
                                 PRIMARY KEY (tenant_id, id));
             INSERT INTO thing SELECT tenant_id, id, 0
               FROM tenant, generate_series(0, {OBJECTS}) AS made (id)"
        ),
    )
    .await;
    let is_over = Arc::new(AtomicBool::new(false));
    let relays: Vec<_> = (0..RELAYS)
        .map(|number| {
            tokio::spawn(relay(Arc::clone(&rig), workers.clone(), number, Arc::clone(&is_over)))
        })
        .collect();
    let writers: Vec<_> =
        (0..WRITERS).map(|number| tokio::spawn(writer(Arc::clone(&rig), number, rounds))).collect();
    let mut written: BTreeMap<TenantId, u64> = BTreeMap::new();
    for writer in writers {
        for (tenant, count) in writer.await.unwrap() {
            *written.entry(tenant).or_default() += count;
        }
    }
    is_over.store(true, Ordering::Relaxed);
    let deaths = AtomicU64::new(0);
    for relay in relays {
        deaths.fetch_add(relay.await.unwrap(), Ordering::Relaxed);
    }
    // One of them may still be running in PostgreSQL with its shards locked.
    while events::waiting(&rig.pool).await.unwrap().count > 0 {
        events::number(&workers, &all_shards(), 500).await.unwrap();
    }
    assert!(deaths.into_inner() > 0, "none of them died");
    for (tenant, count) in written {
        let rows = rows(&rig, tenant).await;
        let numbers: Vec<u64> = rows.iter().map(|row| u64::try_from(row.0).unwrap()).collect();
        assert_eq!(numbers, (1..=count).collect::<Vec<_>>(), "dense, none twice, none missing");
        let mut last: BTreeMap<&str, i64> = BTreeMap::new();
        for (number, object, version) in &rows {
            let before = last.insert(object, *version).unwrap_or_default();
            assert_eq!(*version, before + 1, "{object} at {number}");
        }
        let heads = events::heads(&workers, &[tenant]).await.unwrap();
        assert_eq!(heads, [(tenant, count)]);
    }
}

async fn tell(rig: &TestDatabase, tenant: TenantId, object: &str) {
    let mut tx = rig.begin_as(tenant).await;
    let event = OutboxEvent {
        kind: EventKind::TaskCreated,
        object: object.to_owned(),
        version: Some(1),
        payload: json!({ "title": "Grow the pool" }),
    };
    outbox::hint(&mut tx, &event).await.unwrap();
    tx.commit().await.unwrap();
}

#[tokio::test]
async fn events_after_a_number_are_read_in_order_per_tenant() {
    let rig = TestDatabase::new().await;
    let workers = rig.worker_pool().await;
    for object in ["task_a", "task_b", "task_c"] {
        tell(&rig, rig.tenant, object).await;
    }
    tell(&rig, rig.other, "task_z").await;
    let waiting = events::waiting(&rig.pool).await.unwrap();
    assert_eq!((waiting.count, waiting.since), (4, Some(rig.now)));
    let mut tx = rig.begin().await;
    assert_eq!(events::read_after(&mut tx, 0, 10).await.unwrap(), [], "not before it is numbered");
    assert_eq!(events::head(&mut tx).await.unwrap(), 0);
    tx.roll_back().await;
    let numbered = events::number(&workers, &all_shards(), 500).await.unwrap();
    assert_eq!(numbered.len(), 4);
    assert_eq!(events::number(&workers, &all_shards(), 500).await.unwrap(), []);
    let mut tx = rig.begin().await;
    let read = events::read_after(&mut tx, 1, 10).await.unwrap();
    let seen: Vec<_> = read.iter().map(|event| (event.seq, event.object.as_str())).collect();
    assert_eq!(seen, [(2, "task_b"), (3, "task_c")]);
    let first = read.first().unwrap();
    assert_eq!(
        numbered.iter().find(|event| event.id == first.id),
        Some(first),
        "as it was first returned"
    );
    assert_eq!((first.kind.as_str(), first.version, first.at), ("task.created", Some(1), rig.now));
    assert_eq!(first.actor.as_deref(), Some("usr_00000000000000000000000001"));
    assert_eq!(events::read_after(&mut tx, 0, 1).await.unwrap().len(), 1);
    assert_eq!(events::head(&mut tx).await.unwrap(), 3);
    assert_eq!(events::waiting(&rig.pool).await.unwrap().count, 0);
    let refused = events::number(&rig.pool, &all_shards(), 500).await;
    assert!(matches!(refused, Err(StoreError::Forbidden { .. })), "{refused:?}");
}

#[tokio::test]
async fn event_shard_locked_by_another_process_is_skipped() {
    let rig = TestDatabase::new().await;
    let workers = rig.worker_pool().await;
    tell(&rig, rig.tenant, "task_a").await;
    tell(&rig, rig.other, "task_b").await;
    let mut admin = rig.database.connect().await;
    let ours = i32::from(ade_core::event::shard_of(rig.tenant));
    let lock =
        format!("BEGIN; SELECT pg_advisory_xact_lock(hashtextextended('number_events {ours}', 0))");
    run(&mut admin, &lock).await;
    let numbered = events::number(&workers, &all_shards(), 500).await.unwrap();
    assert_eq!(numbered.iter().map(|event| event.tenant).collect::<Vec<_>>(), [rig.other]);
    run(&mut admin, "COMMIT").await;
    let elsewhere = ade_core::event::shard_of(rig.other);
    assert_eq!(events::number(&workers, &[elsewhere], 500).await.unwrap(), [], "not of this shard");
    assert_eq!(events::number(&workers, &all_shards(), 500).await.unwrap().len(), 1);
}

#[tokio::test]
async fn event_cursor_only_advances_and_finds_who_is_behind() {
    let rig = TestDatabase::new().await;
    let workers = rig.worker_pool().await;
    let group = "webhook-dispatcher";
    let behind = async |after| events::behind(&workers, group, after, 10).await.unwrap();
    for tenant in [rig.tenant, rig.tenant, rig.other] {
        tell(&rig, tenant, "task_a").await;
    }
    assert_eq!(behind(None).await, []);
    events::number(&workers, &all_shards(), 500).await.unwrap();
    assert_eq!(behind(None).await, [rig.tenant, rig.other]);
    assert_eq!(behind(Some(rig.tenant)).await, [rig.other]);
    let mut tx = rig.begin().await;
    assert_eq!(events::cursor(&mut tx, group).await.unwrap(), 0);
    assert!(events::advance(&mut tx, group, 2).await.unwrap());
    assert!(!events::advance(&mut tx, group, 1).await.unwrap(), "it does not go back");
    assert_eq!(events::cursor(&mut tx, group).await.unwrap(), 2);
    assert_eq!(events::cursor(&mut tx, "another").await.unwrap(), 0);
    tx.commit().await.unwrap();
    assert_eq!(behind(None).await, [rig.other]);
}
