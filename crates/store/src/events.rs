//! Events after their commit: the dense number that each gets within its tenant, what lies behind
//! a number, and how far each consumer has come. Numbers are given shard by shard, each by one at
//! a time, in an order that no cause and its effect contradict.

use ade_core::ids::{EventId, TenantId};
use ade_core::limits::{EVENT_SHARDS, EVENTS_PAGE_MAX, RELAY_WAITING_COUNTED};
use ade_core::time::Timestamp;
use sqlx::{FromRow, query_as};
use uuid::Uuid;

use crate::error::{Error, RowError};
use crate::moment::Moment;
use crate::pool::Pool;
use crate::tx::Tx;

/// An event as everybody is told it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Numbered {
    pub id: EventId,
    pub tenant: TenantId,
    /// Dense within the tenant, from one on.
    pub seq: u64,
    /// As it was written: a newer release may know more of them.
    pub kind: String,
    pub object: String,
    pub version: Option<i64>,
    /// Who did it; unknown of what was written by an older release.
    pub actor: Option<String>,
    pub at: Timestamp,
    /// A JSON object, as it was written.
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
    at: Moment,
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

/// Gives the oldest events in these shards their numbers, and answers once that is committed. By
/// a login that may act as `ade_worker`; any number of them may do so at once.
pub async fn number(pool: &Pool, shards: &[u8], most: u32) -> Result<Vec<Numbered>, Error> {
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

/// What follows a number, in order and without a gap; at most a page of it.
pub async fn read_after(tx: &mut Tx, seq: u64, limit: u32) -> Result<Vec<Numbered>, Error> {
    let query = query_as::<_, EventRow>(AFTER)
        .bind(tx.tenant().uuid())
        .bind(stored(seq)?)
        .bind(i64::from(limit.min(EVENTS_PAGE_MAX)));
    tx.read(query).await?.into_iter().map(numbered).collect()
}

/// The last number that was given in this tenant; zero if none was.
pub async fn head(tx: &mut Tx) -> Result<u64, Error> {
    let rows: Vec<(i64,)> = tx.read(query_as(HEAD).bind(tx.tenant().uuid())).await?;
    Ok(rows.first().map_or(0, |(seq,)| natural(*seq)))
}

/// The same for many tenants in one look, by a login that may act as `ade_worker`.
pub async fn heads(pool: &Pool, tenants: &[TenantId]) -> Result<Vec<(TenantId, u64)>, Error> {
    let mut connection = pool.acquire().await?;
    let tenants: Vec<Uuid> = tenants.iter().map(|tenant| tenant.uuid()).collect();
    let query = query_as::<_, (Uuid, i64)>(HEADS).bind(tenants);
    let rows = query.fetch_all(connection.get()?).await?;
    connection.give_back();
    let heads = rows.into_iter().map(|(id, seq)| (TenantId::from_uuid(id), natural(seq)));
    Ok(heads.collect())
}

/// Tenants with events that this consumer has not seen, by id; by a login that may act as
/// `ade_worker`, which then opens a transaction for each.
pub async fn behind(
    pool: &Pool,
    consumer: &str,
    after: Option<TenantId>,
    limit: u32,
) -> Result<Vec<TenantId>, Error> {
    let mut connection = pool.acquire().await?;
    let query = query_as::<_, (Uuid,)>(BEHIND)
        .bind(consumer)
        .bind(after.map(TenantId::uuid))
        .bind(i64::from(limit));
    let rows = query.fetch_all(connection.get()?).await?;
    connection.give_back();
    Ok(rows.into_iter().map(|(id,)| TenantId::from_uuid(id)).collect())
}

/// The last event that this consumer is done with; zero if it has seen none.
pub async fn cursor(tx: &mut Tx, consumer: &str) -> Result<u64, Error> {
    let query = query_as(CURSOR).bind(tx.tenant().uuid()).bind(consumer);
    let rows: Vec<(i64,)> = tx.read(query).await?;
    Ok(rows.first().map_or(0, |(seq,)| natural(*seq)))
}

/// The consumer is done with all up to this one. Answers whether that is news: a cursor never
/// goes back. It is no part of the record, and needs no leaf.
pub async fn advance(tx: &mut Tx, consumer: &str, seq: u64) -> Result<bool, Error> {
    let query = sqlx::query(ADVANCE)
        .bind(tx.tenant().uuid())
        .bind(consumer)
        .bind(stored(seq)?)
        .bind(Moment(tx.now()));
    Ok(tx.write_beside(query).await? == 1)
}

/// Events of all tenants that have no number yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waiting {
    /// Counted up to a bound.
    pub count: u64,
    /// When the oldest of them happened.
    pub since: Option<Timestamp>,
}

/// By any login of the application.
pub async fn waiting(pool: &Pool) -> Result<Waiting, Error> {
    let mut connection = pool.acquire().await?;
    let query = query_as::<_, (i64, Option<Moment>)>(WAITING).bind(RELAY_WAITING_COUNTED);
    let (count, since) = query.fetch_one(connection.get()?).await?;
    connection.give_back();
    Ok(Waiting { count: natural(count), since: since.map(|moment| moment.0) })
}

fn natural(number: i64) -> u64 {
    u64::try_from(number).unwrap_or_default()
}

fn stored(seq: u64) -> Result<i64, Error> {
    i64::try_from(seq).map_err(|error| Error::Unstorable {
        value: format!("event {seq}"),
        why: error.to_string(),
    })
}

fn numbered(row: EventRow) -> Result<Numbered, Error> {
    let tenant = TenantId::from_uuid(row.tenant);
    let id = row.event.ok_or_else(|| RowError {
        table: "outbox",
        column: "id",
        row: format!("{tenant} {}", row.number),
        why: "it has a number and no id".to_owned(),
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
