//! The same request sent twice has one effect and one answer. The key is claimed first, by a lock
//! that ends with the transaction; the answer is kept in the transaction that it tells of.

use ade_core::change::Digest;
use ade_core::ids::TenantId;
use ade_core::time::Timestamp;
use sqlx::{AssertSqlSafe, query, query_scalar};
use uuid::Uuid;

use crate::error::Error;
use crate::moment::Moment;
use crate::pool::Pool;
use crate::statement::{Statement, columns};
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

impl Key {
    /// The number that stands for this key among advisory locks. The parts are told apart by
    /// their lengths: joined as text, two keys could look like one.
    pub(crate) fn lock(&self, tenant: TenantId) -> i64 {
        let mut bytes = tenant.uuid().as_bytes().to_vec();
        for part in [&self.principal, &self.route, &self.key] {
            bytes.extend(part.len().to_be_bytes());
            bytes.extend(part.as_bytes());
        }
        let digest = Digest::of(&bytes);
        digest.bytes().first_chunk().copied().map_or(0, i64::from_be_bytes)
    }
}

/// Takes the key, unless the transaction began with it, and tells what is known of it. The lock
/// is a statement of its own: what is read after it is never older than it.
pub async fn claim(tx: &mut Tx, key: &Key, body: &Digest) -> Result<Claim, Error> {
    if !take(tx, key).await? {
        return Ok(Claim::InFlight);
    }
    let query = query!(
        "SELECT body_hash, status, answer FROM idempotency
          WHERE tenant_id = $1 AND principal = $2 AND route = $3 AND key = $4
            AND expires_at > $5",
        tx.tenant().uuid(),
        key.principal,
        key.route,
        key.key,
        Moment(tx.now()) as _,
    );
    let kept = tx.fetch(query).await?.pop();
    Ok(claim_of(kept.map(|kept| (kept.body_hash, kept.status, kept.answer)), body))
}

pub(crate) async fn take(tx: &mut Tx, key: &Key) -> Result<bool, Error> {
    let lock = key.lock(tx.tenant());
    if let Some(is_ours) = tx.has_key(lock) {
        return Ok(is_ours);
    }
    let query = query_scalar!(r#"SELECT pg_try_advisory_xact_lock($1) AS "is_ours!""#, lock);
    tx.fetch_value(query).await
}

pub(crate) fn claim_of(kept: Option<(Vec<u8>, i16, String)>, body: &Digest) -> Claim {
    match kept {
        None => Claim::Fresh,
        Some((hash, ..)) if hash != body.bytes() => Claim::OtherBody,
        Some((_, status, body)) => Claim::Answered(Answer { status: status.unsigned_abs(), body }),
    }
}

/// An answer that is to be given again until it expires.
#[derive(Debug, Clone, Copy)]
pub struct Kept<'a> {
    pub key: &'a Key,
    pub body: &'a Digest,
    pub answer: &'a Answer,
    pub expires_at: Timestamp,
}

columns! { Answers of Row {
    id: Option<Uuid> => "uuid",
    principal: String => "text",
    route: String => "text",
    key: String => "text",
    body_hash: Vec<u8> => "bytea",
    status: i16 => "int2",
    answer: String => "text",
    expires_at: Moment => "timestamptz",
}}

impl Answers {
    /// Of the task `id`, in the statement that moves it.
    pub(crate) fn add(&mut self, id: Uuid, kept: &Kept<'_>) -> Result<(), Error> {
        self.push(Row { id: Some(id), ..row(kept)? });
        Ok(())
    }

    /// $1 is the tenant and $2 the moment of the transaction. As many rows must be written as
    /// are given: an answer that still stands is not replaced.
    pub(crate) fn part(self, s: &mut Statement) -> Result<Option<(&'static str, usize)>, Error> {
        if self.count() == 0 {
            return Ok(None);
        }
        let count = self.count();
        let given = self.bind(s)?;
        s.part("kept", &format!("{KEEP}{given} JOIN guard USING (id) {REPLACE}"));
        Ok(Some(("kept", count)))
    }
}

const KEEP: &str = "
    INSERT INTO idempotency AS old (tenant_id, principal, route, key, body_hash, status, answer,
        created_at, expires_at)
    SELECT $1, given.principal, given.route, given.key, given.body_hash, given.status,
           given.answer, $2, given.expires_at FROM ";
const REPLACE: &str = "
    ON CONFLICT ON CONSTRAINT idempotency_pkey DO UPDATE
       SET body_hash = excluded.body_hash, status = excluded.status, answer = excluded.answer,
           created_at = excluded.created_at, expires_at = excluded.expires_at
     WHERE old.expires_at <= excluded.created_at
    RETURNING old.key";

fn row(kept: &Kept<'_>) -> Result<Row, Error> {
    let status = i16::try_from(kept.answer.status).map_err(|error| Error::Unstorable {
        value: format!("status {}", kept.answer.status),
        why: error.to_string(),
    })?;
    Ok(Row {
        id: None,
        principal: kept.key.principal.clone(),
        route: kept.key.route.clone(),
        key: kept.key.key.clone(),
        body_hash: kept.body.bytes().to_vec(),
        status,
        answer: kept.answer.body.clone(),
        expires_at: Moment(kept.expires_at),
    })
}

/// After a `Fresh` claim. An answer that has expired makes way.
pub async fn keep(tx: &mut Tx, kept: &Kept<'_>) -> Result<(), Error> {
    let mut rows = Answers::default();
    rows.push(row(kept)?);
    let mut s = Statement::default();
    s.bind(tx.tenant().uuid())?;
    s.bind(Moment(tx.now()))?;
    let given = rows.bind(&mut s)?;
    let query = sqlx::query_with(AssertSqlSafe(format!("{KEEP}{given} {REPLACE}")), s.arguments);
    tx.write_one(&format!("idempotency key {}", kept.key.key), query).await
}

/// Removes answers that nobody may ask for any more, oldest first. Answers how many. They are
/// chosen once: inside of a join they would be, and be more of them, for every row it looks at.
pub async fn prune(tx: &mut Tx, now: Timestamp, limit: u32) -> Result<u64, Error> {
    let query = query!(
        "WITH old AS MATERIALIZED (
             SELECT principal, route, key FROM idempotency
              WHERE tenant_id = $1 AND expires_at <= $2
              ORDER BY expires_at LIMIT $3 FOR UPDATE SKIP LOCKED)
         DELETE FROM idempotency kept USING old
          WHERE kept.tenant_id = $1
            AND (kept.principal, kept.route, kept.key) = (old.principal, old.route, old.key)",
        tx.tenant().uuid(),
        Moment(now) as _,
        i64::from(limit),
    );
    tx.write_beside(query).await
}

/// Tenants that have something to prune, in the order of their ids, after the one given. By a
/// login that may act as `ade_worker`; no more than their ids is told across tenants.
pub async fn tenants_to_prune(
    pool: &Pool,
    now: Timestamp,
    after: Option<TenantId>,
    limit: u32,
) -> Result<Vec<TenantId>, Error> {
    let mut connection = pool.acquire().await?;
    let query = query_scalar!(
        r#"SELECT tenant_id AS "tenant_id!"
             FROM tenants_with_expired_answers($1, $2, $3) AS found (tenant_id)"#,
        Moment(now) as _,
        after.map(TenantId::uuid),
        i32::try_from(limit).unwrap_or(i32::MAX),
    );
    let tenants = query.fetch_all(connection.get()?).await?;
    Ok(tenants.into_iter().map(TenantId::from_uuid).collect())
}
