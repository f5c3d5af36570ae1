//! The lock queue of a tenant without Redis: waits as rows that are not audited. A caller that
//! enters it locks the row of the epoch, so requests are judged one after the other.

use std::time::Duration;

use ade_core::ids::LeaseId;
use ade_core::limits::LEASE_TOMBSTONE_TTL;
use ade_core::lock::{Epoch, Lease, LeaseClass, LeasePhase, LockSet, Order, Request, RequestDraft};
use ade_core::resource::ResourceRef;
use ade_core::time::Timestamp;
use sqlx::FromRow;
use sqlx::query_as;
use uuid::Uuid;

use super::live::{self, mode_of};
use super::{capacity, epochs, mode_text};
use crate::error::{RowError, StoreError};
use crate::timestamp::PgTimestamp;
use crate::tx::Tx;

/// The queue as seen by the caller that has entered it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entered {
    pub epoch: Epoch,
    pub arrivals: u64,
    /// The time by the clock that judges deadlines.
    pub now: Timestamp,
}

const ENTER: &str = "
    SELECT arrivals, clock_timestamp() FROM lock_epoch WHERE tenant_id = $1 FOR NO KEY UPDATE";
const COLUMNS: &str = "
    SELECT lease_id, state, owner, node, born_at, deadline,
           (extract(epoch FROM ttl) * 1000)::bigint AS ttl_ms,
           (extract(epoch FROM lock_delay) * 1000)::bigint AS lock_delay_ms,
           (extract(epoch FROM patience) * 1000)::bigint AS patience_ms,
           boost, place, arrival, resources, modes, capacities
      FROM lock_wait";
const WAITING: &str = " WHERE tenant_id = $1 AND state = 'waiting'
       AND deadline > clock_timestamp() ORDER BY place, arrival, lease_id";
const KNOWN: &str = " WHERE tenant_id = $1 AND lease_id = ANY ($2)";
const JOIN: &str = "
    INSERT INTO lock_wait (tenant_id, lease_id, state, owner, node, born_at, ttl, lock_delay,
                           patience, boost, place, arrival, deadline, resources, modes, capacities)
    VALUES ($1, $2, 'waiting', $3, $4, $5, make_interval(secs => $6), make_interval(secs => $7),
            make_interval(secs => $8), $9, $10, $11,
            clock_timestamp() + make_interval(secs => $8), $12, $13, $14)";
/// Deletes waits that were not kept alive: such a wait must not keep its owner from another one.
const FORGET: &str = "
    DELETE FROM lock_wait
     WHERE tenant_id = $1 AND (owner = $2 OR lease_id = $3) AND deadline <= clock_timestamp()";
const COUNT: &str = "UPDATE lock_epoch SET arrivals = arrivals + 1 WHERE tenant_id = $1";
const TOUCH: &str = "SELECT lock_touch($1)";
/// Ends a wait, found by its key alone: with more conditions the planner would search all waits.
const END: &str = "
    WITH own AS MATERIALIZED (
        SELECT state FROM lock_wait WHERE tenant_id = $1 AND lease_id = $2 FOR UPDATE)
    UPDATE lock_wait SET state = $3, deadline = clock_timestamp() + make_interval(secs => $4)
      FROM own WHERE own.state = 'waiting' AND tenant_id = $1 AND lease_id = $2";
const LEAVE: &str = "DELETE FROM lock_wait WHERE tenant_id = $1 AND lease_id = $2";
const SWEEP: &str = "
    WITH old AS MATERIALIZED (
        SELECT lease_id FROM lock_wait
         WHERE tenant_id = $1 AND deadline <= clock_timestamp()
         ORDER BY deadline LIMIT $2 FOR UPDATE SKIP LOCKED)
    DELETE FROM lock_wait kept USING old
     WHERE kept.tenant_id = $1 AND kept.lease_id = old.lease_id";

#[derive(Debug, FromRow)]
struct WaitRow {
    lease_id: Uuid,
    state: String,
    owner: String,
    node: String,
    born_at: PgTimestamp,
    deadline: PgTimestamp,
    ttl_ms: i64,
    lock_delay_ms: i64,
    patience_ms: i64,
    boost: i32,
    place: i64,
    arrival: i64,
    resources: Vec<String>,
    modes: Vec<String>,
    capacities: Vec<Option<i32>>,
}

/// Enters the queue. One transaction at a time is inside; it leaves when it ends.
pub async fn enter(tx: &mut Tx) -> Result<Entered, StoreError> {
    let epoch = epochs::current(tx).await?.epoch;
    let rows: Vec<(i64, PgTimestamp)> = tx.read(query_as(ENTER).bind(tx.tenant().uuid())).await?;
    let (arrivals, now) = rows.into_iter().next().ok_or(sqlx::Error::RowNotFound)?;
    Ok(Entered { epoch, arrivals: u64::try_from(arrivals).unwrap_or_default(), now: now.0 })
}

/// Returns all waits, first to last.
pub async fn waiting(tx: &mut Tx) -> Result<Vec<Lease>, StoreError> {
    let text = text_of(WAITING);
    let rows: Vec<WaitRow> =
        tx.read(query_as(sqlx::AssertSqlSafe(text)).bind(tx.tenant().uuid())).await?;
    rows.into_iter().map(|row| Ok(lease(row)?)).collect()
}

/// Returns those of these leases that wait, or have just left the queue.
pub async fn find(tx: &mut Tx, leases: &[LeaseId]) -> Result<Vec<Lease>, StoreError> {
    let ids: Vec<Uuid> = leases.iter().map(|lease| lease.uuid()).collect();
    let text = text_of(KNOWN);
    let query = query_as(sqlx::AssertSqlSafe(text)).bind(tx.tenant().uuid()).bind(ids);
    let rows: Vec<WaitRow> = tx.read(query).await?;
    rows.into_iter().map(|row| Ok(lease(row)?)).collect()
}

fn text_of(rest: &str) -> String {
    format!("{COLUMNS}{rest}")
}

/// Returns the complete leases that hold one of these resources: those that could still commit and
/// those whose lock delay is not over.
pub async fn holding(tx: &mut Tx, on: &[ResourceRef]) -> Result<Vec<Lease>, StoreError> {
    let holds = live::on(tx, on).await?;
    let now = tx.now();
    Ok(holds.into_iter().map(|hold| hold.seen_at(now)).collect())
}

pub async fn join(tx: &mut Tx, request: &Request, order: Order) -> Result<(), StoreError> {
    let set = request.set();
    let number = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
    let stale = sqlx::query(FORGET)
        .bind(tx.tenant().uuid())
        .bind(request.owner().to_string())
        .bind(request.lease().uuid());
    tx.write_beside(stale).await?;
    let query = sqlx::query(JOIN)
        .bind(tx.tenant().uuid())
        .bind(request.lease().uuid())
        .bind(request.owner().to_string())
        .bind(request.node())
        .bind(PgTimestamp(request.birth()))
        .bind(request.ttl().as_secs_f64())
        .bind(request.class().lock_delay().as_secs_f64())
        .bind(request.wait().as_secs_f64())
        .bind(i32::try_from(request.boost()).unwrap_or(i32::MAX))
        .bind(number(order.place()))
        .bind(number(order.arrival()))
        .bind(set.resources().map(ToString::to_string).collect::<Vec<_>>())
        .bind(set.iter().map(|(_, mode)| mode_text(mode)).collect::<Vec<_>>())
        .bind(set.iter().map(|(_, mode)| capacity(mode)).collect::<Vec<_>>());
    tx.write_beside(query).await?;
    count(tx).await
}

/// Counts one more arrival.
pub async fn count(tx: &mut Tx) -> Result<(), StoreError> {
    tx.write_beside(sqlx::query(COUNT).bind(tx.tenant().uuid())).await?;
    Ok(())
}

/// Keeps waiting requests alive.
pub async fn touch(tx: &mut Tx, leases: &[LeaseId]) -> Result<(), StoreError> {
    let ids: Vec<Uuid> = leases.iter().map(|lease| lease.uuid()).collect();
    tx.write_beside(sqlx::query(TOUCH).bind(ids)).await?;
    Ok(())
}

/// Ends a wait without a grant and returns whether there was one.
pub async fn end(tx: &mut Tx, lease: LeaseId, state: LeasePhase) -> Result<bool, StoreError> {
    let word = match state {
        LeasePhase::Victim => "victim",
        LeasePhase::TimedOut => "timed_out",
        _ => "released",
    };
    let query = sqlx::query(END)
        .bind(tx.tenant().uuid())
        .bind(lease.uuid())
        .bind(word)
        .bind(LEASE_TOMBSTONE_TTL.as_secs_f64());
    Ok(tx.write_beside(query).await? > 0)
}

/// Removes a wait from the queue for a grant.
pub async fn leave(tx: &mut Tx, lease: LeaseId) -> Result<(), StoreError> {
    tx.write_beside(sqlx::query(LEAVE).bind(tx.tenant().uuid()).bind(lease.uuid())).await?;
    Ok(())
}

/// Deletes ended and silent waits, up to `limit`.
pub async fn sweep(tx: &mut Tx, limit: usize) -> Result<u64, StoreError> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    tx.write_beside(sqlx::query(SWEEP).bind(tx.tenant().uuid()).bind(limit)).await
}

fn lease(row: WaitRow) -> Result<Lease, RowError> {
    let id = LeaseId::from_uuid(row.lease_id);
    let wrong =
        |column, why: String| RowError { table: "lock_wait", column, row: id.to_string(), why };
    let mut wanted = Vec::new();
    let modes = row.modes.iter().zip(&row.capacities);
    for (name, (mode, capacity)) in row.resources.iter().zip(modes) {
        let resource: ResourceRef = name.parse().map_err(|_| wrong("resources", name.clone()))?;
        let mode = mode_of(mode, *capacity).ok_or_else(|| wrong("modes", mode.clone()))?;
        wanted.push((resource, mode));
    }
    let millis = |ms: i64| Duration::from_millis(u64::try_from(ms).unwrap_or_default());
    let draft = RequestDraft {
        lease: id,
        owner: row.owner.parse().map_err(|_| wrong("owner", row.owner.clone()))?,
        node: row.node,
        birth: row.born_at.0,
        class: LeaseClass::Fenced { lock_delay: millis(row.lock_delay_ms) },
        set: LockSet::new(wanted).map_err(|error| wrong("resources", error.to_string()))?,
        ttl: millis(row.ttl_ms),
        wait: millis(row.patience_ms),
        boost: u32::try_from(row.boost).unwrap_or_default(),
    };
    let number = |value: i64| u64::try_from(value).unwrap_or_default();
    Ok(Lease {
        request: Request::new(draft).map_err(|error| wrong("ttl", error.to_string()))?,
        state: match row.state.as_str() {
            "waiting" => LeasePhase::Waiting,
            "victim" => LeasePhase::Victim,
            "timed_out" => LeasePhase::TimedOut,
            "released" => LeasePhase::Released,
            other => return Err(wrong("state", other.to_owned())),
        },
        token: None,
        order: Order::from_numbers(number(row.place), number(row.arrival)),
        deadline: row.deadline.0,
        held_since: None,
        registered: false,
    })
}
