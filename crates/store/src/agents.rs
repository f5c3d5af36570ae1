//! Registered programs and the people who answer for them. Revoking is for good. How one stands
//! follows from the order it has and from its last heartbeat, by PostgreSQL's clock; what others
//! were told of that is kept beside, is no rule, and so leaves the rulebook as it is.

use std::time::Duration;

use ade_core::agent::{Order, Status};
use ade_core::ids::{AgentId, UserId};
use ade_core::time::Timestamp;
use serde_json::{Value, json};
use sqlx::{query, query_as};
use uuid::Uuid;

use crate::error::{Error, RowError};
use crate::moment::Moment;
use crate::tx::Tx;

#[derive(Debug, Clone, PartialEq)]
pub struct Agent {
    pub id: AgentId,
    pub owner: UserId,
    pub profile: Profile,
    pub order: Option<Order>,
    pub status: Status,
    /// Its last heartbeat, of any of its processes.
    pub seen_at: Option<Timestamp>,
    /// What that heartbeat said of the work at hand.
    pub load: Option<u32>,
    /// 0 while it has no configuration.
    pub config_version: u32,
    pub registered_at: Timestamp,
    pub revoked_at: Option<Timestamp>,
}

/// What may change of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    pub name: String,
    pub capabilities: Vec<String>,
    /// How many it applies at once.
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
    seen_at: Option<Moment>,
    silence: Option<f64>,
    load: Option<i32>,
    registered_at: Moment,
    revoked_at: Option<Moment>,
}

impl TryFrom<AgentRow> for Agent {
    type Error = RowError;

    fn try_from(row: AgentRow) -> Result<Self, RowError> {
        let id = AgentId::from_uuid(row.id);
        let capabilities = serde_json::from_value(row.capabilities)
            .map_err(|error| wrong(id, "capabilities", error.to_string()))?;
        let order = order_of(id, row.standing_order.as_deref())?;
        // Whoever was revoked is heard no more.
        let silence = silence_of(row.silence).filter(|_| row.revoked_at.is_none());
        Ok(Self {
            id,
            owner: UserId::from_uuid(row.owner_id),
            profile: Profile {
                name: row.name,
                capabilities,
                max_tasks: row.max_tasks.unsigned_abs(),
            },
            order,
            status: Status::of(order, silence),
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

pub(crate) fn order_of(id: AgentId, word: Option<&str>) -> Result<Option<Order>, RowError> {
    let Some(word) = word else { return Ok(None) };
    let order = Order::ALL.into_iter().find(|order| order.as_str() == word);
    order.map(Some).ok_or_else(|| wrong(id, "standing_order", word.to_owned()))
}

/// A clock that was set back makes no silence.
pub(crate) fn silence_of(seconds: Option<f64>) -> Option<Duration> {
    seconds.map(|seconds| Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(Duration::MAX))
}

pub async fn insert(
    tx: &mut Tx,
    id: AgentId,
    owner: UserId,
    profile: &Profile,
) -> Result<(), Error> {
    let query = query!(
        "INSERT INTO agent (tenant_id, id, owner_id, name, capabilities, registered_at, max_tasks)
         VALUES ($1, $2, $3, $4, $5, $6, $7)",
        tx.tenant().uuid(),
        id.uuid(),
        owner.uuid(),
        profile.name,
        json!(profile.capabilities),
        Moment(tx.now()) as _,
        stored("max_tasks", profile.max_tasks)?,
    );
    tx.write(query).await?;
    Ok(())
}

pub(crate) fn stored(what: &str, number: u32) -> Result<i32, Error> {
    i32::try_from(number).map_err(|error| Error::Unstorable {
        value: format!("{what} {number}"),
        why: error.to_string(),
    })
}

pub async fn get(tx: &mut Tx, id: AgentId) -> Result<Option<Agent>, Error> {
    Ok(within(tx, id.uuid(), id.uuid(), 1).await?.pop())
}

/// In the order of their ids, after the last one of the page before.
pub async fn list(tx: &mut Tx, after: Option<AgentId>, limit: u32) -> Result<Vec<Agent>, Error> {
    let first = after.map_or(0, |after| after.uuid().as_u128().saturating_add(1));
    within(tx, Uuid::from_u128(first), Uuid::max(), limit).await
}

async fn within(tx: &mut Tx, first: Uuid, last: Uuid, limit: u32) -> Result<Vec<Agent>, Error> {
    let query = query_as!(
        AgentRow,
        r#"SELECT a.id, a.name, a.owner_id, a.standing_order, a.capabilities, a.max_tasks,
                  a.config_version, s.seen_at AS "seen_at?: Moment",
                  extract(epoch FROM clock_timestamp() - s.seen_at)::float8 AS "silence?",
                  s.load AS "load?", a.registered_at AS "registered_at: Moment",
                  a.revoked_at AS "revoked_at: Moment"
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

/// `Conflict` if there is no such agent, or none any more.
pub async fn update(tx: &mut Tx, id: AgentId, profile: &Profile) -> Result<(), Error> {
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

/// In the place of the one it had; `None` takes it back. `Conflict` if there is no such agent, or
/// none any more.
pub async fn set_order(tx: &mut Tx, id: AgentId, order: Option<Order>) -> Result<(), Error> {
    let query = query!(
        "UPDATE agent SET standing_order = $3
          WHERE tenant_id = $1 AND id = $2 AND revoked_at IS NULL",
        tx.tenant().uuid(),
        id.uuid(),
        order.map(Order::as_str),
    );
    tx.write_one(&id, query).await
}

/// Whether it was this call that revoked it. Its tokens open nothing from then on, and no order
/// is left to follow.
pub async fn revoke(tx: &mut Tx, id: AgentId) -> Result<bool, Error> {
    let query = query!(
        "UPDATE agent SET revoked_at = $3, standing_order = NULL
          WHERE tenant_id = $1 AND id = $2 AND revoked_at IS NULL",
        tx.tenant().uuid(),
        id.uuid(),
        Moment(tx.now()) as _,
    );
    Ok(tx.write_if_left(query).await? > 0)
}

/// How an agent stands, and how others were told that it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Presence {
    pub id: AgentId,
    pub status: Status,
    pub told: Status,
    /// Since its last heartbeat.
    pub silence: Option<Duration>,
}

/// Of those that exist, in the order of their ids.
pub async fn presence(tx: &mut Tx, ids: &[AgentId]) -> Result<Vec<Presence>, Error> {
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
        let told = Status::ALL.into_iter().find(|status| status.as_str() == row.status);
        let silence = silence_of(row.silence);
        let order = order_of(id, row.standing_order.as_deref())?;
        let told = told.ok_or_else(|| wrong(id, "status", row.status))?;
        Ok(Presence { id, status: Status::of(order, silence), told, silence })
    });
    Ok(rows.collect::<Result<Vec<Presence>, RowError>>()?)
}

/// Others are told that it stands so. Whether it is news: of two that notice, one tells.
pub async fn tell(tx: &mut Tx, id: AgentId, status: Status) -> Result<bool, Error> {
    let query = query!(
        "UPDATE agent SET status = $3 WHERE tenant_id = $1 AND id = $2 AND status <> $3",
        tx.tenant().uuid(),
        id.uuid(),
        status.as_str(),
    );
    Ok(tx.write_beside(query).await? > 0)
}
