//! Standing delegations and their ends. Active ones are part of the rulebook.

use ade_core::approval::delegation::{Delegation, DelegationKind};
use ade_core::ids::{DelegationId, UserId};
use serde_json::Value;
use sqlx::{query, query_as};
use uuid::Uuid;

use crate::error::{RowError, StoreError};
use crate::timestamp::PgTimestamp;
use crate::tx::Tx;

struct DelegationRow {
    id: Uuid,
    owner_id: Uuid,
    delegate_to: Uuid,
    kind: String,
    conditions: Value,
    cascades: bool,
    starts_at: PgTimestamp,
    expires_at: PgTimestamp,
    active: bool,
}

impl TryFrom<DelegationRow> for Delegation {
    type Error = RowError;

    fn try_from(row: DelegationRow) -> Result<Self, RowError> {
        let id = DelegationId::from_uuid(row.id);
        let wrong =
            |column, why| RowError { table: "delegation", column, row: id.to_string(), why };
        let kind = match row.kind.as_str() {
            "transfer" => DelegationKind::Transfer,
            "follow" => DelegationKind::Follow,
            _ => return Err(wrong("kind", row.kind)),
        };
        Ok(Self {
            id,
            owner: UserId::from_uuid(row.owner_id),
            delegate_to: UserId::from_uuid(row.delegate_to),
            kind,
            conditions: serde_json::from_value(row.conditions)
                .map_err(|error| wrong("conditions", error.to_string()))?,
            cascade: row.cascades,
            starts_at: row.starts_at.0,
            expires_at: row.expires_at.0,
            active: row.active,
        })
    }
}

pub async fn insert(tx: &mut Tx, delegation: &Delegation) -> Result<(), StoreError> {
    let conditions = serde_json::to_value(&delegation.conditions).map_err(|error| {
        StoreError::Unstorable { value: delegation.id.to_string(), why: error.to_string() }
    })?;
    let kind = match delegation.kind {
        DelegationKind::Transfer => "transfer",
        DelegationKind::Follow => "follow",
    };
    let query = query!(
        "INSERT INTO delegation (tenant_id, id, owner_id, delegate_to, kind, conditions, cascades,
             starts_at, expires_at, active)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
        tx.tenant().uuid(),
        delegation.id.uuid(),
        delegation.owner.uuid(),
        delegation.delegate_to.uuid(),
        kind,
        conditions,
        delegation.cascade,
        PgTimestamp(delegation.starts_at) as _,
        PgTimestamp(delegation.expires_at) as _,
        delegation.active,
    );
    tx.write(query).await?;
    Ok(())
}

pub async fn get(tx: &mut Tx, id: DelegationId) -> Result<Option<Delegation>, StoreError> {
    let query = query_as!(
        DelegationRow,
        r#"SELECT id, owner_id, delegate_to, kind, conditions, cascades,
                  starts_at AS "starts_at: PgTimestamp", expires_at AS "expires_at: PgTimestamp",
                  active
             FROM delegation WHERE tenant_id = $1 AND id = $2"#,
        tx.tenant().uuid(),
        id.uuid(),
    );
    Ok(tx.fetch(query).await?.pop().map(Delegation::try_from).transpose()?)
}

/// Returns the delegations of one person that have not ended, newest first, after the last one of
/// the previous page.
pub async fn of_owner(
    tx: &mut Tx,
    owner: UserId,
    after: Option<DelegationId>,
    limit: u32,
) -> Result<Vec<Delegation>, StoreError> {
    let last = after.map_or(u128::MAX, |after| after.uuid().as_u128().saturating_sub(1));
    let query = query_as!(
        DelegationRow,
        r#"SELECT id, owner_id, delegate_to, kind, conditions, cascades,
                  starts_at AS "starts_at: PgTimestamp", expires_at AS "expires_at: PgTimestamp",
                  active
             FROM delegation
            WHERE tenant_id = $1 AND owner_id = $2 AND id <= $3 AND active AND expires_at > $4
            ORDER BY id DESC LIMIT $5"#,
        tx.tenant().uuid(),
        owner.uuid(),
        Uuid::from_u128(last),
        PgTimestamp(tx.now()) as _,
        i64::from(limit),
    );
    let rows = tx.fetch(query).await?;
    Ok(rows.into_iter().map(Delegation::try_from).collect::<Result<Vec<_>, RowError>>()?)
}

/// Ends a delegation. `Conflict` if it has already ended.
pub async fn end(tx: &mut Tx, id: DelegationId) -> Result<(), StoreError> {
    let query = query!(
        "UPDATE delegation SET active = false WHERE tenant_id = $1 AND id = $2 AND active",
        tx.tenant().uuid(),
        id.uuid(),
    );
    tx.write_one(&id, query).await
}
