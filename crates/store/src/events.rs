//! Events after their commit: their sequence numbers, which are dense within a tenant, reading from
//! a number on, and the cursors of consumers. Numbers are assigned shard by shard, each by one
//! process at a time, in an order that never puts an effect before its cause.

use ade_core::ids::{EventId, TenantId};
use ade_core::limits::{EVENT_SHARDS, EVENTS_PAGE_MAX};
use ade_core::time::Timestamp;
use sqlx::{FromRow, query_as};
use uuid::Uuid;

use crate::error::{RowError, StoreError};
use crate::pool::Pool;
use crate::timestamp::PgTimestamp;
use crate::tx::Tx;

/// Upper bound for the count of events without a sequence number.
const RELAY_WAITING_COUNTED: i32 = 10_000;

/// An event as delivered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Numbered {
    pub id: EventId,
    pub tenant: TenantId,
    /// The sequence number, dense within the tenant, from one on.
    pub seq: u64,
    /// The kind as it was written; a newer release may have further kinds.
    pub kind: String,
    pub object: String,
    pub version: Option<i64>,
    /// The actor; unknown for events written by an older release.
    pub actor: Option<String>,
    pub at: Timestamp,
    /// The payload, a JSON object, as it was written.
    pub data: String,
}

#[derive(FromRow)]
struct EventRow {
    tenant: Uuid,
    number: i64,
    event: Option<Uuid>,
    kind: String,
    object: String,
    version: Option<i64>,
    actor: Option<String>,
    at: PgTimestamp,
    payload: String,
}

const NUMBER: &str = "
    SELECT tenant, number, event, kind, object, version, actor, at, payload
      FROM number_events($1, $2, $3)";
const AFTER: &str = "
    SELECT tenant_id AS tenant, tenant_seq AS number, id AS event, kind, object, version, actor,
           at, payload::text AS payload
      FROM outbox
     WHERE tenant_id = $1 AND tenant_seq > $2 AND at < moment() + interval '1 day'
     ORDER BY tenant_seq LIMIT $3";
const HEAD: &str = "SELECT tenant_seq FROM event_head WHERE tenant_id = $1";
const HEADS: &str = "SELECT tenant_id, tenant_seq FROM event_head WHERE tenant_id = ANY ($1)";
const BEHIND: &str = "
    SELECT h.tenant_id FROM event_head h
      LEFT JOIN consumer_cursor c ON c.tenant_id = h.tenant_id AND c.consumer = $1
     WHERE h.tenant_seq > coalesce(c.tenant_seq, 0)
       AND ($2::uuid IS NULL OR h.tenant_id > $2)
     ORDER BY h.tenant_id LIMIT $3";
const CURSOR: &str = "
    SELECT tenant_seq FROM consumer_cursor WHERE tenant_id = $1 AND consumer = $2";
const ADVANCE: &str = "
    INSERT INTO consumer_cursor AS c (tenant_id, consumer, tenant_seq, moved_at)
    VALUES ($1, $2, $3, $4)
    ON CONFLICT ON CONSTRAINT consumer_cursor_pkey
       DO UPDATE SET tenant_seq = excluded.tenant_seq, moved_at = excluded.moved_at
       WHERE c.tenant_seq < excluded.tenant_seq";
const WAITING: &str = "SELECT waiting, oldest FROM events_waiting($1)";

/// Assigns numbers to the oldest events in these shards and returns them once they are committed.
/// It needs a login that may act as `ade_worker`; any number of processes may call it at once.
pub async fn number(pool: &Pool, shards: &[u8], most: u32) -> Result<Vec<Numbered>, StoreError> {
    let mut connection = pool.acquire().await?;
    let wanted: Vec<i32> = shards.iter().copied().map(i32::from).collect();
    let query = query_as::<_, EventRow>(NUMBER)
        .bind(wanted)
        .bind(i32::from(EVENT_SHARDS))
        .bind(i32::try_from(most).unwrap_or(i32::MAX));
    let rows = query.fetch_all(connection.get()?).await?;
    connection.give_back();
    rows.into_iter().map(numbered).collect()
}

/// Returns the events after a number, in order and without gaps; at most one page.
pub async fn read_after(tx: &mut Tx, seq: u64, limit: u32) -> Result<Vec<Numbered>, StoreError> {
    let query = query_as::<_, EventRow>(AFTER)
        .bind(tx.tenant().uuid())
        .bind(stored(seq)?)
        .bind(i64::from(limit.min(EVENTS_PAGE_MAX)));
    tx.read(query).await?.into_iter().map(numbered).collect()
}

/// Returns the last number assigned in this tenant; zero before the first one.
pub async fn head(tx: &mut Tx) -> Result<u64, StoreError> {
    let rows: Vec<(i64,)> = tx.read(query_as(HEAD).bind(tx.tenant().uuid())).await?;
    Ok(rows.first().map_or(0, |(seq,)| natural(*seq)))
}

/// Returns the last numbers of many tenants in one query, for a login that may act as `ade_worker`.
pub async fn heads(pool: &Pool, tenants: &[TenantId]) -> Result<Vec<(TenantId, u64)>, StoreError> {
    let mut connection = pool.acquire().await?;
    let tenants: Vec<Uuid> = tenants.iter().map(|tenant| tenant.uuid()).collect();
    let query = query_as::<_, (Uuid, i64)>(HEADS).bind(tenants);
    let rows = query.fetch_all(connection.get()?).await?;
    connection.give_back();
    let heads = rows.into_iter().map(|(id, seq)| (TenantId::from_uuid(id), natural(seq)));
    Ok(heads.collect())
}

/// Returns tenants with events that this consumer has not seen, by id. It needs a login that may
/// act as `ade_worker`, which then opens a transaction for each.
pub async fn behind(
    pool: &Pool,
    consumer: &str,
    after: Option<TenantId>,
    limit: u32,
) -> Result<Vec<TenantId>, StoreError> {
    let mut connection = pool.acquire().await?;
    let query = query_as::<_, (Uuid,)>(BEHIND)
        .bind(consumer)
        .bind(after.map(TenantId::uuid))
        .bind(i64::from(limit));
    let rows = query.fetch_all(connection.get()?).await?;
    connection.give_back();
    Ok(rows.into_iter().map(|(id,)| TenantId::from_uuid(id)).collect())
}

/// Returns the number of the last event that this consumer has processed; zero at the start.
pub async fn cursor(tx: &mut Tx, consumer: &str) -> Result<u64, StoreError> {
    let query = query_as(CURSOR).bind(tx.tenant().uuid()).bind(consumer);
    let rows: Vec<(i64,)> = tx.read(query).await?;
    Ok(rows.first().map_or(0, |(seq,)| natural(*seq)))
}

/// Records that the consumer has processed everything up to this number. Returns whether that is
/// new: a cursor never goes back. Cursors are not audited.
pub async fn advance(tx: &mut Tx, consumer: &str, seq: u64) -> Result<bool, StoreError> {
    let query = sqlx::query(ADVANCE)
        .bind(tx.tenant().uuid())
        .bind(consumer)
        .bind(stored(seq)?)
        .bind(PgTimestamp(tx.now()));
    Ok(tx.write_beside(query).await? == 1)
}

/// Events of all tenants that have no number yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SequencingBacklog {
    /// The number of events, counted up to a bound.
    pub count: u64,
    /// When the oldest of them happened.
    pub since: Option<Timestamp>,
}

/// Returns the events without a number. Any login of the application may call it.
pub async fn waiting(pool: &Pool) -> Result<SequencingBacklog, StoreError> {
    let mut connection = pool.acquire().await?;
    let query = query_as::<_, (i64, Option<PgTimestamp>)>(WAITING).bind(RELAY_WAITING_COUNTED);
    let (count, since) = query.fetch_one(connection.get()?).await?;
    connection.give_back();
    Ok(SequencingBacklog { count: natural(count), since: since.map(|moment| moment.0) })
}

fn natural(number: i64) -> u64 {
    u64::try_from(number).unwrap_or_default()
}

fn stored(seq: u64) -> Result<i64, StoreError> {
    i64::try_from(seq).map_err(|error| StoreError::Unstorable {
        value: format!("event {seq}"),
        why: error.to_string(),
    })
}

fn numbered(row: EventRow) -> Result<Numbered, StoreError> {
    let tenant = TenantId::from_uuid(row.tenant);
    let id = row.event.ok_or_else(|| RowError {
        table: "outbox",
        column: "id",
        row: format!("{tenant} {}", row.number),
        why: "it has a sequence number and no id".to_owned(),
    })?;
    Ok(Numbered {
        id: EventId::from_uuid(id),
        tenant,
        seq: natural(row.number),
        kind: row.kind,
        object: row.object,
        version: row.version,
        actor: row.actor,
        at: row.at.0,
        data: row.payload,
    })
}
