//! Lives of processes: opened, kept alive by one UPDATE however much they hold, and closed. A hold
//! is registered only under a session that lives, by PostgreSQL's clock.

use std::time::Duration;

use ade_core::ids::{AgentId, AgentSessionId};
use ade_core::time::Timestamp;
use sqlx::{query, query_as};
use uuid::Uuid;

use crate::agents::{silence_of, stored};
use crate::error::Error;
use crate::moment::Moment;
use crate::tx::Tx;

/// Of an agent's process, or of the server's own if there is no agent.
pub async fn open(
    tx: &mut Tx,
    id: AgentSessionId,
    agent: Option<AgentId>,
    node: &str,
    ttl: Duration,
) -> Result<(), Error> {
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

/// Whether it still lives. One that has ended is not revived: others may have gone on without it.
pub async fn keep(tx: &mut Tx, id: AgentSessionId, ttl: Duration) -> Result<bool, Error> {
    beat(tx, id, ttl, None).await
}

/// The same, with what the process says of its load; what it said before stays if it is silent.
pub async fn beat(
    tx: &mut Tx,
    id: AgentSessionId,
    ttl: Duration,
    load: Option<u32>,
) -> Result<bool, Error> {
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

/// Whose it is, and whether it lives; `None` if nobody has opened it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Known {
    pub agent: Option<AgentId>,
    pub is_alive: bool,
    pub opened_at: Timestamp,
    pub until: Timestamp,
    /// Since its last heartbeat; `None` if it never had one.
    pub silence: Option<Duration>,
}

type KnownRow = (Option<Uuid>, bool, Moment, Moment, Option<f64>);

const KNOWN: &str = "
    SELECT agent_id, closed_at IS NULL AND lease_until > clock_timestamp(), opened_at, lease_until,
           extract(epoch FROM clock_timestamp() - seen_at)::float8
      FROM agent_session WHERE tenant_id = $1 AND id = $2";
const CLOSE_SILENT: &str = "
    UPDATE agent_session SET closed_at = clock_timestamp()
     WHERE tenant_id = $1 AND closed_at IS NULL AND lease_until <= clock_timestamp()";

pub async fn find(tx: &mut Tx, id: AgentSessionId) -> Result<Option<Known>, Error> {
    let query = query_as(KNOWN).bind(tx.tenant().uuid()).bind(id.uuid());
    let rows: Vec<KnownRow> = tx.read(query).await?;
    let known = rows.into_iter().next().map(|(agent, is_alive, opened_at, until, silence)| Known {
        agent: agent.map(AgentId::from_uuid),
        is_alive,
        opened_at: opened_at.0,
        until: until.0,
        silence: silence_of(silence),
    });
    Ok(known)
}

/// Those that were not kept alive. They are over already; now their rows say so.
pub async fn close_silent(tx: &mut Tx) -> Result<u64, Error> {
    tx.write_beside(query(CLOSE_SILENT).bind(tx.tenant().uuid())).await
}

/// Whether it was this call that closed it. Its holds run out by their own deadlines.
pub async fn close(tx: &mut Tx, id: AgentSessionId) -> Result<bool, Error> {
    let query = query!(
        "UPDATE agent_session SET closed_at = clock_timestamp()
          WHERE tenant_id = $1 AND id = $2 AND closed_at IS NULL",
        tx.tenant().uuid(),
        id.uuid(),
    );
    Ok(tx.write_if_left(query).await? > 0)
}
