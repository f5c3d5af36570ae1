//! Connection pools by class, so that a flood of requests cannot take the connections of the
//! workers, and neither can take those of health checks and freezes; within a class, a tenant gets
//! its share. A connection has no state of its own: timeouts and the tenant are set inside each
//! transaction, which also works behind a pooler in transaction mode.

use std::fmt;
use std::time::Duration;

use ade_core::ids::TenantId;
use ade_core::limits::{DATABASE_ACQUIRE_TIMEOUT, DATABASE_ANSWER_TIMEOUT};
use ade_core::network::is_this_machine;
use ade_core::time::Timestamp;
use sqlx::postgres::{PgConnectOptions, PgSslMode};
use sqlx::query_scalar;
use tokio::time::{Instant, timeout_at};

pub use crate::connection::PoolUse;
use crate::connection::{Connections, PooledConnection, Timeouts};
use crate::error::StoreError;
use crate::timestamp::PgTimestamp;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PoolClass {
    /// Requests of people and agents.
    Api,
    /// Workers of the server itself.
    Worker,
    /// Health checks and freezes, which must work when nothing else does.
    Reserved,
    /// Reads from a standby. The only class that does not need to write.
    Replica,
}

/// The address of PostgreSQL and the number of connections of each class.
#[derive(Clone)]
pub struct PoolSettings {
    pub url: String,
    pub api_max: u32,
    pub worker_max: u32,
    pub reserved_max: u32,
    pub replica_max: u32,
    /// The longest wait for a free or new connection.
    pub acquire_timeout: Duration,
    /// The longest wait for the answer to one statement, after which its connection is closed.
    pub answer_timeout: Duration,
    /// The number of prepared statements kept per connection. It must be zero behind a pooler that
    /// does not support them, such as `PgBouncer` before 1.21.
    pub statement_cache: usize,
}

impl PoolSettings {
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            api_max: 16,
            worker_max: 8,
            reserved_max: 2,
            replica_max: 8,
            acquire_timeout: DATABASE_ACQUIRE_TIMEOUT,
            answer_timeout: DATABASE_ANSWER_TIMEOUT,
            statement_cache: 256,
        }
    }
}

/// Hides the url, which contains a password.
impl fmt::Debug for PoolSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("api_max", &self.api_max)
            .field("worker_max", &self.worker_max)
            .field("reserved_max", &self.reserved_max)
            .field("replica_max", &self.replica_max)
            .field("acquire_timeout", &self.acquire_timeout)
            .field("answer_timeout", &self.answer_timeout)
            .field("statement_cache", &self.statement_cache)
            .finish_non_exhaustive()
    }
}

/// Returns whether the connection is protected from eavesdropping: the database is on this machine,
/// or it is reached by TLS that verifies its certificate and its name.
pub fn is_guarded(url: &str) -> Result<bool, StoreError> {
    let options: PgConnectOptions = url.parse().map_err(StoreError::from)?;
    let is_checked = matches!(options.get_ssl_mode(), PgSslMode::VerifyFull);
    // Without a host the driver uses a local socket, too.
    let host = options.get_host();
    let is_near = options.get_socket().is_some() || host.starts_with('/') || is_this_machine(host);
    Ok(is_checked || is_near)
}

/// Why a pool cannot serve requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PoolFault {
    #[error("PostgreSQL cannot be reached")]
    Unreachable,
    #[error("PostgreSQL does not answer")]
    Silent,
    #[error("PostgreSQL accepts no writes: it is a standby or set to read-only")]
    ReadOnly,
}

impl PoolFault {
    /// Classifies an error. The cause may name hosts and roles, so it is only logged.
    fn of(error: &StoreError) -> Self {
        tracing::warn!(%error, "database check failed");
        match error {
            StoreError::ReadOnly => Self::ReadOnly,
            _ => Self::Unreachable,
        }
    }
}

#[derive(Debug, Clone)]
pub struct Pools {
    pub api: Pool,
    pub worker: Pool,
    pub reserved: Pool,
}

impl Pools {
    /// Creates a pool. It connects on first use, so that a server can start while PostgreSQL is
    /// still unavailable.
    pub fn new(settings: &PoolSettings) -> Result<Self, StoreError> {
        Ok(Self {
            api: Pool::new(settings, PoolClass::Api)?,
            worker: Pool::new(settings, PoolClass::Worker)?,
            reserved: Pool::new(settings, PoolClass::Reserved)?,
        })
    }
}

#[derive(Debug, Clone)]
pub struct Pool {
    class: PoolClass,
    login: String,
    connections: Connections,
}

impl Pool {
    pub fn new(settings: &PoolSettings, class: PoolClass) -> Result<Self, StoreError> {
        let options: PgConnectOptions = settings.url.parse().map_err(StoreError::from)?;
        let max = match class {
            PoolClass::Api => settings.api_max,
            PoolClass::Worker => settings.worker_max,
            PoolClass::Reserved => settings.reserved_max,
            PoolClass::Replica => settings.replica_max,
        };
        // No query here reads enough to benefit from JIT compilation; yet a list over partitions is
        // estimated so high that it would be compiled, for half a second, to return twenty rows.
        let options = options
            .application_name("ade")
            .options([("jit", "off")])
            .statement_cache_capacity(settings.statement_cache);
        let login = options.get_username().to_owned();
        let must_write = class != PoolClass::Replica;
        let timeouts =
            Timeouts { acquire: settings.acquire_timeout, answer: settings.answer_timeout };
        let connections = Connections::new(options, max, must_write, timeouts);
        Ok(Self { class, login, connections })
    }

    /// Returns the login in the address, which a pooler may replace by another one.
    pub(crate) fn login(&self) -> &str {
        &self.login
    }

    pub fn class(&self) -> PoolClass {
        self.class
    }

    pub async fn close(&self) {
        self.connections.close().await;
    }

    /// Returns the database time, which all processes share.
    pub async fn clock(&self) -> Result<Timestamp, StoreError> {
        let mut connection = self.acquire().await?;
        let query = query_scalar!(r#"SELECT moment() AS "now!: PgTimestamp""#);
        Ok(query.fetch_one(connection.get()?).await?.0)
    }

    /// Checks whether PostgreSQL answers at all.
    pub async fn ping(&self) -> Result<(), StoreError> {
        let mut connection = self.acquire().await?;
        sqlx::query("SELECT 1").execute(connection.get()?).await?;
        Ok(())
    }

    /// Checks whether requests can be served over this pool: within `limit`, one of its connections
    /// must report that the server accepts writes. Connections that report otherwise are closed. A
    /// pool whose slots are all in use is busy, and not faulty, as long as its connections answer.
    pub async fn check(&self, limit: Duration) -> Result<(), PoolFault> {
        let deadline = Instant::now() + limit;
        let mut fault = PoolFault::Unreachable;
        for _ in 0..=self.idle_count() {
            let mut connection = match timeout_at(deadline, self.acquire_untried(None)).await {
                Ok(connection) => connection.map_err(|error| PoolFault::of(&error))?,
                Err(_) if self.connections.has_answered_within(limit) => return Ok(()),
                Err(_) => return Err(PoolFault::Silent),
            };
            let answer = timeout_at(deadline, connection.can_write()).await;
            if let Ok(Ok(true)) = answer {
                connection.give_back();
                return Ok(());
            }
            connection.discard();
            fault = match answer {
                Ok(Ok(_)) => PoolFault::ReadOnly,
                Ok(Err(error)) => PoolFault::of(&error),
                Err(_) => return Err(PoolFault::Silent),
            };
        }
        Err(fault)
    }

    /// Acquires a connection that has just answered, for a statement of no tenant in particular,
    /// such as the lookup of a token. At most the idle connections can be dead.
    pub(crate) async fn acquire(&self) -> Result<PooledConnection, StoreError> {
        for _ in 0..self.idle_count() {
            let mut connection = self.acquire_untried(None).await?;
            if connection.ping().await.is_ok() {
                return Ok(connection);
            }
            connection.discard();
        }
        self.acquire_untried(None).await
    }

    /// Acquires a connection without testing it. It may have died while it was idle, so the caller
    /// must retry with the next one. A tenant gets its share of the connections, except of those
    /// that are reserved for health checks and freezes.
    pub(crate) async fn acquire_untried(
        &self,
        tenant: Option<TenantId>,
    ) -> Result<PooledConnection, StoreError> {
        self.connections.lend(tenant.filter(|_| self.class != PoolClass::Reserved)).await
    }

    /// Returns how much of the pool is in use.
    pub fn usage(&self) -> PoolUse {
        self.connections.usage()
    }

    pub(crate) fn idle_count(&self) -> usize {
        self.connections.idle_count()
    }
}
