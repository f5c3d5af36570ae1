//! Deliveries as rows: created once per event and endpoint, listed, redelivered, and deleted after
//! their retention. A process that creates or revives one holds the queue lock.

use ade_core::ids::{DeliveryId, TenantId, WebhookId};
use ade_core::time::Timestamp;
use sqlx::{query, query_as, query_scalar};
use uuid::Uuid;

use crate::error::{RowError, StoreError};
use crate::pool::Pool;
use crate::timestamp::PgTimestamp;
use crate::tx::Tx;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeliveryState {
    /// An earlier event of the same object is not finished yet.
    Waiting,
    Pending,
    Delivered,
    Dead,
}

impl DeliveryState {
    pub const ALL: [Self; 4] = [Self::Waiting, Self::Pending, Self::Delivered, Self::Dead];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Pending => "pending",
            Self::Delivered => "delivered",
            Self::Dead => "dead",
        }
    }
}

/// The delivery of an event to one endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewDelivery {
    pub id: DeliveryId,
    pub endpoint: WebhookId,
    pub event_id: String,
    /// The sequence number; `None` for a ping.
    pub seq: Option<i64>,
    pub kind: String,
    pub object: String,
    pub body: String,
    /// Why it is dead-lettered from the start.
    pub problem: Option<&'static str>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    pub id: DeliveryId,
    pub endpoint: WebhookId,
    pub event_id: String,
    pub seq: Option<i64>,
    pub kind: String,
    pub object: String,
    pub body: String,
    pub state: DeliveryState,
    pub tries: u32,
    pub next_at: Timestamp,
    pub status: Option<u16>,
    pub excerpt: Option<String>,
    pub problem: Option<String>,
    pub created_at: Timestamp,
    pub tried_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
}

struct DeliveryRow {
    id: Uuid,
    endpoint_id: Uuid,
    event_id: String,
    seq: Option<i64>,
    kind: String,
    object: String,
    body: String,
    state: String,
    tries: i32,
    next_at: PgTimestamp,
    status: Option<i32>,
    excerpt: Option<String>,
    problem: Option<String>,
    created_at: PgTimestamp,
    tried_at: Option<PgTimestamp>,
    ended_at: Option<PgTimestamp>,
}

impl TryFrom<DeliveryRow> for Delivery {
    type Error = RowError;

    fn try_from(row: DeliveryRow) -> Result<Self, RowError> {
        let id = DeliveryId::from_uuid(row.id);
        let state = DeliveryState::ALL.into_iter().find(|state| state.as_str() == row.state);
        let state = state.ok_or_else(|| RowError {
            table: "webhook_delivery",
            column: "state",
            row: id.to_string(),
            why: format!("`{}`", row.state),
        })?;
        Ok(Self {
            id,
            endpoint: WebhookId::from_uuid(row.endpoint_id),
            event_id: row.event_id,
            seq: row.seq,
            kind: row.kind,
            object: row.object,
            body: row.body,
            state,
            tries: row.tries.unsigned_abs(),
            next_at: row.next_at.0,
            status: row.status.and_then(|status| u16::try_from(status).ok()),
            excerpt: row.excerpt,
            problem: row.problem,
            created_at: row.created_at.0,
            tried_at: row.tried_at.map(|moment| moment.0),
            ended_at: row.ended_at.map(|moment| moment.0),
        })
    }
}

/// Adds deliveries in order: one behind an earlier one of the same object waits. Existing ones stay
/// unchanged. Returns how many are new.
pub async fn add(tx: &mut Tx, new: &[NewDelivery]) -> Result<u64, StoreError> {
    if new.is_empty() {
        return Ok(0);
    }
    let ids: Vec<Uuid> = new.iter().map(|one| one.id.uuid()).collect();
    let endpoints: Vec<Uuid> = new.iter().map(|one| one.endpoint.uuid()).collect();
    let events: Vec<String> = new.iter().map(|one| one.event_id.clone()).collect();
    let seqs: Vec<Option<i64>> = new.iter().map(|one| one.seq).collect();
    let kinds: Vec<String> = new.iter().map(|one| one.kind.clone()).collect();
    let objects: Vec<String> = new.iter().map(|one| one.object.clone()).collect();
    let bodies: Vec<String> = new.iter().map(|one| one.body.clone()).collect();
    let problems: Vec<Option<String>> =
        new.iter().map(|one| one.problem.map(str::to_owned)).collect();
    let query = query!(
        "WITH given AS (
             SELECT * FROM unnest($2::uuid[], $3::uuid[], $4::text[], $5::bigint[], $6::text[],
                                  $7::text[], $8::text[], $9::text[])
                 AS given (id, endpoint_id, event_id, seq, kind, object, body, problem)),
         placed AS (
             SELECT given.*,
                    lag(given.id) OVER (PARTITION BY given.endpoint_id, given.object,
                                                     given.problem IS NULL
                                        ORDER BY given.seq) IS NOT NULL AS is_behind
               FROM given)
         INSERT INTO webhook_delivery (tenant_id, id, endpoint_id, event_id, seq, kind, object,
                                       body, state, next_at, problem, created_at, queued_at,
                                       ended_at)
         SELECT $1, p.id, p.endpoint_id, p.event_id, p.seq, p.kind, p.object, p.body,
                CASE WHEN p.problem IS NOT NULL THEN 'dead'
                     WHEN p.is_behind OR EXISTS (
                          SELECT FROM webhook_delivery d
                           WHERE d.tenant_id = $1 AND d.endpoint_id = p.endpoint_id
                             AND d.object = p.object AND d.state IN ('waiting', 'pending'))
                     THEN 'waiting' ELSE 'pending' END,
                $10, p.problem, $10, $10, CASE WHEN p.problem IS NOT NULL THEN $10::timestamptz END
           FROM placed p
         ON CONFLICT ON CONSTRAINT webhook_delivery_is_made_once DO NOTHING",
        tx.tenant().uuid(),
        &ids,
        &endpoints,
        &events,
        &seqs as &[Option<i64>],
        &kinds,
        &objects,
        &bodies,
        &problems as &[Option<String>],
        PgTimestamp(tx.now()) as _,
    );
    tx.write_beside(query).await
}

/// Returns how many deliveries wait for the endpoint, up to a bound.
pub async fn open_count(tx: &mut Tx, endpoint: WebhookId, most: u32) -> Result<u32, StoreError> {
    let query = query_scalar!(
        r#"SELECT count(*) AS "count!"
             FROM (SELECT FROM webhook_delivery
                    WHERE tenant_id = $1 AND endpoint_id = $2 AND state IN ('waiting', 'pending')
                    LIMIT $3) AS open"#,
        tx.tenant().uuid(),
        endpoint.uuid(),
        i64::from(most),
    );
    Ok(u32::try_from(tx.fetch_value(query).await?).unwrap_or(u32::MAX))
}

pub async fn find(tx: &mut Tx, id: DeliveryId) -> Result<Option<Delivery>, StoreError> {
    let query = query_as!(
        DeliveryRow,
        r#"SELECT id, endpoint_id, event_id, seq, kind, object, body, state, tries,
                  next_at AS "next_at: PgTimestamp", status, excerpt, problem,
                  created_at AS "created_at: PgTimestamp", tried_at AS "tried_at: PgTimestamp",
                  ended_at AS "ended_at: PgTimestamp"
             FROM webhook_delivery WHERE tenant_id = $1 AND id = $2"#,
        tx.tenant().uuid(),
        id.uuid(),
    );
    Ok(tx.fetch(query).await?.pop().map(Delivery::try_from).transpose()?)
}

/// Returns the deliveries of one endpoint, newest first, in one state if it is given.
pub async fn list_deliveries(
    tx: &mut Tx,
    endpoint: WebhookId,
    state: Option<DeliveryState>,
    after: Option<DeliveryId>,
    limit: u32,
) -> Result<Vec<Delivery>, StoreError> {
    let query = query_as!(
        DeliveryRow,
        r#"SELECT id, endpoint_id, event_id, seq, kind, object, body, state, tries,
                  next_at AS "next_at: PgTimestamp", status, excerpt, problem,
                  created_at AS "created_at: PgTimestamp", tried_at AS "tried_at: PgTimestamp",
                  ended_at AS "ended_at: PgTimestamp"
             FROM webhook_delivery
            WHERE tenant_id = $1 AND endpoint_id = $2 AND ($3::text IS NULL OR state = $3)
              AND ($4::uuid IS NULL OR id < $4)
            ORDER BY id DESC LIMIT $5"#,
        tx.tenant().uuid(),
        endpoint.uuid(),
        state.map(DeliveryState::as_str),
        after.map(DeliveryId::uuid),
        i64::from(limit),
    );
    let rows = tx.fetch(query).await?.into_iter();
    Ok(rows.map(Delivery::try_from).collect::<Result<Vec<_>, _>>()?)
}

/// Sends those of these deliveries that have ended again, with all attempts. Returns how many.
pub async fn redeliver(
    tx: &mut Tx,
    endpoint: WebhookId,
    ids: &[DeliveryId],
) -> Result<u64, StoreError> {
    let ids: Vec<Uuid> = ids.iter().map(|id| id.uuid()).collect();
    let query = query_scalar!(
        r#"SELECT webhook_redeliver($1, $2, $3) AS "count!""#,
        endpoint.uuid(),
        &ids,
        PgTimestamp(tx.now()) as _,
    );
    let count = tx.fetch_value(query).await?;
    tx.note_write();
    Ok(count.unsigned_abs())
}

/// Sends the dead deliveries of an endpoint that ended since then again, oldest first.
pub async fn redeliver_dead(
    tx: &mut Tx,
    endpoint: WebhookId,
    since: Timestamp,
    limit: u32,
) -> Result<u64, StoreError> {
    let query = query!(
        "SELECT id FROM webhook_delivery
          WHERE tenant_id = $1 AND endpoint_id = $2 AND state = 'dead' AND ended_at >= $3
          ORDER BY seq LIMIT $4",
        tx.tenant().uuid(),
        endpoint.uuid(),
        PgTimestamp(since) as _,
        i64::from(limit),
    );
    let dead = tx.fetch(query).await?.into_iter();
    let dead: Vec<DeliveryId> = dead.map(|row| DeliveryId::from_uuid(row.id)).collect();
    redeliver(tx, endpoint, &dead).await
}

/// Deletes deliveries that ended before `until` and returns how many.
pub async fn prune(tx: &mut Tx, until: Timestamp, limit: u32) -> Result<u64, StoreError> {
    let query = query!(
        "WITH old AS MATERIALIZED (
             SELECT id FROM webhook_delivery WHERE tenant_id = $1 AND ended_at <= $2
              ORDER BY ended_at LIMIT $3 FOR UPDATE SKIP LOCKED)
         DELETE FROM webhook_delivery kept USING old
          WHERE kept.tenant_id = $1 AND kept.id = old.id",
        tx.tenant().uuid(),
        PgTimestamp(until) as _,
        i64::from(limit),
    );
    tx.write_beside(query).await
}

/// Returns tenants with deliveries to delete, for a login that may act as `ade_worker`.
pub async fn tenants_to_prune(
    pool: &Pool,
    until: Timestamp,
    limit: u32,
) -> Result<Vec<TenantId>, StoreError> {
    let mut connection = pool.acquire().await?;
    let query = query_scalar!(
        r#"SELECT tenant_id AS "tenant_id!"
             FROM tenants_with_old_deliveries($1, $2) AS found (tenant_id)"#,
        PgTimestamp(until) as _,
        i32::try_from(limit).unwrap_or(i32::MAX),
    );
    let tenants = query.fetch_all(connection.get()?).await?;
    Ok(tenants.into_iter().map(TenantId::from_uuid).collect())
}
