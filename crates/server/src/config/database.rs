//! Where the record is, and the databases on which changes are tried.

use std::collections::BTreeMap;
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

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Preview {
    pub sql_types: Vec<String>,
    targets: BTreeMap<String, Target>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Target {
    #[serde(default)]
    url: Address,
    #[serde(default)]
    url_file: PathBuf,
    #[serde(default)]
    allow_plain: bool,
}

impl Database {
    pub fn url(&self) -> Result<Address, ConfigError> {
        let what = "where PostgreSQL is, for example postgres://ade_app@localhost/ade";
        let missing = ConfigError::Missing { setting: "database.url", what };
        self.guarded("database.url", &self.url, &self.url_file)?.ok_or(missing)
    }

    pub fn worker_url(&self) -> Result<Address, ConfigError> {
        let own = self.guarded("database.worker_url", &self.worker_url, &self.worker_url_file)?;
        own.map_or_else(|| self.url(), Ok)
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

impl Preview {
    pub fn targets(&self) -> Result<BTreeMap<String, Address>, ConfigError> {
        let mut targets = BTreeMap::new();
        for (name, target) in &self.targets {
            let setting = format!("preview.targets.{name}.url");
            let what = "where this database is; give it `url` or `url_file`";
            let missing = ConfigError::Missing { setting: "preview.targets", what };
            let address = address(&setting, &target.url, &target.url_file)?.ok_or(missing)?;
            let allow = || format!("preview.targets.{name}.allow_plain");
            let address = guarded(&setting, address, target.allow_plain, allow)?;
            targets.insert(name.clone(), address);
        }
        Ok(targets)
    }
}

/// The way to it is closed to listeners, or somebody has said that it need not be.
fn guarded(
    setting: &str,
    url: Address,
    is_allowed: bool,
    allow: impl Fn() -> String,
) -> Result<Address, ConfigError> {
    let setting = || setting.to_owned();
    // Only that it is wrong: the address may hold a password.
    let unfit = |_| ConfigError::Address {
        setting: setting(),
        why: "PostgreSQL's are like postgres://ade_app@host/ade?sslmode=verify-full".to_owned(),
    };
    if is_allowed || is_database_guarded(url.reveal()).map_err(unfit)? {
        return Ok(url);
    }
    let how = "give the address `?sslmode=verify-full` (and `&sslrootcert=` with the file of its \
               authority)";
    Err(ConfigError::PlainWire { setting: setting(), how, allow: allow() })
}
