//! On-call duties for roles. A function of the database resolves which people a role reaches at a
//! given time, because the statement that changes a task needs it.

use ade_core::ids::{DutyId, UserId};
use ade_core::limits::DUTIES_MAX;
use ade_core::time::Timestamp;
use sqlx::query;

use crate::error::StoreError;
use crate::timestamp::PgTimestamp;
use crate::tx::Tx;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Duty {
    pub id: DutyId,
    pub role: String,
    pub user: UserId,
    pub starts_at: Timestamp,
    pub ends_at: Timestamp,
}

pub async fn insert(tx: &mut Tx, duty: &Duty, by: UserId) -> Result<(), StoreError> {
    let query = query!(
        "INSERT INTO on_call (tenant_id, id, role, user_id, starts_at, ends_at, set_by, set_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
        tx.tenant().uuid(),
        duty.id.uuid(),
        duty.role,
        duty.user.uuid(),
        PgTimestamp(duty.starts_at) as _,
        PgTimestamp(duty.ends_at) as _,
        by.uuid(),
        PgTimestamp(tx.now()) as _,
    );
    tx.write(query).await?;
    Ok(())
}

pub async fn delete(tx: &mut Tx, id: DutyId) -> Result<(), StoreError> {
    let query = query!(
        "DELETE FROM on_call WHERE tenant_id = $1 AND id = $2",
        tx.tenant().uuid(),
        id.uuid(),
    );
    tx.write_one(&id, query).await
}

pub async fn get(tx: &mut Tx, id: DutyId) -> Result<Option<Duty>, StoreError> {
    let found = list(tx).await?;
    Ok(found.into_iter().find(|duty| duty.id == id))
}

/// Returns the duties that have not ended, in the order in which they start.
pub async fn list(tx: &mut Tx) -> Result<Vec<Duty>, StoreError> {
    let query = query!(
        r#"SELECT id, role, user_id, starts_at AS "starts_at: PgTimestamp",
                  ends_at AS "ends_at: PgTimestamp"
             FROM on_call WHERE tenant_id = $1 AND ends_at > $2
            ORDER BY starts_at, id LIMIT $3"#,
        tx.tenant().uuid(),
        PgTimestamp(tx.now()) as _,
        i64::try_from(DUTIES_MAX).unwrap_or(i64::MAX),
    );
    let rows = tx.fetch(query).await?.into_iter();
    Ok(rows
        .map(|row| Duty {
            id: DutyId::from_uuid(row.id),
            role: row.role,
            user: UserId::from_uuid(row.user_id),
            starts_at: row.starts_at.0,
            ends_at: row.ends_at.0,
        })
        .collect())
}

/// Returns the people whom a role reaches now.
pub async fn reached(tx: &mut Tx, role: &str) -> Result<Vec<UserId>, StoreError> {
    let query = query!(
        r#"SELECT user_id AS "user_id!" FROM reached_by_role($1, $2) AS found (user_id)
            ORDER BY 1"#,
        role,
        PgTimestamp(tx.now()) as _,
    );
    let rows = tx.fetch(query).await?.into_iter();
    Ok(rows.map(|row| UserId::from_uuid(row.user_id)).collect())
}
