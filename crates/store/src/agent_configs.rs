//! Configurations of agents, version by version. A version never changes; the newest one is in
//! force, and its number is part of the rulebook.

use ade_core::ids::{AgentId, UserId};
use ade_core::time::Timestamp;
use serde_json::Value;
use sqlx::{query, query_as};
use uuid::Uuid;

use crate::agents::stored;
use crate::error::StoreError;
use crate::timestamp::PgTimestamp;
use crate::tx::Tx;

#[derive(Debug, Clone, PartialEq)]
pub struct Version {
    pub version: u32,
    pub config: Value,
    pub set_by: UserId,
    pub reason: Option<String>,
    pub set_at: Timestamp,
}

/// A version without its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigVersion {
    pub version: u32,
    pub set_by: UserId,
    pub reason: Option<String>,
    pub set_at: Timestamp,
}

struct VersionRow {
    version: i32,
    config: Value,
    set_by: Uuid,
    reason: Option<String>,
    set_at: PgTimestamp,
}

/// Inserts the next version. `Conflict` if the agent is not at the previous version, or is revoked.
pub async fn insert(
    tx: &mut Tx,
    agent: AgentId,
    version: u32,
    config: &Value,
    by: UserId,
    reason: Option<&str>,
) -> Result<(), StoreError> {
    let query = query!(
        "INSERT INTO agent_config_version (tenant_id, agent_id, version, config, set_by, reason,
                                           set_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7)",
        tx.tenant().uuid(),
        agent.uuid(),
        stored("version", version)?,
        config,
        by.uuid(),
        reason,
        PgTimestamp(tx.now()) as _,
    );
    tx.write(query).await?;
    let query = query!(
        "UPDATE agent SET config_version = $3
          WHERE tenant_id = $1 AND id = $2 AND config_version = $3 - 1 AND revoked_at IS NULL",
        tx.tenant().uuid(),
        agent.uuid(),
        stored("version", version)?,
    );
    tx.write_one(&agent, query).await
}

pub async fn get(tx: &mut Tx, agent: AgentId, version: u32) -> Result<Option<Version>, StoreError> {
    // A number beyond the range of the column cannot exist.
    let Ok(version) = i32::try_from(version) else { return Ok(None) };
    let query = query_as!(
        VersionRow,
        r#"SELECT version, config, set_by, reason, set_at AS "set_at: PgTimestamp"
             FROM agent_config_version
            WHERE tenant_id = $1 AND agent_id = $2 AND version = $3"#,
        tx.tenant().uuid(),
        agent.uuid(),
        version,
    );
    let row = tx.fetch(query).await?.pop();
    Ok(row.map(|row| Version {
        version: row.version.unsigned_abs(),
        config: row.config,
        set_by: UserId::from_uuid(row.set_by),
        reason: row.reason,
        set_at: row.set_at.0,
    }))
}

/// Returns the versions, newest first.
pub async fn list(
    tx: &mut Tx,
    agent: AgentId,
    limit: i64,
) -> Result<Vec<ConfigVersion>, StoreError> {
    let query = query!(
        r#"SELECT version, set_by, reason, set_at AS "set_at: PgTimestamp"
             FROM agent_config_version WHERE tenant_id = $1 AND agent_id = $2
            ORDER BY version DESC LIMIT $3"#,
        tx.tenant().uuid(),
        agent.uuid(),
        limit,
    );
    let rows = tx.fetch(query).await?.into_iter().map(|row| ConfigVersion {
        version: row.version.unsigned_abs(),
        set_by: UserId::from_uuid(row.set_by),
        reason: row.reason,
        set_at: row.set_at.0,
    });
    Ok(rows.collect())
}
