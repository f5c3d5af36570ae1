//! Holds of many leases at once: extended by heartbeats, ended by operators and by time, and read.
//! Rows are locked in the order of their resources, then of their leases, as everywhere.

use ade_core::ids::{LeaseId, TenantId};
use ade_core::limits::LOCK_HOLD_MAX;
use ade_core::lock::FencingToken;
use ade_core::resource::ResourceRef;
use ade_core::time::Timestamp;
use sqlx::query_as;
use uuid::Uuid;

use crate::error::{RowError, StoreError};
use crate::pool::Pool;
use crate::timestamp::PgTimestamp;
use crate::tx::Tx;

/// The state of a lease after a heartbeat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RenewedLease {
    pub lease: LeaseId,
    /// Whether no part is fenced, and the lease is neither released nor past its maximum age.
    pub is_open: bool,
    /// Whether the lease has reached its maximum age: heartbeats no longer extend it.
    pub is_spent: bool,
    pub token: FencingToken,
    pub deadline: Timestamp,
}

const EXTEND: &str = "
    SELECT lease, is_open, is_spent, given_token, until
      FROM lock_extend($1, make_interval(secs => $2))";
const FENCE_OFF: &str = "SELECT lease FROM lock_fence_off($1, $2, $3) AS ended (lease)";
const HOLDING: &str = "
    SELECT lease_id FROM lock_hold
     WHERE tenant_id = $1 AND resource = $2 AND fenced_by IS NULL AND released_at IS NULL
     ORDER BY lease_id";
const ENDED: &str = "
    SELECT bool_and(released_at IS NOT NULL) FROM lock_hold
     WHERE tenant_id = $1 AND lease_id = $2
    HAVING bool_or(fenced_by IS NOT NULL OR released_at IS NOT NULL)";
const SET_ASIDE: &str = "
    UPDATE lock_hold SET purpose = $3, deadline = greatest(deadline, $4)
     WHERE tenant_id = $1 AND lease_id = $2";
const DUE_AT: &str = "
    SELECT max(deadline + lock_delay) FROM lock_hold
     WHERE tenant_id = $1 AND lease_id = $2 AND fenced_by IS NULL AND released_at IS NULL";
const TENANTS: &str = "SELECT tenant FROM tenants_with_locks($1, $2) AS found (tenant)";

/// Extends leases that were registered; deadlines are not audited.
pub async fn extend(tx: &mut Tx, leases: &[LeaseId]) -> Result<Vec<RenewedLease>, StoreError> {
    let query = query_as(EXTEND).bind(ids(leases)).bind(LOCK_HOLD_MAX.as_secs_f64());
    let rows: Vec<(Uuid, bool, bool, i64, PgTimestamp)> = tx.read(query).await?;
    let kept = rows.into_iter().map(|(lease, is_open, is_spent, token, deadline)| {
        let lease = LeaseId::from_uuid(lease);
        let known = u64::try_from(token).ok().and_then(FencingToken::from_number);
        let row = || RowError {
            table: "lock_hold",
            column: "token",
            row: lease.to_string(),
            why: token.to_string(),
        };
        let token = known.ok_or_else(row)?;
        Ok(RenewedLease { lease, is_open, is_spent, token, deadline: deadline.0 })
    });
    kept.collect()
}

/// Ends leases regardless of their state and returns which of them held something. It waits for
/// transactions that are committing.
pub async fn break_off(
    tx: &mut Tx,
    leases: &[LeaseId],
    by: LeaseId,
) -> Result<Vec<LeaseId>, StoreError> {
    fence_off(tx, leases, by, false).await
}

/// Ends a lease that was not kept alive, after its lock delay; `false` if it was kept alive.
pub async fn reap(tx: &mut Tx, lease: LeaseId, by: LeaseId) -> Result<bool, StoreError> {
    Ok(!fence_off(tx, &[lease], by, true).await?.is_empty())
}

async fn fence_off(
    tx: &mut Tx,
    leases: &[LeaseId],
    by: LeaseId,
    only_dead: bool,
) -> Result<Vec<LeaseId>, StoreError> {
    let query = query_as(FENCE_OFF).bind(ids(leases)).bind(by.uuid()).bind(only_dead);
    let rows: Vec<(Uuid,)> = tx.read(query).await?;
    if !rows.is_empty() {
        tx.note_write();
    }
    Ok(rows.into_iter().map(|(lease,)| LeaseId::from_uuid(lease)).collect())
}

/// Returns the leases that could commit on this resource.
pub async fn holding(tx: &mut Tx, resource: &ResourceRef) -> Result<Vec<LeaseId>, StoreError> {
    let query = query_as(HOLDING).bind(tx.tenant().uuid()).bind(resource.to_string());
    let rows: Vec<(Uuid,)> = tx.read(query).await?;
    Ok(rows.into_iter().map(|(lease,)| LeaseId::from_uuid(lease)).collect())
}

/// Returns how a registered lease ended: released or fenced. `None` if it was never registered or
/// is still held.
pub async fn ended(tx: &mut Tx, lease: LeaseId) -> Result<Option<bool>, StoreError> {
    let query = query_as(ENDED).bind(tx.tenant().uuid()).bind(lease.uuid());
    let rows: Vec<(Option<bool>,)> = tx.read(query).await?;
    Ok(rows.into_iter().find_map(|(is_released,)| is_released))
}

/// Stores the purpose of a hold, and a later deadline if it needs no heartbeat until then.
pub async fn set_aside(
    tx: &mut Tx,
    lease: LeaseId,
    purpose: Option<&str>,
    until: Option<Timestamp>,
) -> Result<(), StoreError> {
    let query = sqlx::query(SET_ASIDE)
        .bind(tx.tenant().uuid())
        .bind(lease.uuid())
        .bind(purpose)
        .bind(until.map(PgTimestamp));
    tx.write(query).await?;
    Ok(())
}

/// Returns when the lease may be ended without further heartbeats; `None` if it has ended.
pub async fn due_at(tx: &mut Tx, lease: LeaseId) -> Result<Option<Timestamp>, StoreError> {
    let query = query_as(DUE_AT).bind(tx.tenant().uuid()).bind(lease.uuid());
    let rows: Vec<(Option<PgTimestamp>,)> = tx.read(query).await?;
    Ok(rows.into_iter().find_map(|(at,)| at).map(|at| at.0))
}

/// Returns tenants that ever had a lock, in order, for a login that may act as `ade_worker`.
pub async fn tenants(
    pool: &Pool,
    after: Option<TenantId>,
    limit: u32,
) -> Result<Vec<TenantId>, StoreError> {
    let mut connection = pool.acquire().await?;
    let query = query_as(TENANTS)
        .bind(after.map(TenantId::uuid))
        .bind(i32::try_from(limit).unwrap_or(i32::MAX));
    let rows: Vec<(Uuid,)> = query.fetch_all(connection.get()?).await?;
    Ok(rows.into_iter().map(|(tenant,)| TenantId::from_uuid(tenant)).collect())
}

fn ids(leases: &[LeaseId]) -> Vec<Uuid> {
    leases.iter().map(|lease| lease.uuid()).collect()
}
