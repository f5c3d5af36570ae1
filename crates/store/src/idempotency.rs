//! Idempotency: a request that is sent twice has one effect and one response. The key is reserved
//! first, by a lock that ends with the transaction; the response is stored in the transaction that
//! it describes.

use ade_core::change::Digest;
use ade_core::ids::TenantId;
use ade_core::time::Timestamp;
use sqlx::{AssertSqlSafe, query, query_scalar};
use uuid::Uuid;

use crate::error::StoreError;
pub use crate::idempotency_key::IdempotencyKey;
use crate::pool::Pool;
use crate::statement::{Statement, columns};
use crate::timestamp::PgTimestamp;
use crate::tx::Tx;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdempotentResponse {
    pub status: u16,
    pub body: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyState {
    /// The key is unused: continue, and `store_response` the response.
    New,
    /// The key was used for this same request: return the stored response.
    Answered(IdempotentResponse),
    /// The key was used for another request.
    OtherBody,
    /// The first request is still in progress.
    InFlight,
}

/// Reserves the key, unless the transaction began with it, and returns its state. The lock is a
/// statement of its own, so that everything read after it is current.
pub async fn reserve_key(
    tx: &mut Tx,
    key: &IdempotencyKey,
    body: &Digest,
) -> Result<KeyState, StoreError> {
    if !take(tx, key).await? {
        return Ok(KeyState::InFlight);
    }
    let query = query!(
        "SELECT body_hash, status, answer FROM idempotency
          WHERE tenant_id = $1 AND principal = $2 AND route = $3 AND key = $4
            AND expires_at > $5",
        tx.tenant().uuid(),
        key.principal,
        key.route,
        key.key,
        PgTimestamp(tx.now()) as _,
    );
    let kept = tx.fetch(query).await?.pop();
    Ok(claim_of(kept.map(|kept| (kept.body_hash, kept.status, kept.answer)), body))
}

pub(crate) async fn take(tx: &mut Tx, key: &IdempotencyKey) -> Result<bool, StoreError> {
    let lock = key.lock(tx.tenant());
    if let Some(is_ours) = tx.has_key(lock) {
        return Ok(is_ours);
    }
    let query = query_scalar!(r#"SELECT pg_try_advisory_xact_lock($1) AS "is_ours!""#, lock);
    tx.fetch_value(query).await
}

pub(crate) fn claim_of(kept: Option<(Vec<u8>, i16, String)>, body: &Digest) -> KeyState {
    match kept {
        None => KeyState::New,
        Some((hash, ..)) if hash != body.bytes() => KeyState::OtherBody,
        Some((_, status, body)) => {
            KeyState::Answered(IdempotentResponse { status: status.unsigned_abs(), body })
        }
    }
}

/// A response that is returned again until it expires.
#[derive(Debug, Clone, Copy)]
pub struct StoredResponse<'a> {
    pub key: &'a IdempotencyKey,
    pub body: &'a Digest,
    pub answer: &'a IdempotentResponse,
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
    expires_at: PgTimestamp => "timestamptz",
}}

impl Answers {
    /// Adds the response of the task `id` to the statement that changes it.
    pub(crate) fn add(&mut self, id: Uuid, kept: &StoredResponse<'_>) -> Result<(), StoreError> {
        self.push(Row { id: Some(id), ..row(kept)? });
        Ok(())
    }

    /// Adds the part to the statement; $1 is the tenant and $2 the time of the transaction. As many
    /// rows must be written as are given: a response that has not expired is not replaced.
    pub(crate) fn part(
        self,
        s: &mut Statement,
    ) -> Result<Option<(&'static str, usize)>, StoreError> {
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

fn row(kept: &StoredResponse<'_>) -> Result<Row, StoreError> {
    let status = i16::try_from(kept.answer.status).map_err(|error| StoreError::Unstorable {
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
        expires_at: PgTimestamp(kept.expires_at),
    })
}

/// Stores a response after a `Fresh` claim. An expired response is replaced.
pub async fn store_response(tx: &mut Tx, kept: &StoredResponse<'_>) -> Result<(), StoreError> {
    let mut rows = Answers::default();
    rows.push(row(kept)?);
    let mut s = Statement::default();
    s.bind(tx.tenant().uuid())?;
    s.bind(PgTimestamp(tx.now()))?;
    let given = rows.bind(&mut s)?;
    let query = sqlx::query_with(AssertSqlSafe(format!("{KEEP}{given} {REPLACE}")), s.arguments);
    tx.write_one(&format!("idempotency key {}", kept.key.key), query).await
}

/// Removes expired responses, oldest first, and returns how many. They are selected once: inside a
/// join they would be selected for every row.
pub async fn prune(tx: &mut Tx, now: Timestamp, limit: u32) -> Result<u64, StoreError> {
    let query = query!(
        "WITH old AS MATERIALIZED (
             SELECT principal, route, key FROM idempotency
              WHERE tenant_id = $1 AND expires_at <= $2
              ORDER BY expires_at LIMIT $3 FOR UPDATE SKIP LOCKED)
         DELETE FROM idempotency kept USING old
          WHERE kept.tenant_id = $1
            AND (kept.principal, kept.route, kept.key) = (old.principal, old.route, old.key)",
        tx.tenant().uuid(),
        PgTimestamp(now) as _,
        i64::from(limit),
    );
    tx.write_beside(query).await
}

/// Returns tenants with expired responses, in the order of their ids, after the given one. It needs
/// a login that may act as `ade_worker`; only ids are visible across tenants.
pub async fn tenants_to_prune(
    pool: &Pool,
    now: Timestamp,
    after: Option<TenantId>,
    limit: u32,
) -> Result<Vec<TenantId>, StoreError> {
    let mut connection = pool.acquire().await?;
    let query = query_scalar!(
        r#"SELECT tenant_id AS "tenant_id!"
             FROM tenants_with_expired_answers($1, $2, $3) AS found (tenant_id)"#,
        PgTimestamp(now) as _,
        after.map(TenantId::uuid),
        i32::try_from(limit).unwrap_or(i32::MAX),
    );
    let tenants = query.fetch_all(connection.get()?).await?;
    Ok(tenants.into_iter().map(TenantId::from_uuid).collect())
}
