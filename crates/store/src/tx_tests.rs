//! What is left on a pooled connection when a transaction has ended: seen from inside the crate,
//! since nobody outside gets at the connection itself.

use ade_core::actor::Actor;
use ade_core::ids::TenantId;
use ade_testkit::Database;

use super::{Gate, Tx};
use crate::migrate;
use crate::pool::{Class, Pool, Settings};

/// Backend, tenant, lock timeout, and whether a lock or a transaction is still there.
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
async fn however_a_transaction_ends_nothing_of_it_stays_on_the_connection() {
    let database = Database::fresh("store", async |url: String| migrate::run(&url).await).await;
    let settings = Settings { api_max: 1, ..Settings::new(database.url()) };
    let pool = Pool::new(&settings, Class::Api).unwrap();
    let clean = left_on(&pool).await;
    assert_eq!((clean.1.as_str(), clean.2.as_str(), clean.3), ("", "0", 0));
    let begin = || {
        let (tenant, actor) = (TenantId::from_u128(7), Actor::system("test"));
        Tx::begin(&pool, tenant, actor, Gate::Exclusive)
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
