//! A server that stops answering without closing its sockets, as after a failover that moves an
//! address: no caller waits longer than the deadline, and the slot of the connection is free again.

use std::time::Duration;

use ade_store::pool::PoolSettings;
use ade_store::{Pool, PoolClass, PoolFault, StoreError, TenantLock, Tx, audit};
use ade_testkit::{Proxy, eventually};
use sqlx::query;

use crate::test_database::TestDatabase;

/// Short, so that the test is; long enough for a statement on a busy machine.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(3);
/// No test waits for so long unless a deadline is missing.
const HANGS: Duration = Duration::from_mins(1);
const RENAME: &str = "UPDATE app_user SET name = 'renamed' WHERE subject = '1'";

/// A pool with a single slot, behind a proxy.
fn behind_proxy(rig: &TestDatabase) -> (Pool, Proxy) {
    let proxy = Proxy::to_port(rig.database.server().port(), 1);
    let (login, name, port) = (&rig.login, rig.database.name(), proxy.port());
    let url = format!("postgres://{login}:x@127.0.0.1:{port}/{name}?sslmode=disable");
    let answer_timeout = ANSWER_TIMEOUT;
    let settings = PoolSettings { api_max: 1, answer_timeout, ..PoolSettings::new(url) };
    (Pool::new(&settings, PoolClass::Api).unwrap(), proxy)
}

async fn begin(rig: &TestDatabase, pool: &Pool) -> Tx {
    let begun = rig.begin_through(pool, rig.tenant, TenantLock::None);
    tokio::time::timeout(HANGS, begun).await.expect("the opening has a deadline").unwrap()
}

/// The only slot is free: a transaction begins and commits.
async fn assert_recovered(rig: &TestDatabase, pool: &Pool) {
    begin(rig, pool).await.commit().await.unwrap();
    pool.check(ANSWER_TIMEOUT).await.unwrap();
}

#[tokio::test]
async fn silence_on_an_idle_connection_is_not_seen_by_callers() {
    let rig = TestDatabase::new().await;
    let (pool, proxy) = behind_proxy(&rig);
    begin(&rig, &pool).await.commit().await.unwrap();
    proxy.silence_open();
    assert_eq!(pool.check(Duration::from_millis(100)).await, Err(PoolFault::Silent));
    assert_recovered(&rig, &pool).await;

    // A transaction finds it first.
    proxy.silence_open();
    assert_recovered(&rig, &pool).await;
}

#[tokio::test]
async fn silence_after_a_statement_ends_the_transaction() {
    let rig = TestDatabase::new().await;
    let (pool, proxy) = behind_proxy(&rig);
    let mut tx = begin(&rig, &pool).await;
    proxy.silence_open();
    let written = tokio::time::timeout(HANGS, tx.write(query(RENAME))).await;
    let error = written.expect("a statement has a deadline").unwrap_err();
    assert!(matches!(error, StoreError::Unavailable(_)), "{error}");
    // Its connection is gone already, so the rollback costs no second deadline.
    drop(tx);
    tokio::time::timeout(ANSWER_TIMEOUT, pool.ping()).await.expect("the slot is free").unwrap();
    assert_recovered(&rig, &pool).await;
}

#[tokio::test]
async fn silence_after_a_commit_leaves_its_outcome_unknown() {
    let rig = TestDatabase::new().await;
    let (pool, proxy) = behind_proxy(&rig);
    let mut tx = begin(&rig, &pool).await;
    tx.write(query(RENAME)).await.unwrap();
    audit::append(&mut tx, &[rig.leaf("user.rename")]).await.unwrap();
    proxy.silence_open();
    let committed = tokio::time::timeout(HANGS, tx.commit()).await;
    let error = committed.expect("a commit has a deadline").unwrap_err();
    assert!(matches!(error, StoreError::CommitUnknown(_)), "{error}");
    assert_recovered(&rig, &pool).await;
}

#[tokio::test]
async fn silence_after_a_dropped_transaction_frees_its_slot() {
    let rig = TestDatabase::new().await;
    let (pool, proxy) = behind_proxy(&rig);
    let tx = begin(&rig, &pool).await;
    proxy.silence_open();
    drop(tx);
    eventually("the slot is free", HANGS, async || pool.ping().await).await;
    assert_recovered(&rig, &pool).await;
}

/// Every call of the old connection fails; a new one would not.
#[tokio::test]
async fn connection_that_became_read_only_is_replaced() {
    let rig = TestDatabase::new().await;
    let (pool, _proxy) = behind_proxy(&rig);
    let mut tx = begin(&rig, &pool).await;
    tx.write(query("SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY")).await.unwrap();
    audit::append(&mut tx, &[rig.leaf("user.rename")]).await.unwrap();
    tx.commit().await.unwrap();

    let mut tx = begin(&rig, &pool).await;
    let error = tx.write(query(RENAME)).await.unwrap_err();
    assert!(matches!(error, StoreError::ReadOnly) && error.is_retriable(), "{error}");
    drop(tx);
    let mut tx = begin(&rig, &pool).await;
    tx.write(query(RENAME)).await.unwrap();
    audit::append(&mut tx, &[rig.leaf("user.rename")]).await.unwrap();
    tx.commit().await.unwrap();
}

/// The table of a prepared statement gets another column while the connection is idle.
#[tokio::test]
async fn connection_with_a_stale_plan_is_replaced() {
    let rig = TestDatabase::new().await;
    rig.database.run("CREATE TABLE grows (a int); GRANT SELECT ON grows TO ade_app").await;
    let (pool, _proxy) = behind_proxy(&rig);
    let read = async || {
        let mut tx = begin(&rig, &pool).await;
        tx.write(query("SELECT * FROM grows")).await
    };
    read().await.unwrap();
    rig.database.run("ALTER TABLE grows ADD COLUMN b int").await;
    let error = read().await.unwrap_err();
    assert!(matches!(error, StoreError::Unavailable(_)), "{error}");
    read().await.unwrap();
}
