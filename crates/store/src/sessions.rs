//! Sessions: tokens that lie in a cookie, end when nobody uses them, and are a person's own. They
//! are resolved and revoked like every token; here is what only they have, and the way in.

use ade_core::ids::{TenantId, UserId};
use ade_core::limits::{SESSION_IDLE, SESSION_KEPT_PACE, SIGN_IN_TTL};
use ade_core::time::Timestamp;
use sqlx::{query, query_as};
use uuid::Uuid;

use crate::error::Error;
use crate::moment::Moment;
use crate::pool::Pool;
use crate::tokens::Hash;
use crate::tx::Tx;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewSession {
    pub key_id: String,
    pub user: UserId,
    pub hash: Hash,
    pub scopes: Vec<String>,
    /// When the person proved who they are; another session may go on from there.
    pub signed_in_at: Timestamp,
    pub expires_at: Timestamp,
    pub address: Option<String>,
    pub user_agent: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    pub key_id: String,
    pub user: UserId,
    pub signed_in_at: Timestamp,
    pub created_at: Timestamp,
    pub idle_until: Timestamp,
    pub expires_at: Timestamp,
    pub address: Option<String>,
    pub user_agent: Option<String>,
}

struct SessionRow {
    key_id: String,
    user_id: Uuid,
    signed_in_at: Moment,
    created_at: Moment,
    idle_until: Moment,
    expires_at: Moment,
    address: Option<String>,
    user_agent: Option<String>,
}

impl From<SessionRow> for Session {
    fn from(row: SessionRow) -> Self {
        Self {
            key_id: row.key_id,
            user: UserId::from_uuid(row.user_id),
            signed_in_at: row.signed_in_at.0,
            created_at: row.created_at.0,
            idle_until: row.idle_until.0,
            expires_at: row.expires_at.0,
            address: row.address,
            user_agent: row.user_agent,
        }
    }
}

/// The oldest give way where there are more than `most`.
pub async fn insert(tx: &mut Tx, new: &NewSession, most: u32) -> Result<(), Error> {
    let crowded = query!(
        "UPDATE token SET revoked_at = $3 WHERE tenant_id = $1 AND key_id IN (
             SELECT t.key_id FROM token t
              WHERE t.tenant_id = $1 AND t.user_id = $2 AND t.idle_until IS NOT NULL
                AND token_is_open(t)
              ORDER BY t.created_at DESC, t.key_id OFFSET $4)",
        tx.tenant().uuid(),
        new.user.uuid(),
        Moment(tx.now()) as _,
        i64::from(most.saturating_sub(1)),
    );
    tx.write_if_left(crowded).await?;
    let query = query!(
        "INSERT INTO token (tenant_id, key_id, user_id, secret_hash, scopes, created_at,
             expires_at, idle_until, signed_in_at, address, user_agent)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
        tx.tenant().uuid(),
        new.key_id,
        new.user.uuid(),
        new.hash.as_slice(),
        &new.scopes,
        Moment(tx.now()) as _,
        Moment(new.expires_at) as _,
        Moment(tx.now().plus(SESSION_IDLE).min(new.expires_at)) as _,
        Moment(new.signed_in_at) as _,
        new.address.as_deref(),
        new.user_agent.as_deref(),
    );
    tx.write(query).await?;
    Ok(())
}

/// Another secret for a session, under the same key: the one before opens nothing any more. Nothing
/// happens to a token that is no session, or that was revoked.
pub async fn renew(tx: &mut Tx, key_id: &str, hash: &Hash) -> Result<bool, Error> {
    let query = query!(
        "UPDATE token SET secret_hash = $3
          WHERE tenant_id = $1 AND key_id = $2
            AND num_nulls(idle_until) = 0 AND num_nulls(revoked_at) = 1",
        tx.tenant().uuid(),
        key_id,
        hash.as_slice(),
    );
    Ok(tx.write_if_left(query).await? > 0)
}

/// Those of one person that are open, the latest first.
pub async fn list(tx: &mut Tx, user: UserId) -> Result<Vec<Session>, Error> {
    let query = query_as!(
        SessionRow,
        r#"SELECT t.key_id, t.user_id AS "user_id!", t.signed_in_at AS "signed_in_at!: Moment",
                  t.created_at AS "created_at: Moment", t.idle_until AS "idle_until!: Moment",
                  t.expires_at AS "expires_at: Moment", t.address, t.user_agent
             FROM token t
            WHERE t.tenant_id = $1 AND t.user_id = $2 AND t.idle_until IS NOT NULL
              AND token_is_open(t)
            ORDER BY t.created_at DESC, t.key_id"#,
        tx.tenant().uuid(),
        user.uuid(),
    );
    Ok(tx.fetch(query).await?.into_iter().map(Session::from).collect())
}

/// Removes sessions that ended before `until`, of whomever; oldest first. Answers how many. One
/// that nobody used any more counts until it would have expired: a few hours at most, and no row
/// is written anew in an index each time that somebody is at work.
pub async fn prune(tx: &mut Tx, until: Timestamp, limit: u32) -> Result<u64, Error> {
    let query = query!(
        "WITH old AS MATERIALIZED (
             SELECT key_id FROM token
              WHERE tenant_id = $1 AND idle_until IS NOT NULL
                AND least(expires_at, revoked_at) <= $2
              ORDER BY least(expires_at, revoked_at) LIMIT $3
              FOR UPDATE SKIP LOCKED)
         DELETE FROM token kept USING old
          WHERE kept.tenant_id = $1 AND kept.key_id = old.key_id",
        tx.tenant().uuid(),
        Moment(until) as _,
        i64::from(limit),
    );
    tx.write_beside(query).await
}

/// Somebody is at work with it; its secret has been compared. Says nothing but that, so it is
/// outside of any [`Tx`].
pub async fn keep(pool: &Pool, key_id: &str) -> Result<(), Error> {
    let mut connection = pool.acquire().await?;
    let query = query!(
        "SELECT keep_session($1, make_interval(secs => $2), make_interval(secs => $3))",
        key_id,
        SESSION_IDLE.as_secs_f64(),
        SESSION_KEPT_PACE.as_secs_f64(),
    );
    query.fetch_one(connection.get()?).await?;
    connection.give_back();
    Ok(())
}

/// What is kept while a browser is away at its identity provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Away {
    pub provider: String,
    pub nonce: String,
    pub verifier: String,
    pub return_to: String,
}

pub async fn begin_sign_in(pool: &Pool, hash: &Hash, away: &Away) -> Result<(), Error> {
    let mut connection = pool.acquire().await?;
    let query = query!(
        "SELECT begin_sign_in($1, $2, $3, $4, $5, make_interval(secs => $6))",
        hash.as_slice(),
        away.provider,
        away.nonce,
        away.verifier,
        away.return_to,
        SIGN_IN_TTL.as_secs_f64(),
    );
    query.fetch_one(connection.get()?).await?;
    connection.give_back();
    Ok(())
}

/// For one caller only, and in time.
pub async fn end_sign_in(pool: &Pool, hash: &Hash) -> Result<Option<Away>, Error> {
    let mut connection = pool.acquire().await?;
    let row = query!(
        r#"SELECT provider AS "provider!", nonce AS "nonce!", verifier AS "verifier!",
                  return_to AS "return_to!"
             FROM end_sign_in($1)"#,
        hash.as_slice(),
    )
    .fetch_optional(connection.get()?)
    .await?;
    connection.give_back();
    Ok(row.map(|row| Away {
        provider: row.provider,
        nonce: row.nonce,
        verifier: row.verifier,
        return_to: row.return_to,
    }))
}

/// Tenants that know this person, or let one of these groups in; by name.
pub async fn tenants_of(
    pool: &Pool,
    issuer: &str,
    subject: &str,
    groups: &[String],
) -> Result<Vec<(TenantId, String)>, Error> {
    let mut connection = pool.acquire().await?;
    let rows = query!(
        r#"SELECT tenant AS "tenant!", name AS "name!" FROM tenants_of_subject($1, $2, $3)"#,
        issuer,
        subject,
        groups,
    )
    .fetch_all(connection.get()?)
    .await?;
    connection.give_back();
    Ok(rows.into_iter().map(|row| (TenantId::from_uuid(row.tenant), row.name)).collect())
}
