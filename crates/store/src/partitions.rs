//! Partitions of the evidence and the outbox, made ahead of time by a function of the tables'
//! owner: neither the application nor its workers have DDL.

use crate::error::Error;
use crate::migrate;
use crate::pool::Pool;

/// By a login that may act as `ade_worker`. Answers how many were made.
pub async fn make(pool: &Pool) -> Result<i32, Error> {
    let mut connection = pool.acquire().await?;
    migrate::make_partitions(connection.get()?).await
}
