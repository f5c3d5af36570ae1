//! What a worker has to look at, and when: all it learns of a tenant before it opens that tenant's
//! transaction. A row is a hint with a time; what to do is decided from the object itself.

use ade_core::time::Timestamp;
use uuid::Uuid;

use crate::error::Error;
use crate::moment::Moment;
use crate::tx::Tx;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Due {
    /// The worker's word for it, for example `expire`.
    pub kind: &'static str,
    pub object: Uuid,
    pub at: Timestamp,
}

/// One row per kind and object: a later word replaces the earlier.
pub async fn set(tx: &mut Tx, dues: &[Due]) -> Result<(), Error> {
    let query = sqlx::query(
        "INSERT INTO due (tenant_id, kind, object, at)
         SELECT $1, kind, object, at
           FROM unnest($2::text[], $3::uuid[], $4::timestamptz[]) AS due (kind, object, at)
         ON CONFLICT ON CONSTRAINT due_pkey DO UPDATE SET at = excluded.at",
    )
    .bind(tx.tenant().uuid())
    .bind(dues.iter().map(|due| due.kind).collect::<Vec<_>>())
    .bind(dues.iter().map(|due| due.object).collect::<Vec<_>>())
    .bind(dues.iter().map(|due| Moment(due.at)).collect::<Vec<_>>());
    tx.write(query).await?;
    Ok(())
}

pub async fn clear(tx: &mut Tx, kind: &'static str, objects: &[Uuid]) -> Result<u64, Error> {
    let query =
        sqlx::query("DELETE FROM due WHERE tenant_id = $1 AND kind = $2 AND object = ANY ($3)")
            .bind(tx.tenant().uuid())
            .bind(kind)
            .bind(objects);
    tx.write(query).await
}
