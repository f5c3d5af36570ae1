//! Connections by class, so that a flood of requests cannot take those of the workers, nor both
//! those of health checks and freezes. A connection carries no state of ours: timeouts and the
//! tenant are set inside each transaction, which also holds behind a pooler in transaction mode.

use std::fmt;

use ade_core::network::is_this_machine;
use ade_core::time::Timestamp;
use sqlx::postgres::{PgConnectOptions, PgSslMode};
use sqlx::{Connection as _, query_scalar};

use crate::connection::{Connections, Lent};
use crate::error::Error;
use crate::moment::Moment;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// Requests of people and agents.
    Api,
    /// Workers of the server itself.
    Worker,
    /// Health checks and freezes: must get through when nothing else does.
    Reserved,
}

/// How to reach PostgreSQL, and how much of it each class may take.
#[derive(Clone)]
pub struct Settings {
    pub url: String,
    pub api_max: u32,
    pub worker_max: u32,
    pub reserved_max: u32,
    /// Prepared statements kept per connection. Zero behind a pooler that does not know of
    /// them, as `PgBouncer` before 1.21.
    pub statement_cache: usize,
}

impl Settings {
    pub fn new(url: impl Into<String>) -> Self {
        Self { url: url.into(), api_max: 16, worker_max: 8, reserved_max: 2, statement_cache: 256 }
    }
}

/// The url holds a password.
impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("api_max", &self.api_max)
            .field("worker_max", &self.worker_max)
            .field("reserved_max", &self.reserved_max)
            .field("statement_cache", &self.statement_cache)
            .finish_non_exhaustive()
    }
}

/// Whether nobody on the way to the database can listen: it is on this machine, or spoken to by
/// TLS that checks its certificate and its name.
pub fn is_guarded(url: &str) -> Result<bool, Error> {
    let options: PgConnectOptions = url.parse().map_err(Error::from)?;
    let is_checked = matches!(options.get_ssl_mode(), PgSslMode::VerifyFull);
    // Without a host it is a socket too, where the driver looks for one.
    let host = options.get_host();
    let is_near = options.get_socket().is_some() || host.starts_with('/') || is_this_machine(host);
    Ok(is_checked || is_near)
}

#[derive(Debug, Clone)]
pub struct Pools {
    pub api: Pool,
    pub worker: Pool,
    pub reserved: Pool,
}

impl Pools {
    /// Connects when first asked, so that a server starts while PostgreSQL is still away.
    pub fn new(settings: &Settings) -> Result<Self, Error> {
        Ok(Self {
            api: Pool::new(settings, Class::Api)?,
            worker: Pool::new(settings, Class::Worker)?,
            reserved: Pool::new(settings, Class::Reserved)?,
        })
    }
}

#[derive(Debug, Clone)]
pub struct Pool {
    class: Class,
    connections: Connections,
}

impl Pool {
    pub fn new(settings: &Settings, class: Class) -> Result<Self, Error> {
        let options: PgConnectOptions = settings.url.parse().map_err(Error::from)?;
        let max = match class {
            Class::Api => settings.api_max,
            Class::Worker => settings.worker_max,
            Class::Reserved => settings.reserved_max,
        };
        // Nothing here reads so much that compiling it first would pay; yet a list over partitions
        // is estimated so high that it would be compiled, for half a second, to give twenty rows.
        let options = options
            .application_name("ade")
            .options([("jit", "off")])
            .statement_cache_capacity(settings.statement_cache);
        let connections = Connections::new(options, max);
        Ok(Self { class, connections })
    }

    pub fn class(&self) -> Class {
        self.class
    }

    pub async fn close(&self) {
        self.connections.close().await;
    }

    /// The clock that all processes share.
    pub async fn clock(&self) -> Result<Timestamp, Error> {
        let mut connection = self.acquire().await?;
        let query = query_scalar!(r#"SELECT moment() AS "now!: Moment""#);
        Ok(query.fetch_one(connection.get()?).await?.0)
    }

    /// Whether PostgreSQL answers at all.
    pub async fn ping(&self) -> Result<(), Error> {
        let mut connection = self.acquire().await?;
        sqlx::query("SELECT 1").execute(connection.get()?).await?;
        Ok(())
    }

    /// One that has just answered. Dead ones are few: as many as lie idle at most.
    pub(crate) async fn acquire(&self) -> Result<Lent, Error> {
        for _ in 0..self.idle_count() {
            let mut connection = self.acquire_untried().await?;
            if connection.get()?.ping().await.is_ok() {
                return Ok(connection);
            }
            connection.discard();
        }
        self.acquire_untried().await
    }

    /// It may have died while it lay idle: whoever takes it tries again with the next.
    pub(crate) async fn acquire_untried(&self) -> Result<Lent, Error> {
        Ok(self.connections.lend().await?)
    }

    pub(crate) fn idle_count(&self) -> usize {
        self.connections.idle_count()
    }
}
