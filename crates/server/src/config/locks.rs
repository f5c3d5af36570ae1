//! Where locks stand in line, and how agents are limited.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;

use super::{Address, ConfigError, unreadable};

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Redis {
    urls: Vec<Address>,
    urls_file: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LockBackend {
    Redis,
    Postgres,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Locks {
    pub backend: LockBackend,
    delay_s: u64,
    pub acquires_per_minute: u32,
    pub acquires_burst: u32,
}

impl Locks {
    pub fn delay(&self) -> Duration {
        Duration::from_secs(self.delay_s)
    }
}

impl Redis {
    /// None if no Redis is used here.
    pub fn urls(&self) -> Result<Vec<Address>, ConfigError> {
        if self.urls_file.as_os_str().is_empty() {
            return Ok(self.urls.clone());
        }
        if !self.urls.is_empty() {
            return Err(ConfigError::Twice { setting: "redis.urls".to_owned() });
        }
        let text = fs::read_to_string(&self.urls_file)
            .map_err(|source| unreadable("redis.urls_file", &self.urls_file, source))?;
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        Ok(lines.map(Address::new).collect())
    }
}
