//! Tokens of people and agents. Only a hash of the secret is stored. A token is looked up before
//! its tenant is known, and its validity is judged by the database clock. Secrets are created and
//! compared elsewhere.

use std::time::Duration;

use ade_core::ids::{AgentId, TenantId, UserId};
use ade_core::network::Networks;
use ade_core::time::Timestamp;
use sqlx::{query, query_as, query_scalar};
use uuid::Uuid;

use crate::error::{RowError, StoreError};
use crate::pool::Pool;
use crate::timestamp::PgTimestamp;
use crate::tx::Tx;

/// Minimum time between two updates of a token's last use.
const TOKEN_USE_PACE: Duration = Duration::from_mins(1);

pub type Hash = [u8; 32];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Principal {
    User(UserId),
    Agent(AgentId),
}

impl Principal {
    fn user(self) -> Option<Uuid> {
        match self {
            Self::User(id) => Some(id.uuid()),
            Self::Agent(_) => None,
        }
    }

    fn agent(self) -> Option<Uuid> {
        match self {
            Self::User(_) => None,
            Self::Agent(id) => Some(id.uuid()),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewToken {
    pub key_id: String,
    pub principal: Principal,
    pub hash: Hash,
    pub scopes: Vec<String>,
    pub label: String,
    pub expires_at: Timestamp,
    pub is_single_use: bool,
    pub networks: Networks,
    /// The person who issued it; `None` for the first token of a tenant.
    pub issued_by: Option<UserId>,
}

/// The fields of a token that may be displayed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenRecord {
    pub key_id: String,
    pub principal: Principal,
    pub scopes: Vec<String>,
    pub label: String,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
    pub revoked_at: Option<Timestamp>,
    pub is_single_use: bool,
    pub used_at: Option<Timestamp>,
    pub networks: Networks,
    /// The last use, to the minute.
    pub last_used_at: Option<Timestamp>,
    pub issued_by: Option<UserId>,
}

/// The holder of a key, provided that the secret is right. Valid only if `is_live`; one with
/// `is_single_use` counts only after [`consume`] has succeeded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    pub tenant: TenantId,
    pub principal: Principal,
    /// The owner of an agent.
    pub owner: Option<UserId>,
    pub issued_by: Option<UserId>,
    pub hash: Hash,
    pub scopes: Vec<String>,
    pub expires_at: Timestamp,
    pub revoked_at: Option<Timestamp>,
    pub is_single_use: bool,
    /// Whether it is a session, which is only valid in a cookie.
    pub is_session: bool,
    pub networks: Networks,
    /// When its use was recorded, if that was recently.
    pub noted_at: Option<Timestamp>,
    /// Whether it is neither expired, revoked nor used up, and tenant, holder and owner are active.
    pub is_live: bool,
}

struct TokenRow {
    key_id: String,
    user_id: Option<Uuid>,
    agent_id: Option<Uuid>,
    scopes: Vec<String>,
    label: String,
    created_at: PgTimestamp,
    expires_at: PgTimestamp,
    revoked_at: Option<PgTimestamp>,
    single_use: bool,
    used_at: Option<PgTimestamp>,
    networks: Option<Vec<String>>,
    last_used_at: Option<PgTimestamp>,
    issued_by: Option<Uuid>,
}

impl TryFrom<TokenRow> for TokenRecord {
    type Error = RowError;

    fn try_from(row: TokenRow) -> Result<Self, RowError> {
        let principal = match (row.user_id, row.agent_id) {
            (Some(user), None) => Principal::User(UserId::from_uuid(user)),
            (None, Some(agent)) => Principal::Agent(AgentId::from_uuid(agent)),
            _ => return Err(wrong(&row.key_id, "user_id", "must have one holder".to_owned())),
        };
        let networks = networks(&row.key_id, &row.networks.unwrap_or_default())?;
        Ok(Self {
            key_id: row.key_id,
            principal,
            scopes: row.scopes,
            label: row.label,
            created_at: row.created_at.0,
            expires_at: row.expires_at.0,
            revoked_at: row.revoked_at.map(|at| at.0),
            is_single_use: row.single_use,
            used_at: row.used_at.map(|at| at.0),
            networks,
            last_used_at: row.last_used_at.map(|at| at.0),
            issued_by: row.issued_by.map(UserId::from_uuid),
        })
    }
}

fn networks(key_id: &str, texts: &[String]) -> Result<Networks, RowError> {
    let known = Networks::parse(texts.iter().map(String::as_str));
    known.map_err(|error| wrong(key_id, "networks", error.to_string()))
}

fn wrong(key_id: &str, column: &'static str, why: String) -> RowError {
    RowError { table: "token", column, row: key_id.to_owned(), why }
}

/// Inserts a token. The table refuses a third active one (`token_two_open_at_most`).
pub async fn insert(tx: &mut Tx, token: &NewToken) -> Result<(), StoreError> {
    let texts = Some(token.networks.texts()).filter(|texts| !texts.is_empty());
    let query = query!(
        "INSERT INTO token (tenant_id, key_id, user_id, agent_id, secret_hash, scopes, label,
             created_at, expires_at, single_use, networks, issued_by)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
        tx.tenant().uuid(),
        token.key_id,
        token.principal.user(),
        token.principal.agent(),
        token.hash.as_slice(),
        &token.scopes,
        token.label,
        PgTimestamp(tx.now()) as _,
        PgTimestamp(token.expires_at) as _,
        token.is_single_use,
        texts.as_deref(),
        token.issued_by.map(UserId::uuid),
    );
    tx.write(query).await?;
    Ok(())
}

/// Returns the tokens of a holder, active or not, latest first: those before `after`, which is the
/// creation time and key of one.
pub async fn list(
    tx: &mut Tx,
    principal: Principal,
    after: Option<(Timestamp, &str)>,
    limit: u32,
) -> Result<Vec<TokenRecord>, StoreError> {
    let query = query_as!(
        TokenRow,
        r#"SELECT key_id, user_id, agent_id, scopes, label,
                  created_at AS "created_at: PgTimestamp", expires_at AS "expires_at: PgTimestamp",
                  revoked_at AS "revoked_at: PgTimestamp", single_use,
                  used_at AS "used_at: PgTimestamp",
                  networks, last_used_at AS "last_used_at: PgTimestamp", issued_by
             FROM token
            WHERE tenant_id = $1 AND (user_id = $2 OR agent_id = $3) AND idle_until IS NULL
              AND ($4::timestamptz IS NULL OR (created_at, key_id) < ($4, $5::text))
            ORDER BY created_at DESC, key_id DESC LIMIT $6"#,
        tx.tenant().uuid(),
        principal.user(),
        principal.agent(),
        after.map(|(created_at, _)| PgTimestamp(created_at)) as _,
        after.map(|(_, key_id)| key_id),
        i64::from(limit),
    );
    let rows = tx.fetch(query).await?;
    Ok(rows
        .into_iter()
        .map(TokenRecord::try_from)
        .collect::<Result<Vec<TokenRecord>, RowError>>()?)
}

pub async fn get(tx: &mut Tx, key_id: &str) -> Result<Option<TokenRecord>, StoreError> {
    let query = query_as!(
        TokenRow,
        r#"SELECT key_id, user_id, agent_id, scopes, label,
                  created_at AS "created_at: PgTimestamp", expires_at AS "expires_at: PgTimestamp",
                  revoked_at AS "revoked_at: PgTimestamp", single_use,
                  used_at AS "used_at: PgTimestamp",
                  networks, last_used_at AS "last_used_at: PgTimestamp", issued_by
             FROM token
            WHERE tenant_id = $1 AND key_id = $2 AND idle_until IS NULL"#,
        tx.tenant().uuid(),
        key_id,
    );
    Ok(tx.fetch(query).await?.pop().map(TokenRecord::try_from).transpose()?)
}

/// Returns the holder of a token, whether or not it is still valid.
pub async fn holder(tx: &mut Tx, key_id: &str) -> Result<Option<Principal>, StoreError> {
    let query = query!(
        "SELECT user_id, agent_id FROM token
          WHERE tenant_id = $1 AND key_id = $2 AND idle_until IS NULL",
        tx.tenant().uuid(),
        key_id,
    );
    let row = tx.fetch(query).await?.pop();
    Ok(row.and_then(|row| {
        let user = row.user_id.map(|id| Principal::User(UserId::from_uuid(id)));
        user.or(row.agent_id.map(|id| Principal::Agent(AgentId::from_uuid(id))))
    }))
}

/// Returns how many tokens are active: neither expired, revoked nor used up.
pub async fn count_open(tx: &mut Tx, principal: Principal) -> Result<i64, StoreError> {
    let query = query_scalar!(
        r#"SELECT count(*) AS "count!"
             FROM (SELECT t FROM token t WHERE t.tenant_id = $1 AND t.user_id = $2
                   UNION ALL
                   SELECT t FROM token t WHERE t.tenant_id = $1 AND t.agent_id = $3) AS own (t)
            WHERE (own.t).idle_until IS NULL AND token_is_open(own.t)"#,
        tx.tenant().uuid(),
        principal.user(),
        principal.agent(),
    );
    tx.fetch_value(query).await
}

/// Returns the networks of a token; any network if the token does not exist.
pub async fn networks_of(tx: &mut Tx, key_id: &str) -> Result<Networks, StoreError> {
    let query = query!(
        "SELECT networks FROM token WHERE tenant_id = $1 AND key_id = $2",
        tx.tenant().uuid(),
        key_id,
    );
    let found = tx.fetch(query).await?.pop().and_then(|row| row.networks).unwrap_or_default();
    Ok(networks(key_id, &found)?)
}

/// Revokes a token and returns whether this call did it.
pub async fn revoke(tx: &mut Tx, key_id: &str) -> Result<bool, StoreError> {
    let query = query!(
        "UPDATE token SET revoked_at = $3
          WHERE tenant_id = $1 AND key_id = $2 AND revoked_at IS NULL",
        tx.tenant().uuid(),
        key_id,
        PgTimestamp(tx.now()) as _,
    );
    Ok(tx.write_if_left(query).await? > 0)
}

struct ResolvedRow {
    tenant_id: Uuid,
    principal_kind: String,
    principal_id: Uuid,
    owner_id: Option<Uuid>,
    issued_by: Option<Uuid>,
    secret_hash: Vec<u8>,
    scopes: Vec<String>,
    expires_at: PgTimestamp,
    revoked_at: Option<PgTimestamp>,
    single_use: bool,
    is_session: bool,
    networks: Vec<String>,
    noted_at: Option<PgTimestamp>,
    is_live: bool,
}

pub async fn resolve(pool: &Pool, key_id: &str) -> Result<Option<Resolved>, StoreError> {
    let mut connection = pool.acquire().await?;
    let row = query_as!(
        ResolvedRow,
        r#"SELECT tenant_id AS "tenant_id!", principal_kind AS "principal_kind!",
                  principal_id AS "principal_id!", owner_id, issued_by,
                  secret_hash AS "secret_hash!",
                  scopes AS "scopes!", expires_at AS "expires_at!: PgTimestamp",
                  revoked_at AS "revoked_at: PgTimestamp", single_use AS "single_use!",
                  is_session AS "is_session!", networks AS "networks!",
                  noted_at AS "noted_at: PgTimestamp", is_live AS "is_live!"
             FROM resolve_token($1, make_interval(secs => $2))"#,
        key_id,
        TOKEN_USE_PACE.as_secs_f64(),
    )
    .fetch_optional(connection.get()?)
    .await?;
    connection.give_back();
    let Some(row) = row else { return Ok(None) };
    let principal = match row.principal_kind.as_str() {
        "user" => Principal::User(UserId::from_uuid(row.principal_id)),
        "agent" => Principal::Agent(AgentId::from_uuid(row.principal_id)),
        _ => return Err(wrong(key_id, "principal_kind", row.principal_kind).into()),
    };
    let hash = Hash::try_from(row.secret_hash)
        .map_err(|bytes| wrong(key_id, "secret_hash", format!("{} bytes", bytes.len())))?;
    let networks = networks(key_id, &row.networks)?;
    Ok(Some(Resolved {
        networks,
        noted_at: row.noted_at.map(|at| at.0),
        tenant: TenantId::from_uuid(row.tenant_id),
        principal,
        owner: row.owner_id.map(UserId::from_uuid),
        issued_by: row.issued_by.map(UserId::from_uuid),
        hash,
        scopes: row.scopes,
        expires_at: row.expires_at.0,
        revoked_at: row.revoked_at.map(|at| at.0),
        is_single_use: row.single_use,
        is_session: row.is_session,
        is_live: row.is_live,
    }))
}

/// Uses up a single-use token after its secret has been compared: `true` for one caller only,
/// however many try at once. It runs outside of any [`Tx`], because it changes nothing else; later
/// actions of the holder have their own audit entries.
pub async fn consume(pool: &Pool, key_id: &str) -> Result<bool, StoreError> {
    let mut connection = pool.acquire().await?;
    let query = query_scalar!(r#"SELECT consume_token($1) AS "is_first!""#, key_id);
    let is_first = query.fetch_one(connection.get()?).await?;
    connection.give_back();
    Ok(is_first)
}

/// Records the use of a token whose secret was verified, outside of any [`Tx`] like [`consume`].
pub async fn note_use(pool: &Pool, key_id: &str) -> Result<(), StoreError> {
    let mut connection = pool.acquire().await?;
    let query = query!(
        "SELECT note_token_use($1, make_interval(secs => $2))",
        key_id,
        TOKEN_USE_PACE.as_secs_f64(),
    );
    query.fetch_one(connection.get()?).await?;
    connection.give_back();
    Ok(())
}

/// Removes tokens that expired, were revoked or were used up before `until`, oldest first, and
/// returns how many. The audit still contains them.
pub async fn prune(tx: &mut Tx, until: Timestamp, limit: u32) -> Result<u64, StoreError> {
    let query = query!(
        "WITH old AS MATERIALIZED (
             SELECT key_id FROM token
              WHERE tenant_id = $1 AND idle_until IS NULL
                AND least(expires_at, revoked_at, used_at) <= $2
              ORDER BY least(expires_at, revoked_at, used_at) LIMIT $3
              FOR UPDATE SKIP LOCKED)
         DELETE FROM token kept USING old
          WHERE kept.tenant_id = $1 AND kept.key_id = old.key_id",
        tx.tenant().uuid(),
        PgTimestamp(until) as _,
        i64::from(limit),
    );
    tx.write_beside(query).await
}

/// Returns tenants with expired tokens or sessions. It needs a login that may act as `ade_worker`;
/// only ids are visible across tenants.
pub async fn tenants_to_prune(
    pool: &Pool,
    tokens_until: Timestamp,
    sessions_until: Timestamp,
    limit: u32,
) -> Result<Vec<TenantId>, StoreError> {
    let mut connection = pool.acquire().await?;
    let query = query_scalar!(
        r#"SELECT tenant_id AS "tenant_id!"
             FROM tenants_with_old_tokens($1, $2, $3) AS found (tenant_id)"#,
        PgTimestamp(tokens_until) as _,
        PgTimestamp(sessions_until) as _,
        i32::try_from(limit).unwrap_or(i32::MAX),
    );
    let tenants = query.fetch_all(connection.get()?).await?;
    Ok(tenants.into_iter().map(TenantId::from_uuid).collect())
}
