//! The epoch of a tenant's queue: one row that only rises. Whoever registers holds it shared, so a
//! bump waits for them or they see it.

use ade_core::lock::Epoch;
use sqlx::{query, query_scalar};

use crate::error::{Error, RowError};
use crate::tx::Tx;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Current {
    pub epoch: Epoch,
    /// It was this call that began it: nobody has ever held anything in this space.
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
    let is_new = tx.write_beside(first).await? > 0;
    let query =
        query_scalar!("SELECT epoch FROM lock_epoch WHERE tenant_id = $1", tx.tenant().uuid());
    let epoch = epoch(tx.fetch_value(query).await?)?;
    Ok(Current { epoch, is_new })
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
    let moved = tx.write(query).await?;
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

fn epoch(number: i64) -> Result<Epoch, Error> {
    let known = u64::try_from(number).ok().and_then(Epoch::new);
    known.ok_or_else(|| {
        let row = "its tenant".to_owned();
        RowError { table: "lock_epoch", column: "epoch", row, why: number.to_string() }.into()
    })
}
