//! What listeners need from PostgreSQL: the tickets that open sockets, the current permissions of
//! listeners, and the proposers of tasks.

use std::collections::{BTreeMap, BTreeSet};

use ade_core::ids::{AgentId, TaskId, TenantId, UserId};
use ade_core::limits::LIVE_TICKET_TTL;
use ade_core::time::Timestamp;
use sqlx::query_as;
use uuid::Uuid;

use crate::error::StoreError;
use crate::pool::Pool;
use crate::timestamp::PgTimestamp;
use crate::tokens::Hash;
use crate::tx::Tx;

// Old tickets are removed with each new one, so no pruner is needed.
const KEEP: &str = "
    WITH old AS (DELETE FROM live_ticket WHERE tenant_id = $1 AND expires_at <= $4)
    INSERT INTO live_ticket (tenant_id, hash, key_id, expires_at) VALUES ($1, $2, $3, $5)";
const TAKE: &str = "
    DELETE FROM live_ticket WHERE tenant_id = $1 AND hash = $2
    RETURNING key_id, expires_at > $3";
const OPEN: &str = "SELECT open_tokens($1)";
const VERSIONS: &str = "SELECT tenant, version FROM rulebook_versions($1)";
const PROPOSER: &str = "
    SELECT author_id, agent_id, task_type FROM task WHERE tenant_id = $1 AND id = $2";

/// Stores a ticket and returns until when it can be used.
pub async fn keep_ticket(tx: &mut Tx, hash: &Hash, key_id: &str) -> Result<Timestamp, StoreError> {
    let expires_at = tx.now().plus(LIVE_TICKET_TTL);
    let query = sqlx::query(KEEP)
        .bind(tx.tenant().uuid())
        .bind(hash.as_slice())
        .bind(key_id)
        .bind(PgTimestamp(tx.now()))
        .bind(PgTimestamp(expires_at));
    tx.write_beside(query).await?;
    Ok(expires_at)
}

/// Takes a ticket once and in time, and returns the key of its token. The ticket is deleted with
/// the commit.
pub async fn take_ticket(tx: &mut Tx, hash: &Hash) -> Result<Option<String>, StoreError> {
    let query = query_as::<_, (String, bool)>(TAKE)
        .bind(tx.tenant().uuid())
        .bind(hash.as_slice())
        .bind(PgTimestamp(tx.now()));
    let taken = tx.read(query).await?.pop();
    Ok(taken.and_then(|(key_id, is_in_time)| is_in_time.then_some(key_id)))
}

/// Returns which of these tokens are still valid.
pub async fn open_tokens(pool: &Pool, keys: &[String]) -> Result<BTreeSet<String>, StoreError> {
    let mut connection = pool.acquire().await?;
    let query = query_as::<_, (String,)>(OPEN).bind(keys);
    let rows = query.fetch_all(connection.get()?).await?;
    connection.give_back();
    Ok(rows.into_iter().map(|(key,)| key).collect())
}

/// Returns the rulebook version of each tenant; a tenant without one is left out.
pub async fn rulebook_versions(
    pool: &Pool,
    tenants: &[TenantId],
) -> Result<BTreeMap<TenantId, i64>, StoreError> {
    let mut connection = pool.acquire().await?;
    let tenants: Vec<Uuid> = tenants.iter().map(|tenant| tenant.uuid()).collect();
    let query = query_as::<_, (Uuid, i64)>(VERSIONS).bind(tenants);
    let rows = query.fetch_all(connection.get()?).await?;
    connection.give_back();
    Ok(rows.into_iter().map(|(id, version)| (TenantId::from_uuid(id), version)).collect())
}

/// The part of a task that decides who may read it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposer {
    pub author: UserId,
    pub agent: Option<AgentId>,
    pub task_type: String,
}

/// Returns the proposer of a task; `None` if the task no longer exists.
pub async fn proposer(tx: &mut Tx, task: TaskId) -> Result<Option<Proposer>, StoreError> {
    let query = query_as::<_, (Uuid, Option<Uuid>, String)>(PROPOSER)
        .bind(tx.tenant().uuid())
        .bind(task.uuid());
    let found = tx.read(query).await?.pop();
    Ok(found.map(|(author, agent, task_type)| Proposer {
        author: UserId::from_uuid(author),
        agent: agent.map(AgentId::from_uuid),
        task_type,
    }))
}
