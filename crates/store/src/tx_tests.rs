//! Checks what is left on a pooled connection when a transaction has ended. These tests are inside
//! the crate because the connection is not accessible from outside.

use ade_core::actor::Actor;
use ade_core::ids::TenantId;
use ade_testkit::Database;

use super::{TenantLock, Tx};
use crate::migrate;
use crate::pool::{Pool, PoolClass, PoolSettings};

/// Returns backend, tenant, lock timeout, and whether a lock or a transaction is left.
async fn left_on(pool: &Pool) -> (i32, String, String, i64) {
    let mut connection = pool.acquire().await.unwrap();
    sqlx::query_as(
        "SELECT pg_backend_pid(), coalesce(current_setting('ade.tenant', true), ''),
                current_setting('lock_timeout'),
                (SELECT count(*) FROM pg_locks
                  WHERE locktype = 'advisory' AND pid = pg_backend_pid())",
    )
    .fetch_one(connection.get().unwrap())
    .await
    .unwrap()
}

#[tokio::test]
async fn transaction_leaves_no_state_on_the_connection() {
    let database = Database::fresh("store", async |url: String| migrate::run(&url).await).await;
    let settings = PoolSettings { api_max: 1, ..PoolSettings::new(database.url()) };
    let pool = Pool::new(&settings, PoolClass::Api).unwrap();
    let clean = left_on(&pool).await;
    assert_eq!((clean.1.as_str(), clean.2.as_str(), clean.3), ("", "0", 0));
    let begin = || {
        let (tenant, actor) = (TenantId::from_u128(7), Actor::system("test"));
        Tx::begin(&pool, tenant, actor, TenantLock::Exclusive)
    };
    begin().await.unwrap().commit().await.unwrap();
    assert_eq!(left_on(&pool).await, clean, "committed");
    begin().await.unwrap().roll_back().await;
    assert_eq!(left_on(&pool).await, clean, "rolled back");
    drop(begin().await.unwrap());
    assert_eq!(left_on(&pool).await, clean, "dropped");
    let mut failed = begin().await.unwrap();
    assert!(failed.write(sqlx::query("SELECT 1 / 0")).await.is_err());
    drop(failed);
    assert_eq!(left_on(&pool).await, clean, "dropped after a failed statement");
}
