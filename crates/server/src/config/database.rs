//! The addresses of the server's own database.

use std::path::{Path, PathBuf};

use ade_engine::is_database_guarded;
use serde::Deserialize;

use super::{Address, ConfigError, address};

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Database {
    url: Address,
    url_file: PathBuf,
    worker_url: Address,
    worker_url_file: PathBuf,
    replica_url: Address,
    replica_url_file: PathBuf,
    owner_url: Address,
    owner_url_file: PathBuf,
    allow_plain: bool,
    pub api_connections: u32,
    pub worker_connections: u32,
    pub replica_connections: u32,
    pub statement_cache: usize,
}

impl Database {
    pub fn url(&self) -> Result<Address, ConfigError> {
        let what = "give the PostgreSQL URL, for example postgres://ade_app@localhost/ade";
        let missing = ConfigError::Missing { setting: "database.url", what };
        self.guarded("database.url", &self.url, &self.url_file)?.ok_or(missing)
    }

    pub fn worker_url(&self) -> Result<Address, ConfigError> {
        let setting = "database.worker_url";
        let what = "give the PostgreSQL URL of the workers, whose login must be another one than \
                    that of `database.url`, for example postgres://ade_work@localhost/ade";
        let missing = ConfigError::Missing { setting, what };
        self.guarded(setting, &self.worker_url, &self.worker_url_file)?.ok_or(missing)
    }

    pub fn replica_url(&self) -> Result<Option<Address>, ConfigError> {
        self.guarded("database.replica_url", &self.replica_url, &self.replica_url_file)
    }

    pub fn owner_url(&self) -> Result<Address, ConfigError> {
        let own = self.guarded("database.owner_url", &self.owner_url, &self.owner_url_file)?;
        own.map_or_else(|| self.url(), Ok)
    }

    fn guarded(
        &self,
        setting: &str,
        url: &Address,
        file: &Path,
    ) -> Result<Option<Address>, ConfigError> {
        let found = address(setting, url, file)?;
        let allow = || "database.allow_plain".to_owned();
        found.map(|url| guarded(setting, url, self.allow_plain, allow)).transpose()
    }
}

/// Requires that the connection is protected, unless the operator has allowed plain connections.
pub(super) fn guarded(
    setting: &str,
    url: Address,
    is_allowed: bool,
    allow: impl Fn() -> String,
) -> Result<Address, ConfigError> {
    let setting = || setting.to_owned();
    // The address is not part of the error, because it may contain a password.
    let unfit = |_| ConfigError::Address {
        setting: setting(),
        why: "write it like postgres://ade_app@host/ade?sslmode=verify-full".to_owned(),
    };
    if is_allowed || is_database_guarded(url.reveal()).map_err(unfit)? {
        return Ok(url);
    }
    let how = "add `?sslmode=verify-full` to the URL (and `&sslrootcert=` with the CA file)";
    Err(ConfigError::PlainWire { setting: setting(), how, allow: allow() })
}
