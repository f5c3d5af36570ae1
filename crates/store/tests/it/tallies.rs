//! Counters aggregated from the audit: each entry counts once, with late commits and with any
//! number of aggregators.

use std::collections::BTreeMap;
use std::time::Duration;

use ade_core::limits::TALLY_LEAVES;
use ade_store::{Tx, audit, stats, tallies};

use crate::test_database::{TestDatabase, run};

async fn write(rig: &TestDatabase, action: &str) -> Tx {
    let mut tx = rig.begin().await;
    audit::append(&mut tx, &[rig.leaf(action)]).await.unwrap();
    tx
}

async fn fold(rig: &TestDatabase) -> tallies::Folded {
    let mut tx = rig.begin().await;
    let folded = tallies::fold(&mut tx).await.unwrap();
    tx.commit().await.unwrap();
    folded
}

/// The counts that a reader sees, whether they are aggregated yet or not.
async fn counts(rig: &TestDatabase) -> BTreeMap<String, i64> {
    let mut tx = rig.begin().await;
    let days = stats::days(&mut tx, rig.now).await.unwrap();
    days.into_iter().map(|one| (one.name, one.count)).collect()
}

async fn kept(rig: &TestDatabase) -> i64 {
    rig.database.number("SELECT coalesce(sum(count), 0)::bigint FROM daily_count").await
}

/// Another database on the server may keep a transaction open, and the aggregation waits for it.
async fn fold_until(rig: &TestDatabase, count: i64) {
    ade_testkit::eventually("all is folded", Duration::from_secs(30), async || {
        fold(rig).await;
        let kept = kept(rig).await;
        if kept == count { Ok(()) } else { Err(format!("{kept} of {count}")) }
    })
    .await;
}

#[tokio::test]
async fn tally_counts_a_late_commit_exactly_once() {
    let rig = TestDatabase::new().await;
    let late = write(&rig, "test.late").await;
    write(&rig, "test.soon").await.commit().await.unwrap();
    assert_eq!(fold(&rig).await.leaves, 0, "not past a transaction in progress");
    let soon = BTreeMap::from([("test.soon".to_owned(), 1)]);
    assert_eq!(counts(&rig).await, soon, "readers see it already");
    late.commit().await.unwrap();
    let both = BTreeMap::from([("test.late".to_owned(), 1), ("test.soon".to_owned(), 1)]);
    assert_eq!(counts(&rig).await, both);
    fold_until(&rig, 2).await;
    assert_eq!(counts(&rig).await, both);
    assert_eq!(fold(&rig).await.leaves, 0);
    let mut other = rig.begin_as(rig.other).await;
    assert_eq!(stats::days(&mut other, rig.now).await.unwrap(), []);
}

#[tokio::test]
async fn tally_is_exact_with_many_writers_and_aggregators() {
    const WRITERS: usize = 4;
    const LEAVES: usize = 40;
    let rig = TestDatabase::patient().await;
    let pool = rig.pool(8);
    let writers = (0..WRITERS).map(async |_| {
        for number in 0..LEAVES {
            let mut tx =
                rig.begin_through(&pool, rig.tenant, ade_store::TenantLock::None).await.unwrap();
            audit::append(&mut tx, &[rig.leaf("test.race")]).await.unwrap();
            // Some of them are rolled back.
            if number % 4 == 3 { tx.roll_back().await } else { tx.commit().await.unwrap() }
        }
    });
    let folders = (0..2).map(async |_| {
        for _ in 0..40 {
            let mut tx =
                rig.begin_through(&pool, rig.tenant, ade_store::TenantLock::None).await.unwrap();
            tallies::fold(&mut tx).await.unwrap();
            tx.commit().await.unwrap();
        }
    });
    let writers = futures_of(writers);
    let folders = futures_of(folders);
    tokio::join!(writers, folders);
    let expected = i64::try_from(WRITERS * LEAVES * 3 / 4).unwrap();
    assert_eq!(counts(&rig).await, BTreeMap::from([("test.race".to_owned(), expected)]));
    fold_until(&rig, expected).await;
    assert_eq!(counts(&rig).await, BTreeMap::from([("test.race".to_owned(), expected)]));
}

async fn futures_of(all: impl Iterator<Item = impl Future<Output = ()>>) {
    let mut all: Vec<_> = all.map(Box::pin).collect();
    std::future::poll_fn(|context| {
        all.retain_mut(|one| one.as_mut().poll(context).is_pending());
        if all.is_empty() { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    })
    .await;
}

#[tokio::test]
async fn tally_of_a_long_history_is_folded_by_transactions() {
    let rig = TestDatabase::new().await;
    write(&rig, "test.first").await.commit().await.unwrap();
    let mut admin = rig.database.connect().await;
    let copies = TALLY_LEAVES + 10;
    // One transaction per copy would take too long, so numbers from the past are used.
    run(
        &mut admin,
        &format!(
            "INSERT INTO audit_entry SELECT (jsonb_populate_record(l, jsonb_build_object(
                 'id', uuid_v7(), 'xid', (3 + n % 500)::text, 'action', 'test.old'))).*
               FROM audit_entry l, generate_series(1, {copies}) AS n"
        ),
    )
    .await;
    let first = fold(&rig).await;
    assert!(first.has_more, "{first:?}");
    fold_until(&rig, copies + 1).await;
    let all = BTreeMap::from([("test.first".to_owned(), 1), ("test.old".to_owned(), copies)]);
    assert_eq!(counts(&rig).await, all);
}

#[tokio::test]
async fn tally_worker_sees_only_which_tenants_have_news() {
    let rig = TestDatabase::new().await;
    let worker = rig.worker_pool().await;
    write(&rig, "test.news").await.commit().await.unwrap();
    ade_testkit::eventually("there is news", Duration::from_secs(30), async || {
        let found = tallies::tenants_with_news(&worker, 10).await.unwrap();
        if found == [rig.tenant] { Ok(()) } else { Err(format!("{found:?}")) }
    })
    .await;
    fold_until(&rig, 1).await;
    assert_eq!(tallies::tenants_with_news(&worker, 10).await.unwrap(), []);
}
