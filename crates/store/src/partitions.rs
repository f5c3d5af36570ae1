//! Partitions of the evidence and the outbox, made ahead of time and, of the outbox, dropped once
//! everybody has read them, by functions of the tables' owner: neither the application nor its
//! workers have DDL.

use ade_core::limits::{OUTBOX_DROPPED_PER_ROUND, OUTBOX_KEPT};
use sqlx::query_as;

use crate::error::Error;
use crate::migrate;
use crate::pool::Pool;

/// By a login that may act as `ade_worker`. Answers how many were made.
pub async fn make(pool: &Pool) -> Result<i32, Error> {
    let mut connection = pool.acquire().await?;
    migrate::make_partitions(connection.get()?).await
}

const DROP: &str = "SELECT drop_read_events(make_interval(secs => $1), $2)";

/// Days of events that every consumer is done with, oldest first; by a login that may act as
/// `ade_worker`. Answers how many were dropped.
pub async fn drop_read(pool: &Pool) -> Result<i32, Error> {
    let mut connection = pool.acquire().await?;
    let query = query_as::<_, (i32,)>(DROP)
        .bind(OUTBOX_KEPT.as_secs_f64())
        .bind(i32::try_from(OUTBOX_DROPPED_PER_ROUND).unwrap_or(i32::MAX));
    let (dropped,) = query.fetch_one(connection.get()?).await?;
    connection.give_back();
    Ok(dropped)
}
