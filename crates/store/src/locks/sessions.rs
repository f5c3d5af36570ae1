//! Sessions of processes: opened, kept alive by one UPDATE regardless of the number of holds, and
//! closed. A hold is registered only under a live session, by PostgreSQL's clock.

use std::time::Duration;

use ade_core::ids::{AgentId, ProcessId};
use ade_core::time::Timestamp;
use sqlx::{query, query_as};
use uuid::Uuid;

use crate::agents::{silence_of, stored};
use crate::error::StoreError;
use crate::timestamp::PgTimestamp;
use crate::tx::Tx;

/// Opens a session of a process of an agent, or of the server itself if no agent is given.
pub async fn open(
    tx: &mut Tx,
    id: ProcessId,
    agent: Option<AgentId>,
    node: &str,
    ttl: Duration,
) -> Result<(), StoreError> {
    let query = query!(
        "INSERT INTO agent_session (tenant_id, id, agent_id, node, opened_at, lease_until)
         VALUES ($1, $2, $3, $4, clock_timestamp(),
                 clock_timestamp() + make_interval(secs => $5))",
        tx.tenant().uuid(),
        id.uuid(),
        agent.map(AgentId::uuid),
        node,
        ttl.as_secs_f64(),
    );
    tx.write(query).await?;
    Ok(())
}

/// Keeps a session alive and returns whether it still is. An ended session is not revived: others
/// may have continued without it.
pub async fn keep(tx: &mut Tx, id: ProcessId, ttl: Duration) -> Result<bool, StoreError> {
    beat(tx, id, ttl, None).await
}

/// Keeps a session alive and stores the reported load, if there is one.
pub async fn beat(
    tx: &mut Tx,
    id: ProcessId,
    ttl: Duration,
    load: Option<u32>,
) -> Result<bool, StoreError> {
    let query = query!(
        "UPDATE agent_session
            SET lease_until = clock_timestamp() + make_interval(secs => $3),
                seen_at = clock_timestamp(), load = coalesce($4, load)
          WHERE tenant_id = $1 AND id = $2 AND closed_at IS NULL
            AND lease_until > clock_timestamp()",
        tx.tenant().uuid(),
        id.uuid(),
        ttl.as_secs_f64(),
        load.map(|load| stored("load", load)).transpose()?,
    );
    Ok(tx.write_beside(query).await? > 0)
}

/// The owner of the session, and whether it is alive; `None` if it was never opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionInfo {
    pub agent: Option<AgentId>,
    pub is_alive: bool,
    pub opened_at: Timestamp,
    pub until: Timestamp,
    /// The time since its last heartbeat; `None` if it never had one.
    pub silence: Option<Duration>,
}

type KnownRow = (Option<Uuid>, bool, PgTimestamp, PgTimestamp, Option<f64>);

const KNOWN: &str = "
    SELECT agent_id, closed_at IS NULL AND lease_until > clock_timestamp(), opened_at, lease_until,
           extract(epoch FROM clock_timestamp() - seen_at)::float8
      FROM agent_session WHERE tenant_id = $1 AND id = $2";
const CLOSE_SILENT: &str = "
    UPDATE agent_session SET closed_at = clock_timestamp()
     WHERE tenant_id = $1 AND closed_at IS NULL AND lease_until <= clock_timestamp()";

pub async fn find(tx: &mut Tx, id: ProcessId) -> Result<Option<SessionInfo>, StoreError> {
    let query = query_as(KNOWN).bind(tx.tenant().uuid()).bind(id.uuid());
    let rows: Vec<KnownRow> = tx.read(query).await?;
    let known =
        rows.into_iter().next().map(|(agent, is_alive, opened_at, until, silence)| SessionInfo {
            agent: agent.map(AgentId::from_uuid),
            is_alive,
            opened_at: opened_at.0,
            until: until.0,
            silence: silence_of(silence),
        });
    Ok(known)
}

/// Closes sessions that were not kept alive.
pub async fn close_silent(tx: &mut Tx) -> Result<u64, StoreError> {
    tx.write_beside(query(CLOSE_SILENT).bind(tx.tenant().uuid())).await
}

/// Closes a session and returns whether this call did it. Its holds expire at their own deadlines.
pub async fn close(tx: &mut Tx, id: ProcessId) -> Result<bool, StoreError> {
    let query = query!(
        "UPDATE agent_session SET closed_at = clock_timestamp()
          WHERE tenant_id = $1 AND id = $2 AND closed_at IS NULL",
        tx.tenant().uuid(),
        id.uuid(),
    );
    Ok(tx.write_if_left(query).await? > 0)
}
