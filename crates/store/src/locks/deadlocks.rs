//! The circles of waits that were found, for those who want to know why waits were ended.

use ade_core::time::Timestamp;
use serde_json::Value;
use sqlx::query_as;
use uuid::Uuid;

use crate::error::Error;
use crate::moment::Moment;
use crate::tx::Tx;

#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    pub at: Timestamp,
    /// The hash of the lease whose wait was ended.
    pub victim: String,
    /// The leases of the circle, as they are shown.
    pub cycle: Value,
}

const INSERT: &str = "
    INSERT INTO lock_deadlock (tenant_id, id, found_at, victim, cycle)
    VALUES ($1, $2, $3, $4, $5::json)";
const LIST: &str = "
    SELECT found_at, victim, cycle::text FROM lock_deadlock
     WHERE tenant_id = $1 ORDER BY id DESC LIMIT $2";

pub async fn insert(tx: &mut Tx, id: Uuid, victim: &str, cycle: &Value) -> Result<(), Error> {
    let query = sqlx::query(INSERT)
        .bind(tx.tenant().uuid())
        .bind(id)
        .bind(Moment(tx.now()))
        .bind(victim)
        .bind(cycle.to_string());
    tx.write(query).await?;
    Ok(())
}

/// Newest first.
pub async fn list(tx: &mut Tx, limit: i64) -> Result<Vec<Found>, Error> {
    let rows: Vec<(Moment, String, String)> =
        tx.read(query_as(LIST).bind(tx.tenant().uuid()).bind(limit)).await?;
    let found = rows.into_iter().map(|(at, victim, cycle)| {
        let cycle = serde_json::from_str(&cycle).unwrap_or(Value::Null);
        Found { at: at.0, victim, cycle }
    });
    Ok(found.collect())
}
