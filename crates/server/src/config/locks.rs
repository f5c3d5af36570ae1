//! The lock backend and the limits for agents.

use std::time::Duration;

use serde::Deserialize;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LockBackend {
    Redis,
    Postgres,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LocksConfig {
    pub backend: LockBackend,
    delay_s: u64,
    pub acquires_per_minute: u32,
    pub acquires_burst: u32,
}

impl LocksConfig {
    pub fn delay(&self) -> Duration {
        Duration::from_secs(self.delay_s)
    }
}
