//! The next deliveries, and their results. A claimed delivery is reserved until a deadline; a
//! result counts only while the reservation is valid. A finished delivery releases the next one of
//! the same object.

use std::time::Duration;

use ade_core::ids::{DeliveryId, WebhookId};
use ade_core::time::Timestamp;
use sqlx::{query, query_scalar};
use uuid::Uuid;

use super::SEND;
use crate::error::StoreError;
use crate::pool::Pool;
use crate::scheduled_jobs::{self, ScheduledJob};
use crate::timestamp::PgTimestamp;
use crate::tx::Tx;

/// Upper bound for the count of endpoints with pending deliveries, for the metrics.
const WEBHOOK_WAITING_COUNTED: u32 = 10_000;

/// A delivery that this process has reserved for sending.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claimed {
    pub id: DeliveryId,
    pub event_id: String,
    pub object: String,
    pub kind: String,
    pub body: String,
    /// The number of attempts, including the next one.
    pub tries: u32,
    pub created_at: Timestamp,
}

/// The number of deliveries that are being sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sending {
    pub to_endpoint: u32,
    pub of_tenant: u32,
}

pub async fn sending(tx: &mut Tx, endpoint: WebhookId) -> Result<Sending, StoreError> {
    let query = query!(
        r#"SELECT count(*) FILTER (WHERE endpoint_id = $2) AS "to_endpoint!",
                  count(*) AS "of_tenant!"
             FROM webhook_delivery WHERE tenant_id = $1 AND sending_until IS NOT NULL"#,
        tx.tenant().uuid(),
        endpoint.uuid(),
    );
    let row = tx.fetch_one(query).await?;
    let number = |count: i64| u32::try_from(count).unwrap_or(u32::MAX);
    Ok(Sending { to_endpoint: number(row.to_endpoint), of_tenant: number(row.of_tenant) })
}

/// Releases reservations that were never settled: the process may have died before or after
/// sending, so the delivery is sent again. This covers the whole tenant, because reservations count
/// against its limit.
pub async fn release_silent(tx: &mut Tx) -> Result<u64, StoreError> {
    let query = query!(
        "UPDATE webhook_delivery SET sender = NULL, sending_until = NULL
          WHERE tenant_id = $1 AND sending_until <= $2",
        tx.tenant().uuid(),
        PgTimestamp(tx.now()) as _,
    );
    tx.write_beside(query).await
}

/// Reserves the next deliveries to one endpoint for this sender until the given time.
pub async fn claim(
    tx: &mut Tx,
    endpoint: WebhookId,
    sender: Uuid,
    ttl: Duration,
    limit: u32,
) -> Result<Vec<Claimed>, StoreError> {
    let query = query!(
        r#"UPDATE webhook_delivery d
              SET sender = $3, sending_until = $4, tries = tries + 1, tried_at = $5
             FROM (SELECT id FROM webhook_delivery
                    WHERE tenant_id = $1 AND endpoint_id = $2 AND state = 'pending'
                      AND sending_until IS NULL AND next_at <= $5
                    ORDER BY next_at, id LIMIT $6) AS taken
            WHERE d.tenant_id = $1 AND d.id = taken.id
           RETURNING d.id, d.event_id, d.object, d.kind, d.body, d.tries,
                     d.created_at AS "created_at: PgTimestamp""#,
        tx.tenant().uuid(),
        endpoint.uuid(),
        sender,
        PgTimestamp(tx.now().plus(ttl)) as _,
        PgTimestamp(tx.now()) as _,
        i64::from(limit),
    );
    let rows = tx.fetch(query).await?.into_iter().map(|row| Claimed {
        id: DeliveryId::from_uuid(row.id),
        event_id: row.event_id,
        object: row.object,
        kind: row.kind,
        body: row.body,
        tries: row.tries.unsigned_abs(),
        created_at: row.created_at.0,
    });
    Ok(rows.collect())
}

/// The result of one attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeliveryOutcome {
    Delivered,
    Dead,
    /// The delivery is retried at this time.
    Again {
        at: Timestamp,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded<'a> {
    pub ended: DeliveryOutcome,
    pub status: Option<u16>,
    pub excerpt: Option<&'a str>,
    pub problem: Option<&'a str>,
}

/// Records a result and returns whether the reservation was still valid. If not, another process
/// sends it, and nothing changes.
pub async fn record(
    tx: &mut Tx,
    endpoint: WebhookId,
    claimed: &Claimed,
    sender: Uuid,
    recorded: &Recorded<'_>,
) -> Result<bool, StoreError> {
    let (state, next_at) = match recorded.ended {
        DeliveryOutcome::Delivered => ("delivered", None),
        DeliveryOutcome::Dead => ("dead", None),
        DeliveryOutcome::Again { at } => ("pending", Some(at)),
    };
    let query = query!(
        "UPDATE webhook_delivery
            SET state = $4, sender = NULL, sending_until = NULL, status = $5, excerpt = $6,
                problem = $7, next_at = coalesce($8, next_at),
                ended_at = CASE WHEN $8::timestamptz IS NULL THEN $9::timestamptz END
          WHERE tenant_id = $1 AND id = $2 AND sender = $3",
        tx.tenant().uuid(),
        claimed.id.uuid(),
        sender,
        state,
        recorded.status.map(i32::from),
        recorded.excerpt,
        recorded.problem,
        next_at.map(PgTimestamp) as _,
        PgTimestamp(tx.now()) as _,
    );
    let is_ours = tx.write_beside(query).await? == 1;
    if is_ours && next_at.is_none() {
        promote(tx, endpoint, std::slice::from_ref(&claimed.object)).await?;
    }
    Ok(is_ours)
}

/// Promotes the first waiting delivery of each of these objects, if no other is being sent.
async fn promote(tx: &mut Tx, endpoint: WebhookId, objects: &[String]) -> Result<(), StoreError> {
    let query = query!(
        "UPDATE webhook_delivery d SET state = 'pending', next_at = $4
           FROM (SELECT object, min(seq) AS seq FROM webhook_delivery
                  WHERE tenant_id = $1 AND endpoint_id = $2 AND object = ANY ($3)
                    AND state IN ('waiting', 'pending')
                  GROUP BY object HAVING bool_and(state = 'waiting')) AS first
          WHERE d.tenant_id = $1 AND d.endpoint_id = $2 AND d.object = first.object
            AND d.seq = first.seq AND d.state = 'waiting'",
        tx.tenant().uuid(),
        endpoint.uuid(),
        objects,
        PgTimestamp(tx.now()) as _,
    );
    tx.write_beside(query).await?;
    Ok(())
}

/// Dead-letters deliveries that were queued before `until` and are not being sent, and returns how
/// many.
pub async fn bury_old(
    tx: &mut Tx,
    endpoint: WebhookId,
    until: Timestamp,
    problem: &str,
    limit: u32,
) -> Result<usize, StoreError> {
    let query = query!(
        "UPDATE webhook_delivery d SET state = 'dead', problem = $4, ended_at = $5
           FROM (SELECT id FROM webhook_delivery
                  WHERE tenant_id = $1 AND endpoint_id = $2 AND state IN ('waiting', 'pending')
                    AND queued_at <= $3 AND sending_until IS NULL
                  ORDER BY queued_at LIMIT $6) AS old
          WHERE d.tenant_id = $1 AND d.id = old.id
         RETURNING d.object",
        tx.tenant().uuid(),
        endpoint.uuid(),
        PgTimestamp(until) as _,
        problem,
        PgTimestamp(tx.now()) as _,
        i64::from(limit),
    );
    let buried: Vec<String> = tx.fetch(query).await?.into_iter().map(|row| row.object).collect();
    if !buried.is_empty() {
        promote(tx, endpoint, &buried).await?;
    }
    Ok(buried.len())
}

/// Schedules the next check of the endpoint: not before `rest_until` for deliveries that are not
/// being sent yet, and never if nothing is left.
pub async fn look_again(
    tx: &mut Tx,
    endpoint: WebhookId,
    rest_until: Timestamp,
) -> Result<(), StoreError> {
    let query = query_scalar!(
        r#"SELECT least(
                  greatest((SELECT min(next_at) FROM webhook_delivery
                             WHERE tenant_id = $1 AND endpoint_id = $2 AND state = 'pending'
                               AND sending_until IS NULL), $3),
                  (SELECT min(sending_until) FROM webhook_delivery
                    WHERE tenant_id = $1 AND sending_until IS NOT NULL AND endpoint_id = $2))
                  AS "at: PgTimestamp""#,
        tx.tenant().uuid(),
        endpoint.uuid(),
        PgTimestamp(rest_until) as _,
    );
    let at: Option<PgTimestamp> = tx.fetch_value(query).await?;
    match at {
        Some(PgTimestamp(at)) => {
            scheduled_jobs::set(tx, &[ScheduledJob { kind: SEND, object: endpoint.uuid(), at }])
                .await
        }
        None => scheduled_jobs::clear(tx, SEND, endpoint.uuid()).await.map(drop),
    }
}

/// The state of all webhooks of the installation, for a login that may act as `ade_worker`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Health {
    /// The endpoints with waiting deliveries, counted up to a bound.
    pub waiting: u32,
    /// When the first of them was due.
    pub oldest: Option<Timestamp>,
    pub open_circuits: u32,
}

pub async fn health(pool: &Pool) -> Result<Health, StoreError> {
    let mut connection = pool.acquire().await?;
    let query = query!(
        r#"SELECT (SELECT count(*) FROM (SELECT FROM scheduled_job
               WHERE kind = $1 LIMIT $2) AS some_of)
                      AS "pending!",
                  (SELECT min(at) FROM scheduled_job WHERE kind = $1) AS "oldest: PgTimestamp",
                  open_webhook_circuits() AS "open_circuits!""#,
        SEND,
        i64::from(WEBHOOK_WAITING_COUNTED),
    );
    let row = query.fetch_one(connection.get()?).await?;
    let number = |count: i64| u32::try_from(count).unwrap_or(u32::MAX);
    Ok(Health {
        waiting: number(row.pending),
        oldest: row.oldest.map(|moment| moment.0),
        open_circuits: number(row.open_circuits),
    })
}
