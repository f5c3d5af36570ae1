//! Registered programs and the people who answer for them. Revoking is for good; a status comes
//! and goes and is no rule, so it alone leaves the rulebook as it is.

use ade_core::ids::{AgentId, UserId};
use ade_core::time::Timestamp;
use serde_json::{Value, json};
use sqlx::{query, query_as};
use uuid::Uuid;

use crate::error::{Error, RowError};
use crate::moment::Moment;
use crate::tx::Tx;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    Active,
    Late,
    Offline,
    Draining,
    Paused,
}

impl Status {
    pub const ALL: [Self; 5] =
        [Self::Active, Self::Late, Self::Offline, Self::Draining, Self::Paused];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Late => "late",
            Self::Offline => "offline",
            Self::Draining => "draining",
            Self::Paused => "paused",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agent {
    pub id: AgentId,
    pub owner: UserId,
    pub profile: Profile,
    pub registered_at: Timestamp,
    pub revoked_at: Option<Timestamp>,
}

/// What may change of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    pub name: String,
    pub capabilities: Vec<String>,
    pub status: Status,
}

struct AgentRow {
    id: Uuid,
    name: String,
    owner_id: Uuid,
    status: String,
    capabilities: Value,
    registered_at: Moment,
    revoked_at: Option<Moment>,
}

impl TryFrom<AgentRow> for Agent {
    type Error = RowError;

    fn try_from(row: AgentRow) -> Result<Self, RowError> {
        let id = AgentId::from_uuid(row.id);
        let wrong = |column, why| RowError { table: "agent", column, row: id.to_string(), why };
        let status = Status::ALL.into_iter().find(|status| status.as_str() == row.status);
        let capabilities = serde_json::from_value(row.capabilities)
            .map_err(|error| wrong("capabilities", error.to_string()))?;
        Ok(Self {
            id,
            owner: UserId::from_uuid(row.owner_id),
            profile: Profile {
                name: row.name,
                capabilities,
                status: status.ok_or_else(|| wrong("status", row.status))?,
            },
            registered_at: row.registered_at.0,
            revoked_at: row.revoked_at.map(|at| at.0),
        })
    }
}

pub async fn insert(
    tx: &mut Tx,
    id: AgentId,
    owner: UserId,
    profile: &Profile,
) -> Result<(), Error> {
    let query = query!(
        "INSERT INTO agent (tenant_id, id, owner_id, name, capabilities, status, registered_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7)",
        tx.tenant().uuid(),
        id.uuid(),
        owner.uuid(),
        profile.name,
        json!(profile.capabilities),
        profile.status.as_str(),
        Moment(tx.now()) as _,
    );
    tx.write(query).await?;
    Ok(())
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
        r#"SELECT id, name, owner_id, status, capabilities,
                  registered_at AS "registered_at: Moment", revoked_at AS "revoked_at: Moment"
             FROM agent
            WHERE tenant_id = $1 AND id BETWEEN $2 AND $3
            ORDER BY id LIMIT $4"#,
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
        "UPDATE agent SET name = $3, capabilities = $4, status = $5
          WHERE tenant_id = $1 AND id = $2 AND revoked_at IS NULL",
        tx.tenant().uuid(),
        id.uuid(),
        profile.name,
        json!(profile.capabilities),
        profile.status.as_str(),
    );
    tx.write_one(&id, query).await
}

/// Whether it was this call that revoked it. Its tokens open nothing from then on.
pub async fn revoke(tx: &mut Tx, id: AgentId) -> Result<bool, Error> {
    let query = query!(
        "UPDATE agent SET revoked_at = $3
          WHERE tenant_id = $1 AND id = $2 AND revoked_at IS NULL",
        tx.tenant().uuid(),
        id.uuid(),
        Moment(tx.now()) as _,
    );
    Ok(tx.write(query).await? > 0)
}
