//! The epoch of a tenant's lock queue: one row that only rises. A registration holds it shared, so
//! an epoch change waits for it or is seen by it.

use ade_core::lock::Epoch;
use sqlx::query;

use crate::error::{RowError, StoreError};
use crate::tx::Tx;

const CURRENT: &str = "SELECT epoch, used_at IS NULL FROM lock_epoch WHERE tenant_id = $1";
const NOTE_USE: &str = "
    UPDATE lock_epoch SET used_at = clock_timestamp() WHERE tenant_id = $1 AND used_at IS NULL";
const REPLID: &str = "SELECT replid FROM lock_epoch WHERE tenant_id = $1";
const NOTE_REPLID: &str = "UPDATE lock_epoch SET replid = $2 WHERE tenant_id = $1";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Current {
    pub epoch: Epoch,
    /// No grant was ever announced in this namespace.
    pub is_new: bool,
}

/// Returns the current epoch, and begins the first one if needed.
pub async fn current(tx: &mut Tx) -> Result<Current, StoreError> {
    let first = query!(
        "INSERT INTO lock_epoch (tenant_id, epoch, reason, begun_at)
         VALUES ($1, 1, 'first', clock_timestamp())
         ON CONFLICT ON CONSTRAINT lock_epoch_pkey DO NOTHING",
        tx.tenant().uuid(),
    );
    tx.write_beside(first).await?;
    let rows: Vec<(i64, bool)> = tx.read(sqlx::query_as(CURRENT).bind(tx.tenant().uuid())).await?;
    let (number, is_new) = rows.into_iter().next().ok_or(sqlx::Error::RowNotFound)?;
    Ok(Current { epoch: epoch(number)?, is_new })
}

/// Records, before the first grant is announced, that an empty queue means lost data from now on.
pub async fn note_use(tx: &mut Tx) -> Result<(), StoreError> {
    tx.write_beside(query(NOTE_USE).bind(tx.tenant().uuid())).await?;
    Ok(())
}

/// Ends the epoch `from`; `None` if it has ended already. Of several callers that saw it end, one
/// wins.
pub async fn bump(tx: &mut Tx, from: Epoch, reason: &str) -> Result<Option<Epoch>, StoreError> {
    let query = query!(
        "UPDATE lock_epoch SET epoch = epoch + 1, reason = $3, begun_at = clock_timestamp()
          WHERE tenant_id = $1 AND epoch = $2",
        tx.tenant().uuid(),
        i64::try_from(from.number()).unwrap_or(i64::MAX),
        reason,
    );
    let moved = tx.write_if_left(query).await?;
    Ok(from.next().filter(|_| moved > 0))
}

/// Continues after an epoch that Redis has and PostgreSQL does not: PostgreSQL has lost the last
/// ones.
pub async fn pass(tx: &mut Tx, seen: Epoch, reason: &str) -> Result<(), StoreError> {
    let query = query!(
        "UPDATE lock_epoch SET epoch = $2 + 1, reason = $3, begun_at = clock_timestamp()
          WHERE tenant_id = $1 AND epoch < $2",
        tx.tenant().uuid(),
        i64::try_from(seen.number()).unwrap_or(i64::MAX),
        reason,
    );
    tx.write(query).await?;
    Ok(())
}

/// Returns the replication id of the Redis master under which the epoch was begun, if it was
/// recorded.
pub async fn replid(tx: &mut Tx) -> Result<Option<String>, StoreError> {
    let rows: Vec<(Option<String>,)> =
        tx.read(sqlx::query_as(REPLID).bind(tx.tenant().uuid())).await?;
    Ok(rows.into_iter().find_map(|(replid,)| replid))
}

/// Records the replication id for the next check. It is not audited.
pub async fn note_replid(tx: &mut Tx, replid: &str) -> Result<(), StoreError> {
    tx.write_beside(query(NOTE_REPLID).bind(tx.tenant().uuid()).bind(replid)).await?;
    Ok(())
}

fn epoch(number: i64) -> Result<Epoch, StoreError> {
    let known = u64::try_from(number).ok().and_then(Epoch::new);
    known.ok_or_else(|| {
        let row = "its tenant".to_owned();
        RowError { table: "lock_epoch", column: "epoch", row, why: number.to_string() }.into()
    })
}
