//! Data that workers share across tenants: due jobs, leases, and rows to prune.

use std::time::Duration;

use ade_core::change::Digest;
use ade_core::ids::TenantId;
use ade_core::limits::DUE_WINDOW_ROWS;
use ade_store::idempotency::{self, IdempotencyKey, IdempotentResponse, StoredResponse};
use ade_store::scheduled_jobs::{self, JobBatch, ScheduledJob};
use ade_store::{Pool, PoolClass, StoreError, audit, lease, partitions};
use sqlx::types::Uuid;

use crate::test_database::{TestDatabase, run};

const TTL: Duration = Duration::from_mins(10);
const ALL: JobBatch = JobBatch { limit: 100, per_tenant: 100 };

#[tokio::test]
async fn due_jobs_are_taken_fairly_across_tenants() {
    let rig = TestDatabase::new().await;
    let workers = rig.worker_pool().await;
    let at = |seconds| rig.now.plus(Duration::from_secs(seconds));
    let word = |number, seconds| ScheduledJob {
        kind: "expire",
        object: Uuid::from_u128(number),
        at: at(seconds),
    };
    let flood: Vec<ScheduledJob> = (1..=20).map(|number| word(number, 1)).collect();
    for (tenant, dues) in [(rig.tenant, flood), (rig.other, vec![word(1, 5), word(2, 60)])] {
        let mut tx = rig.begin_as(tenant).await;
        scheduled_jobs::set(&mut tx, &dues).await.unwrap();
        scheduled_jobs::set(&mut tx, &[ScheduledJob { kind: "other", ..dues[0].clone() }])
            .await
            .unwrap();
        tx.commit().await.unwrap();
    }
    assert_eq!(
        scheduled_jobs::next(&workers, "expire", ALL).await.unwrap(),
        [],
        "nothing is due yet"
    );
    rig.set_clock(at(5)).await;
    let next =
        scheduled_jobs::next(&workers, "expire", JobBatch { limit: 3, ..ALL }).await.unwrap();
    let tenants: Vec<TenantId> = next.iter().map(|(tenant, _)| *tenant).collect();
    assert_eq!(tenants, [rig.tenant, rig.other, rig.tenant]);
    assert_eq!(next[1].1, word(1, 5), "a job due exactly now is included");
    rig.set_clock(at(59)).await;
    let all = scheduled_jobs::next(&workers, "expire", ALL).await.unwrap();
    assert_eq!(all.len(), 21, "a job due later is not included");
    assert!(all.iter().all(|(_, due)| due.kind == "expire"));
    let unfit = scheduled_jobs::next(&rig.pool, "expire", ALL).await.unwrap();
    assert_eq!(unfit, [], "the application's own login sees no tenant but the one it has set");
}

#[tokio::test]
async fn due_jobs_behind_a_long_backlog_have_their_turn() {
    let rig = TestDatabase::new().await;
    let workers = rig.worker_pool().await;
    let mut admin = rig.database.connect().await;
    let backlog = format!(
        "INSERT INTO scheduled_job
         SELECT '{}', 'expire', uuid_v7(), moment() - interval '1 hour' + n * interval '1 ms'
           FROM generate_series(1, {}) AS n",
        rig.tenant.uuid(),
        2 * DUE_WINDOW_ROWS,
    );
    run(&mut admin, &backlog).await;
    let late = |number, at| ScheduledJob { kind: "expire", object: Uuid::from_u128(number), at };
    let dues = [late(1, rig.now), late(2, rig.now.plus(TTL))];
    let mut tx = rig.begin_as(rig.other).await;
    scheduled_jobs::set(&mut tx, &dues).await.unwrap();
    tx.commit().await.unwrap();

    let batch = JobBatch::shared(100);
    let due = scheduled_jobs::next(&workers, "expire", batch).await.unwrap();
    let of = |tenant| due.iter().filter(move |(of, _)| *of == tenant).map(|(_, due)| due);
    assert_eq!(of(rig.other).collect::<Vec<_>>(), [&dues[0]]);
    let taken: Vec<_> = of(rig.tenant).map(|due| due.at).collect();
    let oldest = rig.now.minus(Duration::from_hours(1));
    let expected: Vec<_> = (1..=25).map(|n| oldest.plus(Duration::from_millis(n))).collect();
    assert_eq!(taken, expected, "a quarter of the batch, the oldest first");
    assert!(batch.is_used_up(&due) && !batch.is_used_up(&due[..20]));
}

#[tokio::test]
async fn worker_lease_has_one_holder_and_a_rising_fence() {
    let rig = TestDatabase::new().await;
    let workers = rig.worker_pool().await;
    let [ours, theirs] = [1, 2].map(Uuid::from_u128);
    let first = lease::acquire(&workers, "relay", 0, ours, TTL).await.unwrap().unwrap();
    assert_eq!((first.fence, first.holder), (1, ours));
    assert_eq!(lease::acquire(&workers, "relay", 0, theirs, TTL).await.unwrap(), None);
    let elsewhere = lease::acquire(&workers, "relay", 1, theirs, TTL).await.unwrap().unwrap();
    assert_eq!(elsewhere.fence, 1, "another shard is another lease");
    let again = lease::acquire(&workers, "relay", 0, ours, TTL).await.unwrap().unwrap();
    assert_eq!(again.fence, 1, "still the same holder");
    assert!(again.deadline > first.deadline);
    let renewed = lease::renew(&workers, &again, TTL * 2).await.unwrap().unwrap();
    assert!(renewed.deadline > again.deadline);
    lease::release(&workers, &renewed).await.unwrap();
    assert_eq!(lease::renew(&workers, &renewed, TTL).await.unwrap(), None, "it was given back");
    let taken = lease::acquire(&workers, "relay", 0, theirs, TTL).await.unwrap().unwrap();
    assert_eq!(taken.fence, 2);
    assert_eq!(lease::renew(&workers, &renewed, TTL).await.unwrap(), None);
    lease::release(&workers, &renewed).await.unwrap();
    let held = lease::renew(&workers, &taken, TTL).await.unwrap();
    assert!(held.is_some(), "a release by another holder has no effect");
}

#[tokio::test]
async fn worker_leases_of_many_shards_are_handled_in_one_call() {
    let rig = TestDatabase::new().await;
    let workers = rig.worker_pool().await;
    let [ours, theirs] = [1, 2].map(Uuid::from_u128);
    let shards = async |holder, wanted: &[u8]| {
        let held = lease::acquire_many(&workers, "relay", wanted, holder, TTL).await.unwrap();
        held.iter().map(|lease| (lease.shard, lease.fence)).collect::<Vec<_>>()
    };
    assert_eq!(shards(ours, &[2, 0]).await, [(0, 1), (2, 1)]);
    assert_eq!(shards(theirs, &[0, 1, 2]).await, [(1, 1)], "the rest is held");
    assert_eq!(shards(ours, &[0, 1, 2]).await, [(0, 1), (2, 1)], "renewed");
    let mut admin = rig.database.connect().await;
    run(&mut admin, "UPDATE worker_lease SET deadline = clock_timestamp() WHERE shard = 2").await;
    assert_eq!(shards(theirs, &[0, 1, 2]).await, [(1, 1), (2, 2)]);
    lease::report_many(&workers, "relay", ours, &[(0, 5), (2, 7)]).await.unwrap();
    let board = lease::board(&workers).await.unwrap();
    let items: Vec<i64> = board.iter().map(|posted| posted.items).collect();
    assert_eq!(items, [5, 0, 0], "only of what is still held");
}

#[tokio::test]
async fn worker_lease_expires_by_the_database_clock() {
    let rig = TestDatabase::new().await;
    let workers = rig.worker_pool().await;
    let [ours, theirs] = [1, 2].map(Uuid::from_u128);
    let held = lease::acquire(&workers, "relay", 0, ours, TTL).await.unwrap().unwrap();
    let mut admin = rig.database.connect().await;
    run(&mut admin, "UPDATE worker_lease SET deadline = clock_timestamp()").await;
    assert_eq!(lease::renew(&workers, &held, TTL).await.unwrap(), None);
    let taken = lease::acquire(&workers, "relay", 0, theirs, TTL).await.unwrap().unwrap();
    assert_eq!(taken.fence, 2);
    // A lease uses the real time, whatever the clock of the test says.
    rig.database.advance_clock(Duration::ZERO).await;
    let now = workers.clock().await.unwrap();
    assert!(now > rig.now && taken.deadline > now && taken.deadline <= now.plus(TTL));
}

#[tokio::test]
async fn worker_lease_is_granted_to_one_of_many() {
    let rig = TestDatabase::new().await;
    let workers = rig.worker_pool().await;
    for round in 0..20 {
        let asked = (1..=8).map(|number| {
            let workers = workers.clone();
            tokio::spawn(async move {
                lease::acquire(&workers, "race", round, Uuid::from_u128(number), TTL).await
            })
        });
        let mut winners = 0;
        for asked in asked.collect::<Vec<_>>() {
            winners += usize::from(asked.await.unwrap().unwrap().is_some());
        }
        assert_eq!(winners, 1);
    }
}

#[tokio::test]
async fn worker_lease_is_closed_to_the_application() {
    let rig = TestDatabase::new().await;
    let refused = lease::acquire(&rig.pool, "relay", 0, Uuid::from_u128(1), TTL).await;
    assert!(matches!(refused, Err(StoreError::Forbidden { .. })), "{refused:?}");
}

async fn keep(rig: &TestDatabase, tenant: TenantId, name: &str, seconds: u64) {
    let key =
        IdempotencyKey { principal: "p".to_owned(), route: "r".to_owned(), key: name.to_owned() };
    let answer = IdempotentResponse { status: 200, body: "{}".to_owned() };
    let expires_at = rig.now.plus(Duration::from_secs(seconds));
    let mut tx = rig.begin_as(tenant).await;
    let body = Digest::of(b"body");
    let kept = StoredResponse { key: &key, body: &body, answer: &answer, expires_at };
    idempotency::store_response(&mut tx, &kept).await.unwrap();
    let mut leaf = rig.leaf("task.create");
    leaf.tenant = tenant;
    audit::append(&mut tx, &[leaf]).await.unwrap();
    tx.commit().await.unwrap();
}

async fn prune(rig: &TestDatabase, tenant: TenantId, seconds: u64, limit: u32) -> u64 {
    let mut tx = rig.begin_as(tenant).await;
    let now = rig.now.plus(Duration::from_secs(seconds));
    let pruned = idempotency::prune(&mut tx, now, limit).await.unwrap();
    tx.commit().await.unwrap();
    pruned
}

#[tokio::test]
async fn expired_responses_are_pruned_per_tenant() {
    let rig = TestDatabase::new().await;
    let workers = rig.worker_pool().await;
    for number in 0..5 {
        keep(&rig, rig.tenant, &format!("old{number}"), 10).await;
    }
    keep(&rig, rig.tenant, "young", 100).await;
    keep(&rig, rig.other, "theirs", 20).await;
    let find = async |seconds, after| {
        let now = rig.now.plus(Duration::from_secs(seconds));
        idempotency::tenants_to_prune(&workers, now, after, 10).await.unwrap()
    };
    assert_eq!(find(9, None).await, []);
    assert_eq!(find(10, None).await, [rig.tenant]);
    assert_eq!(find(20, None).await, [rig.tenant, rig.other]);
    assert_eq!(find(20, Some(rig.tenant)).await, [rig.other]);
    assert_eq!(prune(&rig, rig.tenant, 20, 3).await, 3);
    assert_eq!(prune(&rig, rig.tenant, 20, 3).await, 2);
    assert_eq!(prune(&rig, rig.tenant, 20, 3).await, 0);
    assert_eq!(find(20, None).await, [rig.other]);
    assert_eq!(find(100, None).await, [rig.tenant, rig.other], "the young one is still there");
    let refused = idempotency::tenants_to_prune(&rig.pool, rig.now, None, 10).await;
    assert!(matches!(refused, Err(StoreError::Forbidden { .. })), "{refused:?}");
}

#[tokio::test]
async fn partitions_are_created_by_workers_only() {
    let rig = TestDatabase::new().await;
    let workers: Pool = rig.worker_pool().await;
    assert_eq!(workers.class(), PoolClass::Api);
    // The migration created all partitions that were needed on its day.
    partitions::make(&workers).await.unwrap();
    assert_eq!(partitions::make(&workers).await.unwrap(), 0, "all are there");
    let mut admin = rig.database.connect().await;
    let name: String = sqlx::query_scalar(
        "SELECT max(relname)::text FROM pg_class
          WHERE relname LIKE 'outbox_2%' AND relkind = 'r'",
    )
    .fetch_one(&mut admin)
    .await
    .unwrap();
    run(&mut admin, &format!("DROP TABLE {name}")).await;
    assert_eq!(partitions::make(&workers).await.unwrap(), 1);
    let refused = partitions::make(&rig.pool).await;
    assert!(matches!(refused, Err(StoreError::Forbidden { .. })), "{refused:?}");
}

#[tokio::test]
async fn outbox_days_are_dropped_once_all_consumers_have_read_them() {
    let rig = TestDatabase::new().await;
    let workers: Pool = rig.worker_pool().await;
    let mut admin = rig.database.connect().await;
    let days = async |admin: &mut sqlx::PgConnection| -> i64 {
        let sql = "SELECT count(*) FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
                    WHERE i.inhparent = 'outbox'::regclass
                      AND c.relname < 'outbox_' || to_char(moment(), 'YYYY_MM_DD')";
        sqlx::query_scalar(sql).fetch_one(admin).await.unwrap()
    };
    // The partition of a previous day, if the migration was before midnight.
    partitions::drop_read(&workers).await.unwrap();
    run(&mut admin, "SELECT make_partitions('2 days', moment() - interval '20 days')").await;
    let before = days(&mut admin).await;
    assert_eq!(before, 3);
    let event = |day: u32, seq: &str| {
        format!(
            "INSERT INTO outbox (tenant_id, at, kind, object, payload, tenant_seq)
             VALUES ('{}', moment() - interval '{day} days', 'task.created', 'x', '{{}}', {seq})",
            rig.tenant.uuid()
        )
    };
    run(&mut admin, &event(20, "1")).await;
    run(&mut admin, &event(19, "2")).await;
    run(&mut admin, &event(18, "NULL")).await;
    let cursor = format!(
        "INSERT INTO consumer_cursor VALUES ('{}', 'one', 1, now()), ('{0}', 'other', 9, now())",
        rig.tenant.uuid()
    );
    run(&mut admin, &cursor).await;
    assert_eq!(partitions::drop_read(&workers).await.unwrap(), 1, "what both have read");
    assert_eq!(days(&mut admin).await, before - 1);
    run(&mut admin, "UPDATE consumer_cursor SET tenant_seq = 2 WHERE consumer = 'one'").await;
    assert_eq!(partitions::drop_read(&workers).await.unwrap(), 1);
    assert_eq!(partitions::drop_read(&workers).await.unwrap(), 0, "one has no number yet");
    run(&mut admin, "UPDATE outbox SET tenant_seq = 3 WHERE tenant_seq IS NULL").await;
    assert_eq!(partitions::drop_read(&workers).await.unwrap(), 0, "and then it is not read");
    run(&mut admin, "UPDATE consumer_cursor SET tenant_seq = 3").await;
    assert_eq!(partitions::drop_read(&workers).await.unwrap(), 1);
    assert_eq!(days(&mut admin).await, 0);
    let refused = partitions::drop_read(&rig.pool).await;
    assert!(matches!(refused, Err(StoreError::Forbidden { .. })), "{refused:?}");
}
