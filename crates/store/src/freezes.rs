//! Freezes of applies, set and lifted. Those in force are part of the rulebook, so that a permit
//! sees a freeze as soon as it is committed.

use ade_core::freeze::{Freeze, FreezeExtent};
use ade_core::ids::{FreezeId, UserId};
use ade_core::time::Timestamp;
use sqlx::{query, query_as};
use uuid::Uuid;

use crate::error::StoreError;
use crate::timestamp::PgTimestamp;
use crate::tx::Tx;

/// A stored freeze, lifted or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FreezeRecord {
    pub id: FreezeId,
    pub scope: String,
    /// The environment or the pattern; `None` for the whole tenant.
    pub target: Option<String>,
    pub reason: String,
    pub set_by: UserId,
    pub set_at: Timestamp,
    pub ends_at: Option<Timestamp>,
    pub lifted_by: Option<UserId>,
    pub lifted_at: Option<Timestamp>,
}

struct FreezeRow {
    id: Uuid,
    scope: String,
    target: Option<String>,
    reason: String,
    set_by: Uuid,
    set_at: PgTimestamp,
    ends_at: Option<PgTimestamp>,
    lifted_by: Option<Uuid>,
    lifted_at: Option<PgTimestamp>,
}

impl From<FreezeRow> for FreezeRecord {
    fn from(row: FreezeRow) -> Self {
        Self {
            id: FreezeId::from_uuid(row.id),
            scope: row.scope,
            target: row.target,
            reason: row.reason,
            set_by: UserId::from_uuid(row.set_by),
            set_at: row.set_at.0,
            ends_at: row.ends_at.map(|at| at.0),
            lifted_by: row.lifted_by.map(UserId::from_uuid),
            lifted_at: row.lifted_at.map(|at| at.0),
        }
    }
}

pub async fn insert(tx: &mut Tx, freeze: &Freeze) -> Result<(), StoreError> {
    let (scope, target) = match &freeze.scope {
        FreezeExtent::Tenant => ("tenant", None),
        FreezeExtent::Environment(name) => ("environment", Some(name.clone())),
        FreezeExtent::Resources(pattern) => ("resources", Some(pattern.as_str().to_owned())),
    };
    let query = query!(
        r#"INSERT INTO "freeze" (tenant_id, id, scope, target, reason, set_by, set_at, ends_at)
           VALUES ($1, $2, $3, $4, $5, $6, $7, $8)"#,
        tx.tenant().uuid(),
        freeze.id.uuid(),
        scope,
        target,
        freeze.reason,
        freeze.set_by.uuid(),
        PgTimestamp(tx.now()) as _,
        freeze.ends_at.map(PgTimestamp) as _,
    );
    tx.write(query).await?;
    Ok(())
}

/// Lifts a freeze. `Conflict` if it was lifted before, or never set.
pub async fn lift(tx: &mut Tx, id: FreezeId, by: UserId) -> Result<(), StoreError> {
    let query = query!(
        r#"UPDATE "freeze" SET lifted_by = $3, lifted_at = $4
            WHERE tenant_id = $1 AND id = $2 AND lifted_at IS NULL"#,
        tx.tenant().uuid(),
        id.uuid(),
        by.uuid(),
        PgTimestamp(tx.now()) as _,
    );
    tx.write_one(&id, query).await
}

pub async fn get(tx: &mut Tx, id: FreezeId) -> Result<Option<FreezeRecord>, StoreError> {
    Ok(within(tx, id.uuid(), id.uuid(), 1).await?.pop())
}

/// Returns freezes, newest first, including lifted ones.
pub async fn list(
    tx: &mut Tx,
    after: Option<FreezeId>,
    limit: u32,
) -> Result<Vec<FreezeRecord>, StoreError> {
    let last = after.map_or(u128::MAX, |after| after.uuid().as_u128().saturating_sub(1));
    within(tx, Uuid::nil(), Uuid::from_u128(last), limit).await
}

async fn within(
    tx: &mut Tx,
    first: Uuid,
    last: Uuid,
    limit: u32,
) -> Result<Vec<FreezeRecord>, StoreError> {
    let query = query_as!(
        FreezeRow,
        r#"SELECT id, scope, target, reason, set_by, set_at AS "set_at: PgTimestamp",
                  ends_at AS "ends_at: PgTimestamp", lifted_by,
                  lifted_at AS "lifted_at: PgTimestamp"
             FROM "freeze"
            WHERE tenant_id = $1 AND id BETWEEN $2 AND $3 ORDER BY id DESC LIMIT $4"#,
        tx.tenant().uuid(),
        first,
        last,
        i64::from(limit),
    );
    Ok(tx.fetch(query).await?.into_iter().map(FreezeRecord::from).collect())
}
