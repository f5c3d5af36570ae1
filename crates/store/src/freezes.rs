//! Stops of applies, set and lifted. What is in force is part of the rulebook, so a permit sees a
//! freeze from the moment it is committed.

use ade_core::freeze::{Freeze, Scope};
use ade_core::ids::{FreezeId, UserId};
use ade_core::time::Timestamp;
use sqlx::{query, query_as};
use uuid::Uuid;

use crate::error::Error;
use crate::moment::Moment;
use crate::tx::Tx;

/// One as the record keeps it, lifted or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    pub id: FreezeId,
    pub scope: String,
    /// The environment or the pattern; nothing for the whole tenant.
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
    set_at: Moment,
    ends_at: Option<Moment>,
    lifted_by: Option<Uuid>,
    lifted_at: Option<Moment>,
}

impl From<FreezeRow> for Kept {
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

pub async fn insert(tx: &mut Tx, freeze: &Freeze) -> Result<(), Error> {
    let (scope, target) = match &freeze.scope {
        Scope::Tenant => ("tenant", None),
        Scope::Environment(name) => ("environment", Some(name.clone())),
        Scope::Resources(pattern) => ("resources", Some(pattern.as_str().to_owned())),
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
        Moment(tx.now()) as _,
        freeze.ends_at.map(Moment) as _,
    );
    tx.write(query).await?;
    Ok(())
}

/// `Conflict` if it was lifted before, or never set.
pub async fn lift(tx: &mut Tx, id: FreezeId, by: UserId) -> Result<(), Error> {
    let query = query!(
        r#"UPDATE "freeze" SET lifted_by = $3, lifted_at = $4
            WHERE tenant_id = $1 AND id = $2 AND lifted_at IS NULL"#,
        tx.tenant().uuid(),
        id.uuid(),
        by.uuid(),
        Moment(tx.now()) as _,
    );
    tx.write_one(&id, query).await
}

pub async fn get(tx: &mut Tx, id: FreezeId) -> Result<Option<Kept>, Error> {
    Ok(within(tx, id.uuid(), id.uuid(), 1).await?.pop())
}

/// Newest first, lifted ones too.
pub async fn list(tx: &mut Tx, after: Option<FreezeId>, limit: u32) -> Result<Vec<Kept>, Error> {
    let last = after.map_or(u128::MAX, |after| after.uuid().as_u128().saturating_sub(1));
    within(tx, Uuid::nil(), Uuid::from_u128(last), limit).await
}

async fn within(tx: &mut Tx, first: Uuid, last: Uuid, limit: u32) -> Result<Vec<Kept>, Error> {
    let query = query_as!(
        FreezeRow,
        r#"SELECT id, scope, target, reason, set_by, set_at AS "set_at: Moment",
                  ends_at AS "ends_at: Moment", lifted_by, lifted_at AS "lifted_at: Moment"
             FROM "freeze"
            WHERE tenant_id = $1 AND id BETWEEN $2 AND $3 ORDER BY id DESC LIMIT $4"#,
        tx.tenant().uuid(),
        first,
        last,
        i64::from(limit),
    );
    Ok(tx.fetch(query).await?.into_iter().map(Kept::from).collect())
}
