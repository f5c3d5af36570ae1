//! Device logins: terminals that wait for a person to approve them in a browser. Their rows are
//! reached by functions only, by the hash of the secret code of the terminal or of the code that
//! the person types.

use std::time::Duration;

use ade_core::device::UserCode;
use ade_core::ids::{TenantId, UserId};
use ade_core::limits::{DEVICE_LOGIN_TTL, DEVICE_LOGINS_PER_ADDRESS, DEVICE_POLL_PACE};
use ade_core::time::Timestamp;
use sqlx::{query, query_as, query_scalar};
use uuid::Uuid;

use crate::error::{RowError, StoreError};
use crate::pool::Pool;
use crate::timestamp::PgTimestamp;
use crate::tokens::Hash;
use crate::tx::Tx;

/// The terminal that asks, as far as it is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asking {
    /// The name that the client gives itself; it is not verified.
    pub client: String,
    /// The address; empty if it is unknown.
    pub address: String,
    pub user_agent: Option<String>,
}

/// A device login as shown to the person who typed its code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceLogin {
    pub asking: Asking,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
    pub decision: Option<Decision>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decision {
    pub is_approved: bool,
    pub tenant: TenantId,
    pub user: UserId,
}

/// The token that a person grants to a terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    pub scopes: Vec<String>,
    pub days: u16,
}

/// The result of starting a device login.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeviceLoginStart {
    Started,
    /// The maximum of pending logins from this address is reached.
    Crowded,
    /// The code is in use.
    Taken,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Polled {
    /// The login has expired, never existed, or was used already.
    Expired,
    SlowDown {
        pace: Duration,
    },
    Pending {
        pace: Duration,
    },
    Denied,
    Approved {
        tenant: TenantId,
        user: UserId,
    },
}

fn wrong(column: &'static str, why: String) -> StoreError {
    RowError { table: "device_login", column, row: String::new(), why }.into()
}

/// The poll interval in whole seconds, as the table stores it.
fn pace() -> i32 {
    i32::try_from(DEVICE_POLL_PACE.as_secs()).unwrap_or(i32::MAX)
}

pub async fn begin(
    pool: &Pool,
    hash: &Hash,
    code: &UserCode,
    asking: &Asking,
) -> Result<DeviceLoginStart, StoreError> {
    let mut connection = pool.acquire().await?;
    let query = query_scalar!(
        r#"SELECT begin_device_login($1, $2, $3, $4, $5, make_interval(secs => $6), $7, $8)
               AS "outcome!""#,
        hash.as_slice(),
        code.as_str(),
        asking.client,
        asking.address,
        asking.user_agent.as_deref(),
        DEVICE_LOGIN_TTL.as_secs_f64(),
        pace(),
        i32::try_from(DEVICE_LOGINS_PER_ADDRESS).unwrap_or(i32::MAX),
    );
    let outcome = query.fetch_one(connection.get()?).await?;
    connection.give_back();
    match outcome.as_str() {
        "begun" => Ok(DeviceLoginStart::Started),
        "crowded" => Ok(DeviceLoginStart::Crowded),
        "taken" => Ok(DeviceLoginStart::Taken),
        _ => Err(wrong("hash", outcome)),
    }
}

/// Returns the result of a sign-in to the polling terminal.
pub async fn poll(pool: &Pool, hash: &Hash) -> Result<Polled, StoreError> {
    let mut connection = pool.acquire().await?;
    let row = query!(
        r#"SELECT outcome AS "outcome!", pace, tenant_id, user_id
             FROM poll_device_login($1, $2)"#,
        hash.as_slice(),
        pace(),
    )
    .fetch_one(connection.get()?)
    .await?;
    connection.give_back();
    let pace = u64::try_from(row.pace.unwrap_or_default()).unwrap_or_default();
    let pace = Duration::from_secs(pace);
    match (row.outcome.as_str(), row.tenant_id, row.user_id) {
        ("expired", ..) => Ok(Polled::Expired),
        ("slow_down", ..) => Ok(Polled::SlowDown { pace }),
        ("pending", ..) => Ok(Polled::Pending { pace }),
        ("denied", ..) => Ok(Polled::Denied),
        ("approved", Some(tenant), Some(user)) => Ok(Polled::Approved {
            tenant: TenantId::from_uuid(tenant),
            user: UserId::from_uuid(user),
        }),
        _ => Err(wrong("approved", row.outcome)),
    }
}

struct Row {
    client: String,
    address: String,
    user_agent: Option<String>,
    created_at: PgTimestamp,
    expires_at: PgTimestamp,
    approved: Option<bool>,
    tenant_id: Option<Uuid>,
    user_id: Option<Uuid>,
}

impl From<Row> for DeviceLogin {
    fn from(row: Row) -> Self {
        let decision = match (row.approved, row.tenant_id, row.user_id) {
            (Some(is_approved), Some(tenant), Some(user)) => Some(Decision {
                is_approved,
                tenant: TenantId::from_uuid(tenant),
                user: UserId::from_uuid(user),
            }),
            _ => None,
        };
        let Row { client, address, user_agent, created_at, expires_at, .. } = row;
        let asking = Asking { client, address, user_agent };
        Self { asking, created_at: created_at.0, expires_at: expires_at.0, decision }
    }
}

pub async fn find(tx: &mut Tx, code: &UserCode) -> Result<Option<DeviceLogin>, StoreError> {
    let query = query_as!(
        Row,
        r#"SELECT client AS "client!", address AS "address!", user_agent,
                  created_at AS "created_at!: PgTimestamp",
                  expires_at AS "expires_at!: PgTimestamp",
                  approved, tenant_id, user_id
             FROM find_device_login($1)"#,
        code.as_str(),
    );
    Ok(tx.fetch(query).await?.pop().map(DeviceLogin::from))
}

/// Approves with a grant, or denies. Returns whether this call decided.
pub async fn decide(
    tx: &mut Tx,
    code: &UserCode,
    user: UserId,
    grant: Option<&Grant>,
) -> Result<bool, StoreError> {
    let query = query_scalar!(
        r#"SELECT decide_device_login($1, $2, $3, $4, $5) AS "is_first!""#,
        code.as_str(),
        user.uuid(),
        grant.is_some(),
        grant.map(|grant| grant.scopes.as_slice()),
        grant.map(|grant| i32::from(grant.days)),
    );
    let is_first = tx.fetch_value(query).await?;
    if is_first {
        tx.note_write();
    }
    Ok(is_first)
}

/// Takes the grant, for one caller only: it is deleted by the transaction that creates the token.
pub async fn take(tx: &mut Tx, hash: &Hash) -> Result<Option<(String, Grant)>, StoreError> {
    let query = query!(
        r#"SELECT client AS "client!", scopes AS "scopes!", days AS "days!"
             FROM take_device_login($1)"#,
        hash.as_slice(),
    );
    let Some(row) = tx.fetch(query).await?.pop() else { return Ok(None) };
    tx.note_write();
    let days = u16::try_from(row.days).map_err(|error| wrong("days", error.to_string()))?;
    Ok(Some((row.client, Grant { scopes: row.scopes, days })))
}
