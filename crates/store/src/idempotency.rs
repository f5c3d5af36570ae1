//! The same request sent twice has one effect and one answer. The key is claimed first, by a lock
//! that ends with the transaction; the answer is kept in the transaction that it tells of.

use ade_core::change::Digest;
use ade_core::time::Timestamp;

use crate::error::Error;
use crate::moment::Moment;
use crate::tx::Tx;

/// One caller's word for one request. The tenant is the transaction's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    pub principal: String,
    pub route: String,
    pub key: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    pub status: u16,
    pub body: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claim {
    /// Nobody has used it: go on, and `keep` the answer.
    Fresh,
    /// Used for this very request: give the same answer again.
    Answered(Answer),
    /// Used for another request: the caller has mixed up its keys.
    OtherBody,
    /// The first request is still on its way.
    InFlight,
}

pub async fn claim(tx: &mut Tx, key: &Key, body: &Digest) -> Result<Claim, Error> {
    // The parts are hashed one by one: joined as text, two keys could look like one.
    let lock = sqlx::query_as::<_, (bool,)>(
        "SELECT pg_try_advisory_xact_lock(hashtextextended($4, hashtextextended($3,
             hashtextextended($2, hashtextextended($1::text, 1)))))",
    );
    let lock = tx.read(bind(lock, tx.tenant().uuid(), key)).await?;
    if lock != [(true,)] {
        return Ok(Claim::InFlight);
    }
    let kept = sqlx::query_as::<_, (Vec<u8>, i16, String)>(
        "SELECT body_hash, status, answer FROM idempotency
          WHERE tenant_id = $1 AND principal = $2 AND route = $3 AND key = $4
            AND expires_at > $5",
    );
    let now = Moment(tx.now());
    let kept = tx.read(bind(kept, tx.tenant().uuid(), key).bind(now)).await?;
    Ok(match kept.into_iter().next() {
        None => Claim::Fresh,
        Some((hash, ..)) if hash != body.bytes() => Claim::OtherBody,
        Some((_, status, body)) => Claim::Answered(Answer { status: status.unsigned_abs(), body }),
    })
}

fn bind<'q, T>(
    query: sqlx::query::QueryAs<'q, sqlx::Postgres, T, sqlx::postgres::PgArguments>,
    tenant: uuid::Uuid,
    key: &Key,
) -> sqlx::query::QueryAs<'q, sqlx::Postgres, T, sqlx::postgres::PgArguments> {
    query.bind(tenant).bind(key.principal.clone()).bind(key.route.clone()).bind(key.key.clone())
}

/// After a `Fresh` claim. An answer that has expired makes way.
pub async fn keep(
    tx: &mut Tx,
    key: &Key,
    body: &Digest,
    answer: &Answer,
    expires_at: Timestamp,
) -> Result<(), Error> {
    let status = i16::try_from(answer.status).map_err(|error| Error::Unstorable {
        value: format!("status {}", answer.status),
        why: error.to_string(),
    })?;
    let query = sqlx::query(
        "INSERT INTO idempotency AS kept (tenant_id, principal, route, key, body_hash, status,
             answer, created_at, expires_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
         ON CONFLICT ON CONSTRAINT idempotency_pkey DO UPDATE
            SET body_hash = excluded.body_hash, status = excluded.status,
                answer = excluded.answer, created_at = excluded.created_at,
                expires_at = excluded.expires_at
          WHERE kept.expires_at <= excluded.created_at",
    )
    .bind(tx.tenant().uuid())
    .bind(&key.principal)
    .bind(&key.route)
    .bind(&key.key)
    .bind(body.bytes().as_slice())
    .bind(status)
    .bind(&answer.body)
    .bind(Moment(tx.now()))
    .bind(Moment(expires_at));
    tx.write_one(&format!("idempotency key {}", key.key), query).await
}
