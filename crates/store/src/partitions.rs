//! Partitions of the audit and the outbox. They are created ahead of time, and those of the outbox
//! are dropped once all consumers have read them. Functions of the owner of the tables do this:
//! neither the application nor its workers may run DDL.

use ade_core::limits::OUTBOX_KEPT;
use sqlx::query_as;

use crate::error::StoreError;
use crate::migrate;
use crate::pool::Pool;

/// Partitions dropped per round; dropping one blocks writers for a moment.
const OUTBOX_DROPPED_PER_ROUND: u32 = 4;

/// Creates partitions and returns how many. It needs a login that may act as `ade_worker`.
pub async fn make(pool: &Pool) -> Result<i32, StoreError> {
    let mut connection = pool.acquire().await?;
    migrate::make_partitions(connection.get()?).await
}

const DROP: &str = "SELECT drop_read_events(make_interval(secs => $1), $2)";

/// Drops days of events that every consumer has processed, oldest first, and returns how many. It
/// needs a login that may act as `ade_worker`.
pub async fn drop_read(pool: &Pool) -> Result<i32, StoreError> {
    let mut connection = pool.acquire().await?;
    let query = query_as::<_, (i32,)>(DROP)
        .bind(OUTBOX_KEPT.as_secs_f64())
        .bind(i32::try_from(OUTBOX_DROPPED_PER_ROUND).unwrap_or(i32::MAX));
    let (dropped,) = query.fetch_one(connection.get()?).await?;
    connection.give_back();
    Ok(dropped)
}
