//! Agents and their owners. Revoking is permanent. The status follows from the order and from the
//! last heartbeat, by PostgreSQL's clock; the announced status is stored separately, is not a rule,
//! and does not change the rulebook version.

use std::time::Duration;

use ade_core::agent::{AgentStatus, OrderKind};
use ade_core::ids::{AgentId, UserId};
use ade_core::time::Timestamp;
use serde_json::{Value, json};
use sqlx::{query, query_as};
use uuid::Uuid;

use crate::error::{RowError, StoreError};
use crate::timestamp::PgTimestamp;
use crate::tx::Tx;

#[derive(Debug, Clone, PartialEq)]
pub struct Agent {
    pub id: AgentId,
    pub owner: UserId,
    pub profile: AgentProfile,
    pub order: Option<OrderKind>,
    pub status: AgentStatus,
    /// The last heartbeat of any of its processes.
    pub seen_at: Option<Timestamp>,
    /// The load that this heartbeat reported.
    pub load: Option<u32>,
    /// The version of its configuration; 0 without a configuration.
    pub config_version: u32,
    pub registered_at: Timestamp,
    pub revoked_at: Option<Timestamp>,
}

/// The fields of an agent that can be changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentProfile {
    pub name: String,
    pub capabilities: Vec<String>,
    /// The number of tasks it applies at once.
    pub max_tasks: u32,
}

struct AgentRow {
    id: Uuid,
    name: String,
    owner_id: Uuid,
    standing_order: Option<String>,
    capabilities: Value,
    max_tasks: i32,
    config_version: i32,
    seen_at: Option<PgTimestamp>,
    silence: Option<f64>,
    load: Option<i32>,
    registered_at: PgTimestamp,
    revoked_at: Option<PgTimestamp>,
}

impl TryFrom<AgentRow> for Agent {
    type Error = RowError;

    fn try_from(row: AgentRow) -> Result<Self, RowError> {
        let id = AgentId::from_uuid(row.id);
        let capabilities = serde_json::from_value(row.capabilities)
            .map_err(|error| wrong(id, "capabilities", error.to_string()))?;
        let order = order_of(id, row.standing_order.as_deref())?;
        // Silence does not matter for a revoked agent.
        let silence = silence_of(row.silence).filter(|_| row.revoked_at.is_none());
        Ok(Self {
            id,
            owner: UserId::from_uuid(row.owner_id),
            profile: AgentProfile {
                name: row.name,
                capabilities,
                max_tasks: row.max_tasks.unsigned_abs(),
            },
            order,
            status: AgentStatus::of(order, silence),
            seen_at: row.seen_at.map(|at| at.0),
            load: row.load.map(i32::unsigned_abs),
            config_version: row.config_version.unsigned_abs(),
            registered_at: row.registered_at.0,
            revoked_at: row.revoked_at.map(|at| at.0),
        })
    }
}

fn wrong(id: AgentId, column: &'static str, why: String) -> RowError {
    RowError { table: "agent", column, row: id.to_string(), why }
}

pub(crate) fn order_of(id: AgentId, word: Option<&str>) -> Result<Option<OrderKind>, RowError> {
    let Some(word) = word else { return Ok(None) };
    let order = OrderKind::ALL.into_iter().find(|order| order.as_str() == word);
    order.map(Some).ok_or_else(|| wrong(id, "standing_order", word.to_owned()))
}

/// Converts seconds since a heartbeat. A clock that was set back counts as no silence.
pub(crate) fn silence_of(seconds: Option<f64>) -> Option<Duration> {
    seconds.map(|seconds| Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(Duration::MAX))
}

pub async fn insert(
    tx: &mut Tx,
    id: AgentId,
    owner: UserId,
    profile: &AgentProfile,
) -> Result<(), StoreError> {
    let query = query!(
        "INSERT INTO agent (tenant_id, id, owner_id, name, capabilities, registered_at, max_tasks)
         VALUES ($1, $2, $3, $4, $5, $6, $7)",
        tx.tenant().uuid(),
        id.uuid(),
        owner.uuid(),
        profile.name,
        json!(profile.capabilities),
        PgTimestamp(tx.now()) as _,
        stored("max_tasks", profile.max_tasks)?,
    );
    tx.write(query).await?;
    Ok(())
}

pub(crate) fn stored(what: &str, number: u32) -> Result<i32, StoreError> {
    i32::try_from(number).map_err(|error| StoreError::Unstorable {
        value: format!("{what} {number}"),
        why: error.to_string(),
    })
}

pub async fn get(tx: &mut Tx, id: AgentId) -> Result<Option<Agent>, StoreError> {
    Ok(within(tx, id.uuid(), id.uuid(), 1).await?.pop())
}

/// Returns agents in the order of their ids, after the last one of the previous page.
pub async fn list(
    tx: &mut Tx,
    after: Option<AgentId>,
    limit: u32,
) -> Result<Vec<Agent>, StoreError> {
    let first = after.map_or(0, |after| after.uuid().as_u128().saturating_add(1));
    within(tx, Uuid::from_u128(first), Uuid::max(), limit).await
}

async fn within(
    tx: &mut Tx,
    first: Uuid,
    last: Uuid,
    limit: u32,
) -> Result<Vec<Agent>, StoreError> {
    let query = query_as!(
        AgentRow,
        r#"SELECT a.id, a.name, a.owner_id, a.standing_order, a.capabilities, a.max_tasks,
                  a.config_version, s.seen_at AS "seen_at?: PgTimestamp",
                  extract(epoch FROM clock_timestamp() - s.seen_at)::float8 AS "silence?",
                  s.load AS "load?", a.registered_at AS "registered_at: PgTimestamp",
                  a.revoked_at AS "revoked_at: PgTimestamp"
             FROM agent a
             LEFT JOIN LATERAL (SELECT seen_at, load FROM agent_session
                                 WHERE tenant_id = a.tenant_id AND agent_id = a.id
                                   AND seen_at IS NOT NULL
                                 ORDER BY seen_at DESC LIMIT 1) s ON true
            WHERE a.tenant_id = $1 AND a.id BETWEEN $2 AND $3
            ORDER BY a.id LIMIT $4"#,
        tx.tenant().uuid(),
        first,
        last,
        i64::from(limit),
    );
    let rows = tx.fetch(query).await?;
    Ok(rows.into_iter().map(Agent::try_from).collect::<Result<Vec<Agent>, RowError>>()?)
}

/// Updates an agent. `Conflict` if it does not exist or is revoked.
pub async fn update(tx: &mut Tx, id: AgentId, profile: &AgentProfile) -> Result<(), StoreError> {
    let query = query!(
        "UPDATE agent SET name = $3, capabilities = $4, max_tasks = $5
          WHERE tenant_id = $1 AND id = $2 AND revoked_at IS NULL",
        tx.tenant().uuid(),
        id.uuid(),
        profile.name,
        json!(profile.capabilities),
        stored("max_tasks", profile.max_tasks)?,
    );
    tx.write_one(&id, query).await
}

/// Replaces the current order; `None` withdraws it. `Conflict` if there is no such agent, or it is
/// revoked.
pub async fn set_order(
    tx: &mut Tx,
    id: AgentId,
    order: Option<OrderKind>,
) -> Result<(), StoreError> {
    let query = query!(
        "UPDATE agent SET standing_order = $3
          WHERE tenant_id = $1 AND id = $2 AND revoked_at IS NULL",
        tx.tenant().uuid(),
        id.uuid(),
        order.map(OrderKind::as_str),
    );
    tx.write_one(&id, query).await
}

/// Revokes an agent and returns whether this call did it. From then on its tokens are invalid, and
/// its order is cleared.
pub async fn revoke(tx: &mut Tx, id: AgentId) -> Result<bool, StoreError> {
    let query = query!(
        "UPDATE agent SET revoked_at = $3, standing_order = NULL
          WHERE tenant_id = $1 AND id = $2 AND revoked_at IS NULL",
        tx.tenant().uuid(),
        id.uuid(),
        PgTimestamp(tx.now()) as _,
    );
    Ok(tx.write_if_left(query).await? > 0)
}

/// The actual status of an agent, and the announced one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Presence {
    pub id: AgentId,
    pub status: AgentStatus,
    pub reported_status: AgentStatus,
    /// The time since its last heartbeat.
    pub silence: Option<Duration>,
}

/// Returns the presence of the existing agents among these, in the order of their ids.
pub async fn presence(tx: &mut Tx, ids: &[AgentId]) -> Result<Vec<Presence>, StoreError> {
    let ids: Vec<Uuid> = ids.iter().map(|id| id.uuid()).collect();
    let query = query!(
        r#"SELECT a.id, a.status, a.standing_order,
                  extract(epoch FROM clock_timestamp() - s.seen_at)::float8 AS "silence?"
             FROM unnest($2::uuid[]) AS wanted (id)
            CROSS JOIN LATERAL (SELECT * FROM agent
                                 WHERE tenant_id = $1 AND id = wanted.id LIMIT 1) AS a
             LEFT JOIN LATERAL (SELECT seen_at FROM agent_session
                                 WHERE tenant_id = a.tenant_id AND agent_id = a.id
                                   AND seen_at IS NOT NULL AND a.revoked_at IS NULL
                                 ORDER BY seen_at DESC LIMIT 1) s ON true
            ORDER BY a.id"#,
        tx.tenant().uuid(),
        &ids,
    );
    let rows = tx.fetch(query).await?.into_iter().map(|row| {
        let id = AgentId::from_uuid(row.id);
        let announced = AgentStatus::ALL.into_iter().find(|status| status.as_str() == row.status);
        let silence = silence_of(row.silence);
        let order = order_of(id, row.standing_order.as_deref())?;
        let reported_status = announced.ok_or_else(|| wrong(id, "status", row.status))?;
        Ok(Presence { id, status: AgentStatus::of(order, silence), reported_status, silence })
    });
    Ok(rows.collect::<Result<Vec<Presence>, RowError>>()?)
}

/// Announces the status. Returns whether it is new: of two processes that notice, one announces it.
pub async fn tell(tx: &mut Tx, id: AgentId, status: AgentStatus) -> Result<bool, StoreError> {
    let query = query!(
        "UPDATE agent SET status = $3 WHERE tenant_id = $1 AND id = $2 AND status <> $3",
        tx.tenant().uuid(),
        id.uuid(),
        status.as_str(),
    );
    Ok(tx.write_beside(query).await? > 0)
}
