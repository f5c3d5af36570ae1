//! What is sent next, and what became of it. Whoever takes a delivery has it until a deadline; its
//! word counts only while nobody else has taken it since. A delivery that is over lets the next one
//! of the same object go.

use std::time::Duration;

use ade_core::ids::{DeliveryId, WebhookId};
use ade_core::limits::WEBHOOK_WAITING_COUNTED;
use ade_core::time::Timestamp;
use sqlx::{query, query_scalar};
use uuid::Uuid;

use super::SEND;
use crate::due::{self, Due};
use crate::error::Error;
use crate::moment::Moment;
use crate::pool::Pool;
use crate::tx::Tx;

/// A delivery that is ours to send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claimed {
    pub id: DeliveryId,
    pub event_id: String,
    pub object: String,
    pub kind: String,
    pub body: String,
    /// With the one to come.
    pub tries: u32,
    pub created_at: Timestamp,
}

/// How many are on their way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sending {
    pub to_endpoint: u32,
    pub of_tenant: u32,
}

pub async fn sending(tx: &mut Tx, endpoint: WebhookId) -> Result<Sending, Error> {
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

/// Takes back what was taken and never told of: its process may have died before or after it was
/// sent, so it goes out again. Of the whole tenant, since it counts against all of it.
pub async fn release_silent(tx: &mut Tx) -> Result<u64, Error> {
    let query = query!(
        "UPDATE webhook_delivery SET sender = NULL, sending_until = NULL
          WHERE tenant_id = $1 AND sending_until <= $2",
        tx.tenant().uuid(),
        Moment(tx.now()) as _,
    );
    tx.write_beside(query).await
}

/// The next deliveries to one endpoint, for this sender until then.
pub async fn claim(
    tx: &mut Tx,
    endpoint: WebhookId,
    sender: Uuid,
    ttl: Duration,
    limit: u32,
) -> Result<Vec<Claimed>, Error> {
    let query = query!(
        r#"UPDATE webhook_delivery d
              SET sender = $3, sending_until = $4, tries = tries + 1, tried_at = $5
             FROM (SELECT id FROM webhook_delivery
                    WHERE tenant_id = $1 AND endpoint_id = $2 AND state = 'pending'
                      AND sending_until IS NULL AND next_at <= $5
                    ORDER BY next_at, id LIMIT $6) AS taken
            WHERE d.tenant_id = $1 AND d.id = taken.id
           RETURNING d.id, d.event_id, d.object, d.kind, d.body, d.tries,
                     d.created_at AS "created_at: Moment""#,
        tx.tenant().uuid(),
        endpoint.uuid(),
        sender,
        Moment(tx.now().plus(ttl)) as _,
        Moment(tx.now()) as _,
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

/// What came of one try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    Delivered,
    Dead,
    /// Not over: at that moment it is tried again.
    Again {
        at: Timestamp,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded<'a> {
    pub ended: Ended,
    pub status: Option<u16>,
    pub excerpt: Option<&'a str>,
    pub problem: Option<&'a str>,
}

/// Whether it was still ours. If not, somebody else sends it, and nothing changes.
pub async fn record(
    tx: &mut Tx,
    endpoint: WebhookId,
    claimed: &Claimed,
    sender: Uuid,
    recorded: &Recorded<'_>,
) -> Result<bool, Error> {
    let (state, next_at) = match recorded.ended {
        Ended::Delivered => ("delivered", None),
        Ended::Dead => ("dead", None),
        Ended::Again { at } => ("pending", Some(at)),
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
        next_at.map(Moment) as _,
        Moment(tx.now()) as _,
    );
    let is_ours = tx.write_beside(query).await? == 1;
    if is_ours && next_at.is_none() {
        promote(tx, endpoint, std::slice::from_ref(&claimed.object)).await?;
    }
    Ok(is_ours)
}

/// The first that waits of each of these objects, if no other is on its way.
async fn promote(tx: &mut Tx, endpoint: WebhookId, objects: &[String]) -> Result<(), Error> {
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
        Moment(tx.now()) as _,
    );
    tx.write_beside(query).await?;
    Ok(())
}

/// Makes dead letters of what was queued before `until` and is not on its way; gives how many.
pub async fn bury_old(
    tx: &mut Tx,
    endpoint: WebhookId,
    until: Timestamp,
    problem: &str,
    limit: u32,
) -> Result<usize, Error> {
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
        Moment(until) as _,
        problem,
        Moment(tx.now()) as _,
        i64::from(limit),
    );
    let buried: Vec<String> = tx.fetch(query).await?.into_iter().map(|row| row.object).collect();
    if !buried.is_empty() {
        promote(tx, endpoint, &buried).await?;
    }
    Ok(buried.len())
}

/// When a worker has to look at the endpoint again: not before `rest_until` for what is not on its
/// way yet. Never, if nothing is left.
pub async fn look_again(
    tx: &mut Tx,
    endpoint: WebhookId,
    rest_until: Timestamp,
) -> Result<(), Error> {
    let query = query_scalar!(
        r#"SELECT least(
                  greatest((SELECT min(next_at) FROM webhook_delivery
                             WHERE tenant_id = $1 AND endpoint_id = $2 AND state = 'pending'
                               AND sending_until IS NULL), $3),
                  (SELECT min(sending_until) FROM webhook_delivery
                    WHERE tenant_id = $1 AND sending_until IS NOT NULL AND endpoint_id = $2))
                  AS "at: Moment""#,
        tx.tenant().uuid(),
        endpoint.uuid(),
        Moment(rest_until) as _,
    );
    let at: Option<Moment> = tx.fetch_value(query).await?;
    match at {
        Some(Moment(at)) => due::set(tx, &[Due { kind: SEND, object: endpoint.uuid(), at }]).await,
        None => due::clear(tx, SEND, endpoint.uuid()).await.map(drop),
    }
}

/// Of the whole installation, by a login that may act as `ade_worker`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Health {
    /// Endpoints for which something waits, as far as they are counted.
    pub waiting: u32,
    /// When the first of them was to be looked at.
    pub oldest: Option<Timestamp>,
    pub open_circuits: u32,
}

pub async fn health(pool: &Pool) -> Result<Health, Error> {
    let mut connection = pool.acquire().await?;
    let query = query!(
        r#"SELECT (SELECT count(*) FROM (SELECT FROM due WHERE kind = $1 LIMIT $2) AS some_of)
                      AS "pending!",
                  (SELECT min(at) FROM due WHERE kind = $1) AS "oldest: Moment",
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
