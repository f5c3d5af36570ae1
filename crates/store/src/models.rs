//! The data behind the read models: the tasks of a tenant, the open requests of a person, and
//! whether every event of the tenant has its number.

use ade_core::ids::{ApprovalId, TaskId, TenantId, UserId};
use ade_core::time::Timestamp;
use sqlx::query_as;
use uuid::Uuid;

use crate::error::StoreError;
use crate::pool::Pool;
use crate::timestamp::PgTimestamp;
use crate::tx::Tx;

const SETTLED: &str = "
    SELECT coalesce((SELECT tenant_seq FROM event_head WHERE tenant_id = $1), 0),
           EXISTS (SELECT FROM outbox WHERE tenant_id = $1 AND tenant_seq IS NULL)";
const TENANTS: &str = "
    SELECT tenant_id, tenant_seq FROM event_head
     WHERE $1::uuid IS NULL OR tenant_id > $1 ORDER BY tenant_id LIMIT $2";
const OPEN: &str = "
    SELECT id FROM task WHERE tenant_id = $1 AND closed_at IS NULL AND id > $2
     ORDER BY id LIMIT $3";
const NEWEST: &str = "
    SELECT id FROM task WHERE tenant_id = $1 AND id < $2 ORDER BY id DESC LIMIT $3";
const WAITING: &str = "
    SELECT id, task_id, due_at, score FROM approval
     WHERE tenant_id = $1 AND reviewer_id = $2 AND status = 'PENDING' LIMIT $3";

/// An open request with its place in the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct WaitingRequest {
    pub id: ApprovalId,
    pub task: TaskId,
    pub due_at: Timestamp,
    pub score: u32,
}

/// Returns the last sequence number of this tenant, if no visible event waits for one. Everything
/// read earlier in this transaction is then covered by events up to this number.
pub async fn settled(tx: &mut Tx) -> Result<Option<u64>, StoreError> {
    let query = query_as::<_, (i64, bool)>(SETTLED).bind(tx.tenant().uuid());
    let found = tx.read(query).await?.pop();
    Ok(found.and_then(|(seq, is_waiting)| (!is_waiting).then(|| natural(seq))))
}

/// Returns tenants with events, each with its last number, by id, for a login that may act as
/// `ade_worker`.
pub async fn tenants(
    pool: &Pool,
    after: Option<TenantId>,
    limit: u32,
) -> Result<Vec<(TenantId, u64)>, StoreError> {
    let mut connection = pool.acquire().await?;
    let query =
        query_as::<_, (Uuid, i64)>(TENANTS).bind(after.map(TenantId::uuid)).bind(i64::from(limit));
    let rows = query.fetch_all(connection.get()?).await?;
    connection.give_back();
    Ok(rows.into_iter().map(|(id, seq)| (TenantId::from_uuid(id), natural(seq))).collect())
}

/// Returns tasks that are not closed, by id.
pub async fn open_tasks(
    tx: &mut Tx,
    after: Option<TaskId>,
    limit: u32,
) -> Result<Vec<TaskId>, StoreError> {
    let after = after.map_or(Uuid::nil(), TaskId::uuid);
    let query =
        query_as::<_, (Uuid,)>(OPEN).bind(tx.tenant().uuid()).bind(after).bind(i64::from(limit));
    Ok(tx.read(query).await?.into_iter().map(|(id,)| TaskId::from_uuid(id)).collect())
}

/// Returns all tasks, newest first.
pub async fn newest_tasks(
    tx: &mut Tx,
    before: Option<TaskId>,
    limit: u32,
) -> Result<Vec<TaskId>, StoreError> {
    let before = before.map_or(Uuid::max(), TaskId::uuid);
    let query =
        query_as::<_, (Uuid,)>(NEWEST).bind(tx.tenant().uuid()).bind(before).bind(i64::from(limit));
    Ok(tx.read(query).await?.into_iter().map(|(id,)| TaskId::from_uuid(id)).collect())
}

/// Returns the open requests of this person, in no particular order.
pub async fn waiting(
    tx: &mut Tx,
    reviewer: UserId,
    limit: u32,
) -> Result<Vec<WaitingRequest>, StoreError> {
    let query = query_as::<_, (Uuid, Uuid, PgTimestamp, i32)>(WAITING)
        .bind(tx.tenant().uuid())
        .bind(reviewer.uuid())
        .bind(i64::from(limit));
    let found = tx.read(query).await?.into_iter().map(|(id, task, due_at, score)| WaitingRequest {
        id: ApprovalId::from_uuid(id),
        task: TaskId::from_uuid(task),
        due_at: due_at.0,
        score: u32::try_from(score).unwrap_or_default(),
    });
    Ok(found.collect())
}

fn natural(number: i64) -> u64 {
    u64::try_from(number).unwrap_or_default()
}
