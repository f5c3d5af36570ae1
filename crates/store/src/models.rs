//! What the read models are written from and held against: which tasks a tenant has, what waits
//! for a person, and whether every event of the tenant has its number already.

use ade_core::ids::{ApprovalId, TaskId, TenantId, UserId};
use ade_core::time::Timestamp;
use sqlx::query_as;
use uuid::Uuid;

use crate::error::Error;
use crate::moment::Moment;
use crate::pool::Pool;
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

/// A request that waits, and where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Waiting {
    pub id: ApprovalId,
    pub task: TaskId,
    pub due_at: Timestamp,
    pub score: u32,
}

/// The last number of this tenant, if nothing that can be seen waits for one. Whatever was read
/// before in this transaction is then told by events up to this number.
pub async fn settled(tx: &mut Tx) -> Result<Option<u64>, Error> {
    let query = query_as::<_, (i64, bool)>(SETTLED).bind(tx.tenant().uuid());
    let found = tx.read(query).await?.pop();
    Ok(found.and_then(|(seq, is_waiting)| (!is_waiting).then(|| natural(seq))))
}

/// Those with events, each with its last number, by id; by a login that may act as `ade_worker`.
pub async fn tenants(
    pool: &Pool,
    after: Option<TenantId>,
    limit: u32,
) -> Result<Vec<(TenantId, u64)>, Error> {
    let mut connection = pool.acquire().await?;
    let query =
        query_as::<_, (Uuid, i64)>(TENANTS).bind(after.map(TenantId::uuid)).bind(i64::from(limit));
    let rows = query.fetch_all(connection.get()?).await?;
    connection.give_back();
    Ok(rows.into_iter().map(|(id, seq)| (TenantId::from_uuid(id), natural(seq))).collect())
}

/// Tasks that are not over, by id.
pub async fn open_tasks(
    tx: &mut Tx,
    after: Option<TaskId>,
    limit: u32,
) -> Result<Vec<TaskId>, Error> {
    let after = after.map_or(Uuid::nil(), TaskId::uuid);
    let query =
        query_as::<_, (Uuid,)>(OPEN).bind(tx.tenant().uuid()).bind(after).bind(i64::from(limit));
    Ok(tx.read(query).await?.into_iter().map(|(id,)| TaskId::from_uuid(id)).collect())
}

/// All tasks, newest first.
pub async fn newest_tasks(
    tx: &mut Tx,
    before: Option<TaskId>,
    limit: u32,
) -> Result<Vec<TaskId>, Error> {
    let before = before.map_or(Uuid::max(), TaskId::uuid);
    let query =
        query_as::<_, (Uuid,)>(NEWEST).bind(tx.tenant().uuid()).bind(before).bind(i64::from(limit));
    Ok(tx.read(query).await?.into_iter().map(|(id,)| TaskId::from_uuid(id)).collect())
}

/// What waits for this person, in no order.
pub async fn waiting(tx: &mut Tx, reviewer: UserId, limit: u32) -> Result<Vec<Waiting>, Error> {
    let query = query_as::<_, (Uuid, Uuid, Moment, i32)>(WAITING)
        .bind(tx.tenant().uuid())
        .bind(reviewer.uuid())
        .bind(i64::from(limit));
    let found = tx.read(query).await?.into_iter().map(|(id, task, due_at, score)| Waiting {
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
