//! What a tenant may switch on, by name. Each is as the installation has it until an admin says
//! otherwise, and a flag never does more than widen what rules already allow.

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
#[error("`{given}` is not a flag: auto_approve_low_risk, batch_approvals or deadlock_detection")]
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

    /// What is so while it is on.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::AutoApproveLowRisk => {
                "a `risk_below` of a policy's `auto_approve_if` covers at least all LOW tasks; a \
                 policy without such a clause lets nothing pass"
            }
            Self::BatchApprovals => "several requests may be answered with one call",
            Self::DeadlockDetection => "nothing: deadlocks are always looked for and resolved",
        }
    }
}

/// How the installation has them, for tenants that have not said.
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
    fn a_flag_survives_its_name_and_nothing_else_is_one() {
        for flag in Flag::ALL {
            assert_eq!(flag.to_string().parse(), Ok(flag));
        }
        for other in ["", "AUTO_APPROVE_LOW_RISK", "auto_approve"] {
            assert!(other.parse::<Flag>().is_err(), "{other}");
        }
    }
}
