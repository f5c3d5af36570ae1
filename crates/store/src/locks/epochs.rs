//! The epoch of a tenant's queue: one row that only rises. Whoever registers holds it shared, so a
//! bump waits for them or they see it.

use ade_core::lock::Epoch;
use sqlx::query;

use crate::error::{Error, RowError};
use crate::tx::Tx;

const CURRENT: &str = "SELECT epoch, used_at IS NULL FROM lock_epoch WHERE tenant_id = $1";
const NOTE_USE: &str = "
    UPDATE lock_epoch SET used_at = clock_timestamp() WHERE tenant_id = $1 AND used_at IS NULL";
const REPLID: &str = "SELECT replid FROM lock_epoch WHERE tenant_id = $1";
const NOTE_REPLID: &str = "UPDATE lock_epoch SET replid = $2 WHERE tenant_id = $1";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Current {
    pub epoch: Epoch,
    /// Nobody was ever told of a grant in this space.
    pub is_new: bool,
}

/// Begins the first if there was none.
pub async fn current(tx: &mut Tx) -> Result<Current, Error> {
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

/// Before anybody is told of the first grant: an empty queue has lost something from then on.
pub async fn note_use(tx: &mut Tx) -> Result<(), Error> {
    tx.write_beside(query(NOTE_USE).bind(tx.tenant().uuid())).await?;
    Ok(())
}

/// Ends the epoch `from`; `None` if it has ended already. Of several who saw it end, one wins.
pub async fn bump(tx: &mut Tx, from: Epoch, reason: &str) -> Result<Option<Epoch>, Error> {
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

/// Goes on after an epoch that Redis knows and PostgreSQL does not: it has lost the last ones.
pub async fn pass(tx: &mut Tx, seen: Epoch, reason: &str) -> Result<(), Error> {
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

/// The life of the Redis master under which the epoch was begun, if anybody has noted it.
pub async fn replid(tx: &mut Tx) -> Result<Option<String>, Error> {
    let rows: Vec<(Option<String>,)> =
        tx.read(sqlx::query_as(REPLID).bind(tx.tenant().uuid())).await?;
    Ok(rows.into_iter().find_map(|(replid,)| replid))
}

/// A word for the next look, no part of the record.
pub async fn note_replid(tx: &mut Tx, replid: &str) -> Result<(), Error> {
    tx.write_beside(query(NOTE_REPLID).bind(tx.tenant().uuid()).bind(replid)).await?;
    Ok(())
}

fn epoch(number: i64) -> Result<Epoch, Error> {
    let known = u64::try_from(number).ok().and_then(Epoch::new);
    known.ok_or_else(|| {
        let row = "its tenant".to_owned();
        RowError { table: "lock_epoch", column: "epoch", row, why: number.to_string() }.into()
    })
}
