//! What every tenant has until its admins set something else.

use ade_core::flag::Switches;
use ade_core::risk::{self, Thresholds};
use ade_core::times::{ApprovalTimes, LockTimes, TaskTimes, Times};
use serde::Deserialize;

use super::ConfigError;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Defaults {
    lock: LockTimes,
    approval: ApprovalTimes,
    task: TaskTimes,
    risk_thresholds: Thresholds,
    flags: Switches,
}

impl Defaults {
    pub fn times(&self) -> Result<Times, ConfigError> {
        let Self { lock, approval, task, .. } = *self;
        Ok(Times { lock, approval, task }.checked()?)
    }

    pub fn flags(&self) -> Switches {
        self.flags
    }

    pub fn risk(&self) -> risk::Settings {
        risk::Settings { thresholds: self.risk_thresholds, ..risk::Settings::default() }
    }
}
