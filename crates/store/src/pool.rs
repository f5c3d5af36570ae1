//! Connections by class, so that a flood of requests cannot take those of the workers, nor both
//! those of health checks and freezes. A connection carries no state of ours: timeouts and the
//! tenant are set inside each transaction, which also holds behind a pooler in transaction mode.

use std::fmt;

use ade_core::limits::DATABASE_ACQUIRE_TIMEOUT;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{PgPool, Postgres, pool::PoolConnection};

use crate::error::Error;

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
    connections: PgPool,
}

impl Pool {
    pub fn new(settings: &Settings, class: Class) -> Result<Self, Error> {
        let options: PgConnectOptions = settings.url.parse().map_err(Error::from)?;
        let max = match class {
            Class::Api => settings.api_max,
            Class::Worker => settings.worker_max,
            Class::Reserved => settings.reserved_max,
        };
        let connections = PgPoolOptions::new()
            .max_connections(max)
            .acquire_timeout(DATABASE_ACQUIRE_TIMEOUT)
            .connect_lazy_with(
                options.application_name("ade").statement_cache_capacity(settings.statement_cache),
            );
        Ok(Self { class, connections })
    }

    pub fn class(&self) -> Class {
        self.class
    }

    pub async fn close(&self) {
        self.connections.close().await;
    }

    pub(crate) async fn acquire(&self) -> Result<PoolConnection<Postgres>, Error> {
        Ok(self.connections.acquire().await?)
    }
}
