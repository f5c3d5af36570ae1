//! Webhook endpoints: their addresses, subscriptions and signatures. Secrets are not stored; they
//! are derived from a salt that reveals nothing on its own.

use ade_core::ids::{UserId, WebhookId};
use ade_core::time::Timestamp;
use ade_core::webhook::Subscription;
use sqlx::{query, query_as, query_scalar};
use uuid::Uuid;

use crate::error::{RowError, StoreError};
use crate::signed_endpoint::{Salt, Salts};
use crate::timestamp::PgTimestamp;
use crate::tx::Tx;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    /// HMAC-SHA-256 with a shared secret.
    V1,
    /// Ed25519; the endpoint only has the public key.
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

/// The fields of an endpoint that an admin sets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndpointProfile {
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
    pub profile: EndpointProfile,
    pub scheme: Scheme,
    pub salt: Salt,
    /// The previous salt, which signs too until this time.
    pub old_salt: Option<(Salt, Timestamp)>,
    pub state: EndpointState,
    pub version: u64,
    pub created_by: UserId,
    pub created_at: Timestamp,
    pub changed_at: Timestamp,
    /// The endpoint receives events from this time on.
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
    old_until: Option<PgTimestamp>,
    state: String,
    reason: Option<String>,
    version: i64,
    created_by: Uuid,
    created_at: PgTimestamp,
    changed_at: PgTimestamp,
    active_since: PgTimestamp,
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
        let Salts { salt, old_salt } = Salts::read(row.salt, (row.old_salt, row.old_until), wrong)?;
        Ok(Self {
            id,
            profile: EndpointProfile { url: row.url, label: row.label, events },
            scheme,
            salt,
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
    profile: &EndpointProfile,
    scheme: Scheme,
    salt: &Salt,
    by: UserId,
) -> Result<(), StoreError> {
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
        PgTimestamp(tx.now()) as _,
    );
    tx.write(query).await?;
    Ok(())
}

/// Updates an endpoint. `Conflict` if it is not at this version.
pub async fn update(
    tx: &mut Tx,
    id: WebhookId,
    version: u64,
    profile: &EndpointProfile,
    state: &EndpointState,
) -> Result<(), StoreError> {
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
        PgTimestamp(tx.now()) as _,
    );
    tx.write_one(&id, query).await
}

/// Replaces the salt. The current secret signs next to the new one until the given time.
pub async fn rotate(
    tx: &mut Tx,
    endpoint: &Endpoint,
    salt: &Salt,
    overlap_until: Timestamp,
) -> Result<(), StoreError> {
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
        PgTimestamp(overlap_until) as _,
        PgTimestamp(tx.now()) as _,
    );
    tx.write_one(&endpoint.id, query).await
}

/// Disables an endpoint that wants no further deliveries, and returns whether it was active.
pub async fn disable(tx: &mut Tx, id: WebhookId, reason: &str) -> Result<bool, StoreError> {
    let query = query!(
        "UPDATE webhook_endpoint
            SET state = 'disabled', reason = $3, changed_at = $4, version = version + 1
          WHERE tenant_id = $1 AND id = $2 AND state = 'active' AND deleted_at IS NULL",
        tx.tenant().uuid(),
        id.uuid(),
        reason,
        PgTimestamp(tx.now()) as _,
    );
    Ok(tx.write_if_left(query).await? == 1)
}

/// Deletes an endpoint. Its deliveries are deleted after their retention, like all others.
pub async fn delete(tx: &mut Tx, id: WebhookId) -> Result<(), StoreError> {
    let query = query!(
        "UPDATE webhook_endpoint SET deleted_at = $3, version = version + 1
          WHERE tenant_id = $1 AND id = $2 AND deleted_at IS NULL",
        tx.tenant().uuid(),
        id.uuid(),
        PgTimestamp(tx.now()) as _,
    );
    tx.write_one(&id, query).await
}

pub async fn count(tx: &mut Tx) -> Result<usize, StoreError> {
    let query = query_scalar!(
        r#"SELECT count(*) AS "count!" FROM webhook_endpoint
            WHERE tenant_id = $1 AND deleted_at IS NULL"#,
        tx.tenant().uuid(),
    );
    Ok(usize::try_from(tx.fetch_value(query).await?).unwrap_or_default())
}

pub async fn get(tx: &mut Tx, id: WebhookId) -> Result<Option<Endpoint>, StoreError> {
    Ok(within(tx, id.uuid(), id.uuid(), false, 1).await?.pop())
}

/// Returns endpoints, newest first.
pub async fn list(
    tx: &mut Tx,
    after: Option<WebhookId>,
    limit: u32,
) -> Result<Vec<Endpoint>, StoreError> {
    let last = after.map_or(u128::MAX, |after| after.uuid().as_u128().saturating_sub(1));
    within(tx, Uuid::nil(), Uuid::from_u128(last), false, limit).await
}

/// Returns the endpoints that receive events now.
pub async fn listening(tx: &mut Tx, limit: u32) -> Result<Vec<Endpoint>, StoreError> {
    within(tx, Uuid::nil(), Uuid::max(), true, limit).await
}

async fn within(
    tx: &mut Tx,
    first: Uuid,
    last: Uuid,
    active_only: bool,
    limit: u32,
) -> Result<Vec<Endpoint>, StoreError> {
    let query = query_as!(
        EndpointRow,
        r#"SELECT id, url, label, events, scheme, salt, old_salt,
               old_until AS "old_until: PgTimestamp",
                  state, reason, version, created_by, created_at AS "created_at: PgTimestamp",
                  changed_at AS "changed_at: PgTimestamp",
                  active_since AS "active_since: PgTimestamp"
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
