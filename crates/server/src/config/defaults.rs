//! The default settings of tenants.

use ade_core::flag::Switches;
use ade_core::risk::{self, Thresholds};
use ade_core::timeouts::{ApprovalTimeouts, LockTimeouts, TaskTimeouts, Timeouts};
use serde::Deserialize;

use super::ConfigError;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Defaults {
    lock: LockTimeouts,
    approval: ApprovalTimeouts,
    task: TaskTimeouts,
    risk_thresholds: Thresholds,
    flags: Switches,
}

impl Defaults {
    pub fn timeouts(&self) -> Result<Timeouts, ConfigError> {
        let Self { lock, approval, task, .. } = *self;
        Ok(Timeouts { lock, approval, task }.checked()?)
    }

    pub fn flags(&self) -> Switches {
        self.flags
    }

    pub fn risk(&self) -> risk::RiskConfig {
        risk::RiskConfig { thresholds: self.risk_thresholds, ..risk::RiskConfig::default() }
    }
}
