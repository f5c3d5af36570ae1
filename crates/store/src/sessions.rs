//! Sessions: tokens in a cookie that expire when unused, and belong to a person. They are resolved
//! and revoked like every token; this module has what is specific to them, and the sign-in.

use std::time::Duration;

use ade_core::ids::{TenantId, UserId};
use ade_core::limits::{SESSION_IDLE, SIGN_IN_TTL};
use ade_core::time::Timestamp;
use sqlx::{query, query_as};
use uuid::Uuid;

use crate::error::StoreError;
use crate::pool::Pool;
use crate::tenants::TenantIdentity;
use crate::timestamp::PgTimestamp;
use crate::tokens::Hash;
use crate::tx::Tx;

/// Accuracy of a session's last use; a write per request would be too many.
const SESSION_KEPT_PACE: Duration = Duration::from_mins(1);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewSession {
    pub key_id: String,
    pub user: UserId,
    pub hash: Hash,
    pub scopes: Vec<String>,
    /// When the person authenticated; another session may continue from it.
    pub signed_in_at: Timestamp,
    pub expires_at: Timestamp,
    pub address: Option<String>,
    pub user_agent: Option<String>,
    /// The tenants in which the sign-in could not update the person's roles.
    pub outdated_tenants: Vec<TenantId>,
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
    pub outdated_tenants: Vec<TenantId>,
}

struct SessionRow {
    key_id: String,
    user_id: Uuid,
    signed_in_at: PgTimestamp,
    created_at: PgTimestamp,
    idle_until: PgTimestamp,
    expires_at: PgTimestamp,
    address: Option<String>,
    user_agent: Option<String>,
    outdated_tenants: Option<Vec<Uuid>>,
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
            outdated_tenants: row
                .outdated_tenants
                .unwrap_or_default()
                .into_iter()
                .map(TenantId::from_uuid)
                .collect(),
        }
    }
}

/// Inserts a session. The oldest sessions end if there are more than `most`.
pub async fn insert(tx: &mut Tx, new: &NewSession, most: u32) -> Result<(), StoreError> {
    let crowded = query!(
        "UPDATE token SET revoked_at = $3 WHERE tenant_id = $1 AND key_id IN (
             SELECT t.key_id FROM token t
              WHERE t.tenant_id = $1 AND t.user_id = $2 AND t.idle_until IS NOT NULL
                AND token_is_open(t)
              ORDER BY t.created_at DESC, t.key_id OFFSET $4)",
        tx.tenant().uuid(),
        new.user.uuid(),
        PgTimestamp(tx.now()) as _,
        i64::from(most.saturating_sub(1)),
    );
    tx.write_if_left(crowded).await?;
    let query = query!(
        "INSERT INTO token (tenant_id, key_id, user_id, secret_hash, scopes, created_at,
             expires_at, idle_until, signed_in_at, address, user_agent, outdated_tenants)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
        tx.tenant().uuid(),
        new.key_id,
        new.user.uuid(),
        new.hash.as_slice(),
        &new.scopes,
        PgTimestamp(tx.now()) as _,
        PgTimestamp(new.expires_at) as _,
        PgTimestamp(tx.now().plus(SESSION_IDLE).min(new.expires_at)) as _,
        PgTimestamp(new.signed_in_at) as _,
        new.address.as_deref(),
        new.user_agent.as_deref(),
        &new.outdated_tenants.iter().map(|tenant| tenant.uuid()).collect::<Vec<_>>(),
    );
    tx.write(query).await?;
    Ok(())
}

/// Replaces the secret of a session under the same key id: the previous secret becomes invalid.
/// Nothing happens to a token that is not a session, or that was revoked.
pub async fn renew(tx: &mut Tx, key_id: &str, hash: &Hash) -> Result<bool, StoreError> {
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

/// Returns the active sessions of one person, latest first.
pub async fn list(tx: &mut Tx, user: UserId) -> Result<Vec<Session>, StoreError> {
    let query = query_as!(
        SessionRow,
        r#"SELECT t.key_id, t.user_id AS "user_id!", t.signed_in_at AS "signed_in_at!: PgTimestamp",
                  t.created_at AS "created_at: PgTimestamp",
                  t.idle_until AS "idle_until!: PgTimestamp",
                  t.expires_at AS "expires_at: PgTimestamp", t.address, t.user_agent,
                  t.outdated_tenants
             FROM token t
            WHERE t.tenant_id = $1 AND t.user_id = $2 AND t.idle_until IS NOT NULL
              AND token_is_open(t)
            ORDER BY t.created_at DESC, t.key_id"#,
        tx.tenant().uuid(),
        user.uuid(),
    );
    Ok(tx.fetch(query).await?.into_iter().map(Session::from).collect())
}

/// Removes sessions that ended before `until`, oldest first, and returns how many. An unused
/// session counts until its absolute expiry, at most a few hours later, so that no index row is
/// rewritten at each use.
pub async fn prune(tx: &mut Tx, until: Timestamp, limit: u32) -> Result<u64, StoreError> {
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
        PgTimestamp(until) as _,
        i64::from(limit),
    );
    tx.write_beside(query).await
}

/// Records the use of a session whose secret was verified. Outside of any [`Tx`], because it
/// changes nothing else.
pub async fn keep(pool: &Pool, key_id: &str) -> Result<(), StoreError> {
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

/// The state that is stored while a browser is at its identity provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Away {
    pub provider: String,
    pub nonce: String,
    pub verifier: String,
    pub return_to: String,
}

pub async fn begin_sign_in(pool: &Pool, hash: &Hash, away: &Away) -> Result<(), StoreError> {
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

/// Takes the state of a sign-in, for one caller only and in time.
pub async fn end_sign_in(pool: &Pool, hash: &Hash) -> Result<Option<Away>, StoreError> {
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

/// A tenant that a person may sign in to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenTenant {
    pub tenant: TenantIdentity,
    /// Whether the person has an account there. Otherwise one of their groups has a role there.
    pub is_known: bool,
}

/// Returns the tenants that know this person or admit one of these groups, by name.
pub async fn tenants_of(
    pool: &Pool,
    issuer: &str,
    subject: &str,
    groups: &[String],
) -> Result<Vec<OpenTenant>, StoreError> {
    let mut connection = pool.acquire().await?;
    let rows = query!(
        r#"SELECT tenant AS "tenant!", name AS "name!",
                  tenant IN (SELECT k.tenant FROM tenants_of_subject($1, $2, '{}') AS k)
                      AS "is_known!",
                  has_several_tenants() AS "has_several!"
             FROM tenants_of_subject($1, $2, $3)"#,
        issuer,
        subject,
        groups,
    )
    .fetch_all(connection.get()?)
    .await?;
    connection.give_back();
    let open = rows.into_iter().map(|row| {
        let id = TenantId::from_uuid(row.tenant);
        let tenant = TenantIdentity { id, name: row.name, is_only: !row.has_several };
        OpenTenant { tenant, is_known: row.is_known }
    });
    Ok(open.collect())
}
