//! The deadlocks that were found, as an explanation of aborted waits.

use ade_core::time::Timestamp;
use serde_json::Value;
use sqlx::query_as;
use uuid::Uuid;

use crate::error::StoreError;
use crate::timestamp::PgTimestamp;
use crate::tx::Tx;

#[derive(Debug, Clone, PartialEq)]
pub struct DeadlockRecord {
    pub at: Timestamp,
    /// The hash of the lease whose wait was aborted.
    pub victim: String,
    /// The leases of the cycle, in their displayed form.
    pub cycle: Value,
}

const INSERT: &str = "
    INSERT INTO lock_deadlock (tenant_id, id, found_at, victim, cycle)
    VALUES ($1, $2, $3, $4, $5::json)";
const LIST: &str = "
    SELECT found_at, victim, cycle::text FROM lock_deadlock
     WHERE tenant_id = $1 ORDER BY id DESC LIMIT $2";

pub async fn insert(tx: &mut Tx, id: Uuid, victim: &str, cycle: &Value) -> Result<(), StoreError> {
    let query = sqlx::query(INSERT)
        .bind(tx.tenant().uuid())
        .bind(id)
        .bind(PgTimestamp(tx.now()))
        .bind(victim)
        .bind(cycle.to_string());
    tx.write(query).await?;
    Ok(())
}

/// Returns deadlocks, newest first.
pub async fn list(tx: &mut Tx, limit: i64) -> Result<Vec<DeadlockRecord>, StoreError> {
    let rows: Vec<(PgTimestamp, String, String)> =
        tx.read(query_as(LIST).bind(tx.tenant().uuid()).bind(limit)).await?;
    let found = rows.into_iter().map(|(at, victim, cycle)| {
        let cycle = serde_json::from_str(&cycle).unwrap_or(Value::Null);
        DeadlockRecord { at: at.0, victim, cycle }
    });
    Ok(found.collect())
}
