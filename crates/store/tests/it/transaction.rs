//! Guarantees of a transaction: no write without an audit entry, no commit after a failed guard or
//! statement, a tenant lock, and a clean connection afterwards.

use std::time::Duration;

use ade_store::{StoreError, TenantLock, Tx, audit};
use ade_testkit::eventually;
use sqlx::query;

use crate::test_database::TestDatabase;

const SOON: Duration = Duration::from_mins(1);
const RENAME: &str = "UPDATE app_user SET name = 'renamed' WHERE subject = '1'";

async fn renamed(rig: &TestDatabase) -> i64 {
    let mut tx = rig.begin().await;
    let count = sqlx::query_as::<_, (i64,)>("SELECT count(*) FROM app_user WHERE name = 'renamed'");
    let rows = tx.read(count).await.unwrap();
    tx.commit().await.unwrap();
    rows[0].0
}

#[tokio::test]
async fn transaction_write_without_an_audit_entry_is_refused() {
    let rig = TestDatabase::new().await;
    let mut tx = rig.begin().await;
    assert_eq!(tx.write(query(RENAME)).await.unwrap(), 1);
    assert!(matches!(tx.commit().await, Err(StoreError::Unaudited)));
    assert_eq!(renamed(&rig).await, 0);

    let mut tx = rig.begin().await;
    tx.write(query(RENAME)).await.unwrap();
    audit::append(&mut tx, &[]).await.unwrap();
    assert!(matches!(tx.commit().await, Err(StoreError::Unaudited)), "an empty list is no entry");

    let mut tx = rig.begin().await;
    tx.write(query(RENAME)).await.unwrap();
    audit::append(&mut tx, &[rig.leaf("user.rename")]).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(renamed(&rig).await, 1);
}

/// Of several transactions that do the same at once, only one changes something that must be
/// audited.
#[tokio::test]
async fn transaction_without_changes_needs_no_audit_entry() {
    let rig = TestDatabase::new().await;
    let no_match = "UPDATE app_user SET active = false WHERE subject = 'unknown'";
    let mut tx = rig.begin().await;
    assert_eq!(tx.write_if_left(query(no_match)).await.unwrap(), 0);
    tx.commit().await.unwrap();

    let mut tx = rig.begin().await;
    assert_eq!(tx.write_if_left(query(RENAME)).await.unwrap(), 1);
    assert_eq!(tx.write_if_left(query(no_match)).await.unwrap(), 0);
    assert!(matches!(tx.commit().await, Err(StoreError::Unaudited)));
    assert_eq!(renamed(&rig).await, 0);
}

#[tokio::test]
async fn transaction_with_a_failed_guard_is_rolled_back() {
    let rig = TestDatabase::new().await;
    let mut tx = rig.begin().await;
    audit::append(&mut tx, &[rig.leaf("user.rename")]).await.unwrap();
    tx.write(query(RENAME)).await.unwrap();
    let guarded = query("UPDATE app_user SET active = false WHERE subject = 'unknown'");
    let refused = tx.write_one("the user", guarded).await.unwrap_err();
    assert!(
        matches!(&refused, StoreError::Conflict { object } if object == "the user"),
        "{refused}"
    );
    assert!(refused.is_retriable());
    assert!(matches!(tx.commit().await, Err(StoreError::Aborted)), "even if the caller looks away");
    assert_eq!(renamed(&rig).await, 0);
    let mut tx = rig.begin().await;
    let all = query("UPDATE app_user SET active = false");
    assert!(tx.write_one("the user", all).await.is_err(), "a guard matches one row");
}

#[tokio::test]
async fn transaction_commit_after_a_failed_statement_fails() {
    let rig = TestDatabase::new().await;
    let mut tx = rig.begin().await;
    audit::append(&mut tx, &[rig.leaf("user.rename")]).await.unwrap();
    tx.write(query(RENAME)).await.unwrap();
    let twice = query(
        "INSERT INTO app_user (tenant_id, id, issuer, subject, name)
         SELECT tenant_id, gen_random_uuid(), issuer, subject, name FROM app_user LIMIT 1",
    );
    let refused = tx.write(twice).await.unwrap_err();
    let StoreError::Constraint { table, constraint } = &refused else { panic!("{refused}") };
    assert_eq!(
        (table.as_str(), constraint.as_str()),
        ("app_user", "app_user_subject_is_one_person")
    );
    assert!(!refused.is_retriable());
    assert!(matches!(tx.commit().await, Err(StoreError::Aborted)));
    assert_eq!(renamed(&rig).await, 0);
}

#[tokio::test]
async fn transaction_dropped_returns_a_clean_connection() {
    let rig = TestDatabase::new().await;
    let pool = rig.pool(1);
    let mut tx = rig.begin_through(&pool, rig.tenant, TenantLock::Exclusive).await.unwrap();
    tx.write(query(RENAME)).await.unwrap();
    drop(tx);
    let mut next = rig.begin_through(&pool, rig.tenant, TenantLock::Shared).await.unwrap();
    let written = sqlx::query_as::<_, (Option<String>, i64)>(
        "SELECT pg_current_xact_id_if_assigned()::text, count(*) FROM app_user
          WHERE name = 'renamed'",
    );
    assert_eq!(next.read(written).await.unwrap(), [(None, 0)], "neither its xid nor its row");
    next.commit().await.unwrap();
}

#[tokio::test]
async fn transaction_without_its_gate_returns_a_clean_connection() {
    let rig = TestDatabase::new().await;
    let pool = rig.pool(1);
    let holder = rig.begin_through(&rig.pool, rig.tenant, TenantLock::Exclusive).await.unwrap();
    let refused = rig.begin_through(&pool, rig.tenant, TenantLock::Shared).await.unwrap_err();
    assert!(matches!(&refused, StoreError::Busy { code } if code == "55P03"), "{refused}");
    assert!(refused.is_retriable());
    holder.roll_back().await;
    let mut next = rig.begin_through(&pool, rig.tenant, TenantLock::Shared).await.unwrap();
    let rows = next.read(sqlx::query_as::<_, (i32,)>("SELECT 1")).await.unwrap();
    assert_eq!(rows, [(1,)]);
}

#[tokio::test]
async fn transaction_gate_is_shared_by_permits_and_exclusive_after() {
    let rig = TestDatabase::patient().await;
    let first = rig.begin_through(&rig.pool, rig.tenant, TenantLock::Shared).await.unwrap();
    let second = rig.begin_through(&rig.pool, rig.tenant, TenantLock::Shared).await.unwrap();
    let foreign = rig.begin_through(&rig.pool, rig.other, TenantLock::Exclusive).await.unwrap();
    foreign.roll_back().await;
    let rig = std::sync::Arc::new(rig);
    let closer = tokio::spawn({
        let rig = rig.clone();
        async move { rig.begin_through(&rig.pool, rig.tenant, TenantLock::Exclusive).await }
    });
    wait_for_waiter(&rig).await;
    assert!(!closer.is_finished(), "a freeze waits for permits in progress");
    first.roll_back().await;
    assert!(!closer.is_finished(), "for all of them");
    second.roll_back().await;
    let freeze = tokio::time::timeout(SOON, closer).await.unwrap().unwrap().unwrap();
    let permit = tokio::spawn({
        let rig = rig.clone();
        async move { rig.begin_through(&rig.pool, rig.tenant, TenantLock::Shared).await }
    });
    wait_for_waiter(&rig).await;
    assert!(!permit.is_finished(), "no permit passes while the freeze is written");
    freeze.roll_back().await;
    let permit: Tx = tokio::time::timeout(SOON, permit).await.unwrap().unwrap().unwrap();
    permit.roll_back().await;
}

async fn wait_for_waiter(rig: &TestDatabase) {
    let mut admin = rig.database.connect().await;
    eventually("a transaction waits at the gate", SOON, async || {
        let waiting: i64 = sqlx::query_scalar(
            "SELECT count(*) FROM pg_locks l JOIN pg_database d ON d.oid = l.database
              WHERE l.locktype = 'advisory' AND NOT l.granted AND d.datname = current_database()",
        )
        .fetch_one(&mut admin)
        .await
        .unwrap();
        if waiting == 1 { Ok(()) } else { Err(format!("{waiting} wait")) }
    })
    .await;
}

#[tokio::test]
async fn transaction_has_its_timeouts_and_actor() {
    let rig = TestDatabase::new().await;
    let mut tx = rig.begin().await;
    let settings = sqlx::query_as::<_, (String, String, String, String)>(
        "SELECT current_setting('lock_timeout'), current_setting('statement_timeout'),
                current_setting('idle_in_transaction_session_timeout'),
                current_setting('transaction_isolation')",
    );
    let row = tx.read(settings).await.unwrap().remove(0);
    let values = (row.0.as_str(), row.1.as_str(), row.2.as_str(), row.3.as_str());
    assert_eq!(values, ("750ms", "5s", "10s", "read committed"));
    let compiles = sqlx::query_as::<_, (String,)>("SELECT current_setting('jit')");
    assert_eq!(tx.read(compiles).await.unwrap(), [("off".to_owned(),)]);
    assert_eq!((tx.tenant(), tx.now()), (rig.tenant, rig.now));
    assert_eq!(tx.actor().human(), Some(ade_core::ids::UserId::from_u128(1)));
}

/// Connections are not tested before use: one that has died must cost a retry, not an error.
#[tokio::test]
async fn pool_skips_connections_that_died() {
    let rig = TestDatabase::new().await;
    for _ in 0..2 {
        let held = [rig.begin().await, rig.begin().await, rig.begin().await];
        for tx in held {
            tx.roll_back().await;
        }
        rig.database
            .run(
                "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
                  WHERE datname = current_database() AND pid <> pg_backend_pid()",
            )
            .await;
        rig.begin().await.commit().await.unwrap();
        rig.pool.clock().await.unwrap();
    }
}
