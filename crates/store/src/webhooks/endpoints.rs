//! Endpoints: where, for what, and how they are signed. Their secrets are not here: they follow
//! from a salt that says nothing by itself.

use ade_core::ids::{UserId, WebhookId};
use ade_core::time::Timestamp;
use ade_core::webhook::Subscription;
use sqlx::{query, query_as, query_scalar};
use uuid::Uuid;

use crate::error::{Error, RowError};
use crate::moment::Moment;
use crate::tx::Tx;

pub type Salt = [u8; 32];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    /// HMAC-SHA-256 with a secret that both know.
    V1,
    /// Ed25519: the endpoint knows the public half only.
    V1a,
}

impl Scheme {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::V1 => "v1",
            Self::V1a => "v1a",
        }
    }
}

/// What an admin says of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    pub url: String,
    pub label: String,
    pub events: Subscription,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EndpointState {
    Active,
    Disabled { reason: String },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    pub id: WebhookId,
    pub profile: Profile,
    pub scheme: Scheme,
    pub salt: Salt,
    /// The one before, which signs too until then.
    pub old_salt: Option<(Salt, Timestamp)>,
    pub state: EndpointState,
    pub version: u64,
    pub created_by: UserId,
    pub created_at: Timestamp,
    pub changed_at: Timestamp,
    /// It hears of what happens from then on.
    pub active_since: Timestamp,
}

impl Endpoint {
    pub fn is_active(&self) -> bool {
        self.state == EndpointState::Active
    }
}

struct EndpointRow {
    id: Uuid,
    url: String,
    label: String,
    events: Vec<String>,
    scheme: String,
    salt: Vec<u8>,
    old_salt: Option<Vec<u8>>,
    old_until: Option<Moment>,
    state: String,
    reason: Option<String>,
    version: i64,
    created_by: Uuid,
    created_at: Moment,
    changed_at: Moment,
    active_since: Moment,
}

impl TryFrom<EndpointRow> for Endpoint {
    type Error = RowError;

    fn try_from(row: EndpointRow) -> Result<Self, RowError> {
        let id = WebhookId::from_uuid(row.id);
        let wrong = |column, why: String| RowError {
            table: "webhook_endpoint",
            column,
            row: id.to_string(),
            why,
        };
        let salt = |column, bytes: Vec<u8>| {
            Salt::try_from(bytes).map_err(|bytes| wrong(column, format!("{} bytes", bytes.len())))
        };
        let scheme = match row.scheme.as_str() {
            "v1" => Scheme::V1,
            "v1a" => Scheme::V1a,
            other => return Err(wrong("scheme", format!("`{other}`"))),
        };
        let state = match (row.state.as_str(), row.reason) {
            ("active", None) => EndpointState::Active,
            ("disabled", Some(reason)) => EndpointState::Disabled { reason },
            (other, _) => return Err(wrong("state", format!("`{other}`"))),
        };
        let events =
            Subscription::new(&row.events).map_err(|error| wrong("events", error.to_string()))?;
        let old_salt = match (row.old_salt, row.old_until) {
            (Some(bytes), Some(until)) => Some((salt("old_salt", bytes)?, until.0)),
            _ => None,
        };
        Ok(Self {
            id,
            profile: Profile { url: row.url, label: row.label, events },
            scheme,
            salt: salt("salt", row.salt)?,
            old_salt,
            state,
            version: row.version.unsigned_abs(),
            created_by: UserId::from_uuid(row.created_by),
            created_at: row.created_at.0,
            changed_at: row.changed_at.0,
            active_since: row.active_since.0,
        })
    }
}

pub async fn insert(
    tx: &mut Tx,
    id: WebhookId,
    profile: &Profile,
    scheme: Scheme,
    salt: &Salt,
    by: UserId,
) -> Result<(), Error> {
    let query = query!(
        "INSERT INTO webhook_endpoint (tenant_id, id, url, label, events, scheme, salt, state,
                                       version, created_by, created_at, changed_at,
                                       active_since)
         VALUES ($1, $2, $3, $4, $5, $6, $7, 'active', 1, $8, $9, $9, $9)",
        tx.tenant().uuid(),
        id.uuid(),
        profile.url,
        profile.label,
        &profile.events.texts(),
        scheme.as_str(),
        salt.as_slice(),
        by.uuid(),
        Moment(tx.now()) as _,
    );
    tx.write(query).await?;
    Ok(())
}

/// `Conflict` if it is not at this version any more.
pub async fn update(
    tx: &mut Tx,
    id: WebhookId,
    version: u64,
    profile: &Profile,
    state: &EndpointState,
) -> Result<(), Error> {
    let (state, reason) = match state {
        EndpointState::Active => ("active", None),
        EndpointState::Disabled { reason } => ("disabled", Some(reason.as_str())),
    };
    let query = query!(
        "UPDATE webhook_endpoint
            SET url = $4, label = $5, events = $6, state = $7, reason = $8, changed_at = $9,
                active_since = CASE WHEN state = 'active' THEN active_since ELSE $9 END,
                version = version + 1
          WHERE tenant_id = $1 AND id = $2 AND version = $3 AND deleted_at IS NULL",
        tx.tenant().uuid(),
        id.uuid(),
        i64::try_from(version).unwrap_or(i64::MAX),
        profile.url,
        profile.label,
        &profile.events.texts(),
        state,
        reason,
        Moment(tx.now()) as _,
    );
    tx.write_one(&id, query).await
}

/// The secret of now signs until then beside the new one; at once not at all if that is past.
pub async fn rotate(
    tx: &mut Tx,
    endpoint: &Endpoint,
    salt: &Salt,
    overlap_until: Timestamp,
) -> Result<(), Error> {
    let keeps_old = overlap_until > tx.now();
    let query = query!(
        "UPDATE webhook_endpoint
            SET old_salt = CASE WHEN $5 THEN salt END,
                old_until = CASE WHEN $5 THEN $6::timestamptz END,
                salt = $4, changed_at = $7, version = version + 1
          WHERE tenant_id = $1 AND id = $2 AND version = $3 AND deleted_at IS NULL",
        tx.tenant().uuid(),
        endpoint.id.uuid(),
        i64::try_from(endpoint.version).unwrap_or(i64::MAX),
        salt.as_slice(),
        keeps_old,
        Moment(overlap_until) as _,
        Moment(tx.now()) as _,
    );
    tx.write_one(&endpoint.id, query).await
}

/// Whether it was active. It says itself that it wants nothing more.
pub async fn disable(tx: &mut Tx, id: WebhookId, reason: &str) -> Result<bool, Error> {
    let query = query!(
        "UPDATE webhook_endpoint
            SET state = 'disabled', reason = $3, changed_at = $4, version = version + 1
          WHERE tenant_id = $1 AND id = $2 AND state = 'active' AND deleted_at IS NULL",
        tx.tenant().uuid(),
        id.uuid(),
        reason,
        Moment(tx.now()) as _,
    );
    Ok(tx.write_if_left(query).await? == 1)
}

/// Its deliveries are forgotten when they have been kept long enough, like all others.
pub async fn delete(tx: &mut Tx, id: WebhookId) -> Result<(), Error> {
    let query = query!(
        "UPDATE webhook_endpoint SET deleted_at = $3, version = version + 1
          WHERE tenant_id = $1 AND id = $2 AND deleted_at IS NULL",
        tx.tenant().uuid(),
        id.uuid(),
        Moment(tx.now()) as _,
    );
    tx.write_one(&id, query).await
}

pub async fn count(tx: &mut Tx) -> Result<usize, Error> {
    let query = query_scalar!(
        r#"SELECT count(*) AS "count!" FROM webhook_endpoint
            WHERE tenant_id = $1 AND deleted_at IS NULL"#,
        tx.tenant().uuid(),
    );
    Ok(usize::try_from(tx.fetch_value(query).await?).unwrap_or_default())
}

pub async fn get(tx: &mut Tx, id: WebhookId) -> Result<Option<Endpoint>, Error> {
    Ok(within(tx, id.uuid(), id.uuid(), false, 1).await?.pop())
}

/// Newest first.
pub async fn list(
    tx: &mut Tx,
    after: Option<WebhookId>,
    limit: u32,
) -> Result<Vec<Endpoint>, Error> {
    let last = after.map_or(u128::MAX, |after| after.uuid().as_u128().saturating_sub(1));
    within(tx, Uuid::nil(), Uuid::from_u128(last), false, limit).await
}

/// Those that hear of events now.
pub async fn listening(tx: &mut Tx, limit: u32) -> Result<Vec<Endpoint>, Error> {
    within(tx, Uuid::nil(), Uuid::max(), true, limit).await
}

async fn within(
    tx: &mut Tx,
    first: Uuid,
    last: Uuid,
    active_only: bool,
    limit: u32,
) -> Result<Vec<Endpoint>, Error> {
    let query = query_as!(
        EndpointRow,
        r#"SELECT id, url, label, events, scheme, salt, old_salt, old_until AS "old_until: Moment",
                  state, reason, version, created_by, created_at AS "created_at: Moment",
                  changed_at AS "changed_at: Moment", active_since AS "active_since: Moment"
             FROM webhook_endpoint
            WHERE tenant_id = $1 AND id BETWEEN $2 AND $3 AND deleted_at IS NULL
              AND (state = 'active' OR NOT $4)
            ORDER BY id DESC LIMIT $5"#,
        tx.tenant().uuid(),
        first,
        last,
        active_only,
        i64::from(limit),
    );
    let rows = tx.fetch(query).await?.into_iter();
    Ok(rows.map(Endpoint::try_from).collect::<Result<Vec<_>, _>>()?)
}
