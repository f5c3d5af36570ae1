//! Tenants share the connections of a pool: one with slow transactions leaves a share to the
//! others, and to the statements that belong to no tenant.

use std::sync::Arc;
use std::time::Duration;

use ade_core::ids::TenantId;
use ade_core::limits::{DATABASE_WAITING_MAX, TENANT_SHARE_DIVISOR};
use ade_store::pool::{PoolSettings, PoolUse};
use ade_store::{Pool, PoolClass, StoreError, TenantLock, Tx};
use ade_testkit::eventually;
use tokio::task::JoinSet;

use crate::test_database::TestDatabase;

const SOON: Duration = Duration::from_mins(1);

async fn begin(rig: &TestDatabase, pool: &Pool, tenant: TenantId) -> Result<Tx, StoreError> {
    rig.begin_through(pool, tenant, TenantLock::None).await
}

/// Waits until so many connections are lent and so many callers wait.
async fn until_used(pool: &Pool, lent: usize, waiting: usize) {
    eventually("the pool is used", SOON, async || match pool.usage() {
        PoolUse { lent: a, waiting: b, .. } if (a, b) == (lent, waiting) => Ok(()),
        other => Err(format!("{other:?}")),
    })
    .await;
}

/// Callers of one tenant that keep what they get.
fn flood(rig: &Arc<TestDatabase>, pool: &Pool, callers: usize) -> JoinSet<Result<Tx, StoreError>> {
    let mut flood = JoinSet::new();
    for _ in 0..callers {
        let (rig, pool) = (Arc::clone(rig), pool.clone());
        flood.spawn(async move { begin(&rig, &pool, rig.tenant).await });
    }
    flood
}

#[tokio::test]
async fn slow_transactions_leave_connections_to_another_tenant() {
    let rig = Arc::new(TestDatabase::new().await);
    let pool = rig.pool(8);
    let mut flood = flood(&rig, &pool, 26);
    until_used(&pool, 6, 20).await;
    // No transaction of the flood ends, so nothing that follows waits for one.
    let first = begin(&rig, &pool, rig.other).await.unwrap();
    let _second = begin(&rig, &pool, rig.other).await.unwrap();
    until_used(&pool, 8, 20).await;
    let third = tokio::spawn({
        let (rig, pool) = (Arc::clone(&rig), pool.clone());
        async move { begin(&rig, &pool, rig.other).await }
    });
    until_used(&pool, 8, 21).await;
    first.roll_back().await;
    let third = third.await.unwrap().unwrap();
    until_used(&pool, 8, 20).await;

    let lookup = tokio::spawn({
        let pool = pool.clone();
        async move { pool.clock().await }
    });
    until_used(&pool, 8, 21).await;
    flood.join_next().await.unwrap().unwrap().unwrap().roll_back().await;
    lookup.await.unwrap().expect("a statement of no tenant gets a connection");
    until_used(&pool, 7, 20).await;
    third.roll_back().await;
    until_used(&pool, 6, 20).await;
    flood.shutdown().await;
}

#[tokio::test]
async fn connections_of_the_reserved_pool_have_no_shares() {
    let rig = TestDatabase::new().await;
    let (login, name, port) = (&rig.login, rig.database.name(), rig.database.server().port());
    let url = format!("postgres://{login}:x@127.0.0.1:{port}/{name}?sslmode=disable");
    let settings = PoolSettings { reserved_max: 2, ..PoolSettings::new(url) };
    let pool = Pool::new(&settings, PoolClass::Reserved).unwrap();
    let _first = begin(&rig, &pool, rig.tenant).await.unwrap();
    let _second = begin(&rig, &pool, rig.tenant).await.unwrap();
    assert_eq!(pool.usage().lent, 2);
}

#[tokio::test]
async fn callers_beyond_the_queue_of_a_pool_are_refused_at_once() {
    const OWN: usize = DATABASE_WAITING_MAX - DATABASE_WAITING_MAX / TENANT_SHARE_DIVISOR;
    let rig = Arc::new(TestDatabase::new().await);
    let pool = rig.pool(1);
    let held = begin(&rig, &pool, rig.tenant).await.unwrap();
    let mut flood = flood(&rig, &pool, OWN + 10);
    for _ in 0..10 {
        let refused = flood.join_next().await.unwrap().unwrap();
        assert!(matches!(refused, Err(StoreError::NoConnection)), "{refused:?}");
    }
    until_used(&pool, 1, OWN).await;
    assert_eq!(pool.usage().refused, 10);
    let other = tokio::spawn({
        let (rig, pool) = (Arc::clone(&rig), pool.clone());
        async move { begin(&rig, &pool, rig.other).await.map(drop) }
    });
    until_used(&pool, 1, OWN + 1).await;
    held.roll_back().await;
    // Both tenants hold none now. The flood has waited longer, and then it is the other's turn.
    flood.join_next().await.unwrap().unwrap().unwrap().roll_back().await;
    other.await.unwrap().expect("the tenant has its turn");
    flood.shutdown().await;
    until_used(&pool, 0, 0).await;
}

#[tokio::test]
async fn caller_that_waits_too_long_learns_that_others_work() {
    let rig = TestDatabase::new().await;
    let (login, name, port) = (&rig.login, rig.database.name(), rig.database.server().port());
    let url = format!("postgres://{login}:x@127.0.0.1:{port}/{name}?sslmode=disable");
    let settings = PoolSettings {
        api_max: 1,
        acquire_timeout: Duration::from_secs(3),
        answer_timeout: Duration::from_mins(1),
        ..PoolSettings::new(url)
    };
    let pool = Pool::new(&settings, PoolClass::Api).unwrap();
    let held = begin(&rig, &pool, rig.tenant).await.unwrap();
    let refused = begin(&rig, &pool, rig.other).await;
    assert!(matches!(refused, Err(StoreError::NoConnection)), "{refused:?}");
    assert_eq!((pool.usage().waiting, pool.usage().refused), (0, 1));
    held.roll_back().await;
    begin(&rig, &pool, rig.other).await.unwrap().commit().await.unwrap();
}
