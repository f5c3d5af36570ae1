//! Feature flags of a tenant, by name. Each has the default of the installation until an admin
//! changes it, and a flag only extends what the rules already allow.

use std::fmt;
use std::str::FromStr;

use serde::Deserialize;
use thiserror::Error;

use crate::text::written_as_text;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Flag {
    AutoApproveLowRisk,
    BatchApprovals,
    DeadlockDetection,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "`{given}` is not a flag: use auto_approve_low_risk, batch_approvals or deadlock_detection"
)]
pub struct FlagError {
    given: String,
}

impl Flag {
    pub const ALL: [Self; 3] =
        [Self::AutoApproveLowRisk, Self::BatchApprovals, Self::DeadlockDetection];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::AutoApproveLowRisk => "auto_approve_low_risk",
            Self::BatchApprovals => "batch_approvals",
            Self::DeadlockDetection => "deadlock_detection",
        }
    }

    /// Describes what the flag enables.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::AutoApproveLowRisk => {
                "a `risk_below` in a policy's `auto_approve_if` covers at least all LOW tasks; a \
                 policy without such a clause auto-approves nothing"
            }
            Self::BatchApprovals => "several approval requests can be answered with one call",
            Self::DeadlockDetection => "no effect: deadlocks are always detected and resolved",
        }
    }
}

/// The defaults of the installation, for tenants that have not changed them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Switches {
    pub auto_approve_low_risk: bool,
    pub batch_approvals: bool,
    pub deadlock_detection: bool,
}

impl Switches {
    pub const fn is_on(self, flag: Flag) -> bool {
        match flag {
            Flag::AutoApproveLowRisk => self.auto_approve_low_risk,
            Flag::BatchApprovals => self.batch_approvals,
            Flag::DeadlockDetection => self.deadlock_detection,
        }
    }
}

impl fmt::Display for Flag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Flag {
    type Err = FlagError;

    fn from_str(text: &str) -> Result<Self, FlagError> {
        let found = Self::ALL.into_iter().find(|flag| flag.as_str() == text);
        found.ok_or_else(|| FlagError { given: text.to_owned() })
    }
}

written_as_text!(Flag);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flag_round_trips_and_unknown_names_are_refused() {
        for flag in Flag::ALL {
            assert_eq!(flag.to_string().parse(), Ok(flag));
        }
        for other in ["", "AUTO_APPROVE_LOW_RISK", "auto_approve"] {
            assert!(other.parse::<Flag>().is_err(), "{other}");
        }
    }
}
