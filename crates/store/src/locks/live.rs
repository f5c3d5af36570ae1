//! The leases that can still commit, each as a whole, for rebuilding a queue. A lease that was
//! fenced in part is lost, so the rest of its set is free.

use std::time::Duration;

use ade_core::ids::{LeaseId, TaskId};
use ade_core::lock::{
    FencingToken, LeaseClass, LiveHold, LockSet, Mode, Owner, Request, RequestDraft,
};
use ade_core::resource::ResourceRef;
use sqlx::{FromRow, query_as};
use uuid::Uuid;

use crate::error::{RowError, StoreError};
use crate::timestamp::PgTimestamp;
use crate::tx::Tx;

#[derive(Debug, FromRow)]
struct LiveRow {
    lease_id: Uuid,
    resource: String,
    mode: String,
    capacity: Option<i32>,
    token: i64,
    owner: String,
    node: String,
    born_at: PgTimestamp,
    ttl_ms: i64,
    lock_delay_ms: i64,
    deadline: PgTimestamp,
}

/// Returns the leases in the order of their ids.
pub async fn live(tx: &mut Tx) -> Result<Vec<LiveHold>, StoreError> {
    let query = query_as!(
        LiveRow,
        r#"SELECT h.lease_id, h.resource, h.mode, h.capacity, h.token, h.owner, h.node,
                  h.born_at AS "born_at: PgTimestamp", h.deadline AS "deadline: PgTimestamp",
                  (extract(epoch FROM h.ttl) * 1000)::bigint AS "ttl_ms!",
                  (extract(epoch FROM h.lock_delay) * 1000)::bigint AS "lock_delay_ms!"
             FROM lock_hold h
            WHERE h.tenant_id = $1 AND h.fenced_by IS NULL AND h.released_at IS NULL
              AND NOT EXISTS (
                  SELECT FROM lock_hold other
                   WHERE other.tenant_id = $1 AND other.lease_id = h.lease_id
                     AND (other.fenced_by IS NOT NULL OR other.released_at IS NOT NULL))
            ORDER BY h.lease_id, h.resource"#,
        tx.tenant().uuid(),
    );
    let rows = tx.fetch(query).await?;
    grouped(&rows)
}

const ON: &str = "
    SELECT h.lease_id, h.resource, h.mode, h.capacity, h.token, h.owner, h.node, h.born_at,
           h.deadline, (extract(epoch FROM h.ttl) * 1000)::bigint AS ttl_ms,
           (extract(epoch FROM h.lock_delay) * 1000)::bigint AS lock_delay_ms
      FROM (SELECT DISTINCT known.lease_id FROM unnest($2::text[]) AS wanted (resource)
             CROSS JOIN LATERAL (
                SELECT open.lease_id FROM lock_hold open
                 WHERE open.tenant_id = $1 AND open.resource = wanted.resource
                   AND open.fenced_by IS NULL AND open.released_at IS NULL OFFSET 0) AS known)
           AS known
     CROSS JOIN LATERAL (
        SELECT * FROM lock_hold own
         WHERE own.tenant_id = $1 AND own.lease_id = known.lease_id OFFSET 0) AS h
     WHERE h.fenced_by IS NULL AND h.released_at IS NULL
       AND h.deadline + h.lock_delay > clock_timestamp()
     ORDER BY h.lease_id, h.resource";
const OF: &str = "
    SELECT h.lease_id, h.resource, h.mode, h.capacity, h.token, h.owner, h.node, h.born_at,
           h.deadline, (extract(epoch FROM h.ttl) * 1000)::bigint AS ttl_ms,
           (extract(epoch FROM h.lock_delay) * 1000)::bigint AS lock_delay_ms
      FROM (SELECT DISTINCT unnest($2::uuid[])) AS wanted (lease_id)
     CROSS JOIN LATERAL (
        SELECT * FROM lock_hold own
         WHERE own.tenant_id = $1 AND own.lease_id = wanted.lease_id OFFSET 0) AS h
     WHERE h.fenced_by IS NULL AND h.released_at IS NULL
     ORDER BY h.lease_id, h.resource";
const NAMES: &str = "
    SELECT DISTINCT resource FROM lock_hold
     WHERE tenant_id = $1 AND fenced_by IS NULL AND released_at IS NULL
       AND deadline + lock_delay > clock_timestamp() AND ($2 IS NULL OR resource > $2)
     ORDER BY resource LIMIT $3";
// Judges like the registration: a begun attempt blocks its resources until its outcome is known.
const BESIDE: &str = "
    SELECT held.lease_id, wanted.resource, held.mode, held.capacity, held.owner, held.node
      FROM unnest($2::text[]) AS wanted (resource)
     CROSS JOIN LATERAL (
        SELECT h.lease_id, h.mode, h.capacity, h.owner, h.node FROM lock_hold h
         WHERE h.tenant_id = $1 AND h.resource = wanted.resource AND h.owner <> $3
           AND h.fenced_by IS NULL AND h.released_at IS NULL
           AND (h.is_begun OR h.deadline + h.lock_delay > clock_timestamp()) LIMIT $4) AS held
     ORDER BY wanted.resource, held.lease_id";

/// A hold of another owner on a resource that a task needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HoldDetails {
    pub resource: ResourceRef,
    pub mode: Mode,
    pub owner: Owner,
    /// The node of the process that acquired it, with its principal.
    pub node: String,
}

#[derive(Debug, FromRow)]
struct BesideRow {
    lease_id: Uuid,
    resource: String,
    mode: String,
    capacity: Option<i32>,
    owner: String,
    node: String,
}

/// Returns holds of others on these resources, a limited number each. Shared holders have the same
/// mode, so a few of them are enough to judge.
pub async fn beside(
    tx: &mut Tx,
    resources: &[ResourceRef],
    task: TaskId,
    each: u32,
) -> Result<Vec<HoldDetails>, StoreError> {
    let names: Vec<String> = resources.iter().map(ToString::to_string).collect();
    let query = query_as(BESIDE)
        .bind(tx.tenant().uuid())
        .bind(names)
        .bind(task.to_string())
        .bind(i64::from(each));
    let rows: Vec<BesideRow> = tx.read(query).await?;
    let found = rows.into_iter().map(|row| {
        let wrong = |column, why: &str| RowError {
            table: "lock_hold",
            column,
            row: LeaseId::from_uuid(row.lease_id).to_string(),
            why: why.to_owned(),
        };
        let mode = mode_of(&row.mode, row.capacity);
        Ok(HoldDetails {
            resource: row.resource.parse().map_err(|_| wrong("resource", &row.resource))?,
            mode: mode.ok_or_else(|| wrong("mode", &row.mode))?,
            owner: row.owner.parse().map_err(|_| wrong("owner", &row.owner))?,
            node: row.node,
        })
    });
    Ok(found.collect::<Result<_, RowError>>()?)
}

/// Returns the complete leases that block one of these resources.
pub async fn on(tx: &mut Tx, resources: &[ResourceRef]) -> Result<Vec<LiveHold>, StoreError> {
    let names: Vec<String> = resources.iter().map(ToString::to_string).collect();
    let rows: Vec<LiveRow> = tx.read(query_as(ON).bind(tx.tenant().uuid()).bind(names)).await?;
    grouped(&rows)
}

/// Returns those of these leases that are open.
pub async fn of(tx: &mut Tx, leases: &[LeaseId]) -> Result<Vec<LiveHold>, StoreError> {
    let ids: Vec<Uuid> = leases.iter().map(|lease| lease.uuid()).collect();
    let rows: Vec<LiveRow> = tx.read(query_as(OF).bind(tx.tenant().uuid()).bind(ids)).await?;
    grouped(&rows)
}

/// Returns the names of held resources.
pub async fn names(
    tx: &mut Tx,
    after: Option<&ResourceRef>,
    limit: usize,
) -> Result<Vec<ResourceRef>, StoreError> {
    let query = query_as(NAMES)
        .bind(tx.tenant().uuid())
        .bind(after.map(ToString::to_string))
        .bind(i64::try_from(limit).unwrap_or(i64::MAX));
    let rows: Vec<(String,)> = tx.read(query).await?;
    let parsed = rows.into_iter().map(|(name,)| {
        let wrong = |_| RowError {
            table: "lock_hold",
            column: "resource",
            row: name.clone(),
            why: "no resource".to_owned(),
        };
        Ok(name.parse().map_err(wrong)?)
    });
    parsed.collect()
}

fn grouped(rows: &[LiveRow]) -> Result<Vec<LiveHold>, StoreError> {
    let leases = rows.chunk_by(|one, other| one.lease_id == other.lease_id);
    leases.map(|rows| Ok(hold(rows)?)).collect()
}

/// Parses a mode as `mode_text` and `capacity` write it.
pub(super) fn mode_of(mode: &str, capacity: Option<i32>) -> Option<Mode> {
    let capacity = capacity.and_then(|capacity| u32::try_from(capacity).ok());
    match (mode, capacity) {
        ("exclusive", None) => Some(Mode::Exclusive),
        ("shared", None) => Some(Mode::Shared),
        ("counting", Some(capacity)) => Some(Mode::Counting { capacity }),
        _ => None,
    }
}

fn hold(rows: &[LiveRow]) -> Result<LiveHold, RowError> {
    let lease = LeaseId::from_uuid(rows.first().map(|row| row.lease_id).unwrap_or_default());
    let wrong =
        |column, why: String| RowError { table: "lock_hold", column, row: lease.to_string(), why };
    let Some(first) = rows.first() else {
        return Err(wrong("lease_id", "no row".to_owned()));
    };
    let mut wanted = Vec::new();
    for row in rows {
        let resource: Result<ResourceRef, _> = row.resource.parse();
        let resource = resource.map_err(|error| wrong("resource", error.to_string()))?;
        let mode = mode_of(&row.mode, row.capacity);
        let mode = mode.ok_or_else(|| wrong("mode", row.mode.clone()))?;
        wanted.push((resource, mode));
    }
    let millis = |ms: i64| Duration::from_millis(u64::try_from(ms).unwrap_or_default());
    let request = Request::new(RequestDraft {
        lease,
        owner: first.owner.parse().map_err(|_| wrong("owner", first.owner.clone()))?,
        node: first.node.clone(),
        birth: first.born_at.0,
        class: LeaseClass::Fenced { lock_delay: millis(first.lock_delay_ms) },
        set: LockSet::new(wanted).map_err(|error| wrong("resource", error.to_string()))?,
        ttl: millis(first.ttl_ms),
        // The lease holds its locks: it no longer waits, and cannot be sent back to the queue.
        wait: Duration::ZERO,
        boost: 0,
    });
    let token = u64::try_from(first.token).ok().and_then(FencingToken::from_number);
    Ok(LiveHold {
        request: request.map_err(|error| wrong("ttl", error.to_string()))?,
        token: token.ok_or_else(|| wrong("token", first.token.to_string()))?,
        deadline: first.deadline.0,
    })
}
