//! Inbound sources of drafts: who may send, on whose behalf drafts are proposed, and by which
//! template. Secrets are not stored; they are derived from a salt that reveals nothing on its own.

use ade_core::ids::{AgentId, InboundId, UserId};
use ade_core::inbound::Template;
use ade_core::time::Timestamp;
use serde_json::Value;
use sqlx::types::Json;
use sqlx::{query, query_as, query_scalar};
use uuid::Uuid;

use crate::error::{RowError, StoreError};
use crate::signed_endpoint::{Salt, Salts};
use crate::timestamp::PgTimestamp;
use crate::tx::Tx;

/// The fields of a source that an admin sets.
#[derive(Debug, Clone, PartialEq)]
pub struct SourceProfile {
    pub label: String,
    pub agent: AgentId,
    pub template: Template,
    pub is_active: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Source {
    pub id: InboundId,
    pub profile: SourceProfile,
    pub salt: Salt,
    /// The previous salt, which is valid too until this time.
    pub old_salt: Option<(Salt, Timestamp)>,
    pub version: u64,
    pub created_by: UserId,
    pub created_at: Timestamp,
    pub changed_at: Timestamp,
}

struct SourceRow {
    id: Uuid,
    label: String,
    agent_id: Uuid,
    template: Json<Value>,
    salt: Vec<u8>,
    old_salt: Option<Vec<u8>>,
    old_until: Option<PgTimestamp>,
    active: bool,
    version: i64,
    created_by: Uuid,
    created_at: PgTimestamp,
    changed_at: PgTimestamp,
}

impl TryFrom<SourceRow> for Source {
    type Error = RowError;

    fn try_from(row: SourceRow) -> Result<Self, RowError> {
        let id = InboundId::from_uuid(row.id);
        let wrong = |column, why: String| RowError {
            table: "inbound_source",
            column,
            row: id.to_string(),
            why,
        };
        let template =
            Template::new(row.template.0).map_err(|error| wrong("template", error.to_string()))?;
        let Salts { salt, old_salt } = Salts::read(row.salt, (row.old_salt, row.old_until), wrong)?;
        let agent = AgentId::from_uuid(row.agent_id);
        Ok(Self {
            id,
            profile: SourceProfile { label: row.label, agent, template, is_active: row.active },
            salt,
            old_salt,
            version: row.version.unsigned_abs(),
            created_by: UserId::from_uuid(row.created_by),
            created_at: row.created_at.0,
            changed_at: row.changed_at.0,
        })
    }
}

pub async fn insert(
    tx: &mut Tx,
    id: InboundId,
    profile: &SourceProfile,
    salt: &Salt,
    by: UserId,
) -> Result<(), StoreError> {
    let query = query!(
        "INSERT INTO inbound_source (tenant_id, id, label, agent_id, template, salt, active,
                                     version, created_by, created_at, changed_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, 1, $8, $9, $9)",
        tx.tenant().uuid(),
        id.uuid(),
        profile.label,
        profile.agent.uuid(),
        profile.template.document(),
        salt.as_slice(),
        profile.is_active,
        by.uuid(),
        PgTimestamp(tx.now()) as _,
    );
    tx.write(query).await?;
    Ok(())
}

/// Updates a source. `Conflict` if it is not at this version.
pub async fn update(
    tx: &mut Tx,
    id: InboundId,
    version: u64,
    profile: &SourceProfile,
) -> Result<(), StoreError> {
    let query = query!(
        "UPDATE inbound_source
            SET label = $4, agent_id = $5, template = $6, active = $7, changed_at = $8,
                version = version + 1
          WHERE tenant_id = $1 AND id = $2 AND version = $3 AND deleted_at IS NULL",
        tx.tenant().uuid(),
        id.uuid(),
        i64::try_from(version).unwrap_or(i64::MAX),
        profile.label,
        profile.agent.uuid(),
        profile.template.document(),
        profile.is_active,
        PgTimestamp(tx.now()) as _,
    );
    tx.write_one(&id, query).await
}

/// Replaces the salt. The current secret stays valid next to the new one until the given time.
pub async fn rotate(
    tx: &mut Tx,
    source: &Source,
    salt: &Salt,
    overlap_until: Timestamp,
) -> Result<(), StoreError> {
    let keeps_old = overlap_until > tx.now();
    let query = query!(
        "UPDATE inbound_source
            SET old_salt = CASE WHEN $5 THEN salt END,
                old_until = CASE WHEN $5 THEN $6::timestamptz END,
                salt = $4, changed_at = $7, version = version + 1
          WHERE tenant_id = $1 AND id = $2 AND version = $3 AND deleted_at IS NULL",
        tx.tenant().uuid(),
        source.id.uuid(),
        i64::try_from(source.version).unwrap_or(i64::MAX),
        salt.as_slice(),
        keeps_old,
        PgTimestamp(overlap_until) as _,
        PgTimestamp(tx.now()) as _,
    );
    tx.write_one(&source.id, query).await
}

pub async fn delete(tx: &mut Tx, id: InboundId) -> Result<(), StoreError> {
    let query = query!(
        "UPDATE inbound_source SET deleted_at = $3, version = version + 1
          WHERE tenant_id = $1 AND id = $2 AND deleted_at IS NULL",
        tx.tenant().uuid(),
        id.uuid(),
        PgTimestamp(tx.now()) as _,
    );
    tx.write_one(&id, query).await
}

pub async fn get(tx: &mut Tx, id: InboundId) -> Result<Option<Source>, StoreError> {
    Ok(within(tx, id.uuid(), id.uuid(), 1).await?.pop())
}

/// Returns sources, newest first.
pub async fn list(
    tx: &mut Tx,
    after: Option<InboundId>,
    limit: u32,
) -> Result<Vec<Source>, StoreError> {
    let last = after.map_or(u128::MAX, |after| after.uuid().as_u128().saturating_sub(1));
    within(tx, Uuid::nil(), Uuid::from_u128(last), limit).await
}

async fn within(
    tx: &mut Tx,
    first: Uuid,
    last: Uuid,
    limit: u32,
) -> Result<Vec<Source>, StoreError> {
    let query = query_as!(
        SourceRow,
        r#"SELECT id, label, agent_id, template AS "template: Json<Value>", salt, old_salt,
                  old_until AS "old_until: PgTimestamp", active, version, created_by,
                  created_at AS "created_at: PgTimestamp", changed_at AS "changed_at: PgTimestamp"
             FROM inbound_source
            WHERE tenant_id = $1 AND id BETWEEN $2 AND $3 AND deleted_at IS NULL
            ORDER BY id DESC LIMIT $4"#,
        tx.tenant().uuid(),
        first,
        last,
        i64::from(limit),
    );
    let rows = tx.fetch(query).await?.into_iter();
    Ok(rows.map(Source::try_from).collect::<Result<Vec<_>, _>>()?)
}

/// Counts a message in the current minute and returns the number so far.
pub async fn count_message(tx: &mut Tx, id: InboundId) -> Result<u32, StoreError> {
    let query = query_scalar!(
        "INSERT INTO inbound_minute AS m (tenant_id, source_id, minute, count)
         VALUES ($1, $2, date_trunc('minute', $3::timestamptz), 1)
         ON CONFLICT ON CONSTRAINT inbound_minute_pkey DO UPDATE
            SET count = CASE WHEN m.minute = excluded.minute THEN m.count + 1 ELSE 1 END,
                minute = excluded.minute
         RETURNING count",
        tx.tenant().uuid(),
        id.uuid(),
        PgTimestamp(tx.now()) as _,
    );
    Ok(tx.fetch_value(query).await?.unsigned_abs())
}
