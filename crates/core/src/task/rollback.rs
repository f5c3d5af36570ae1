//! The rollback strategy for an attempt that failed after it had changed something.

use crate::limits::ROLLBACK_STEPS_MAX_BYTES;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rollback {
    /// The executor rolls the change back, on failure and on timeout.
    Automatic,
    /// A person rolls the change back by these steps.
    Manual { steps: String },
    /// The change cannot be rolled back, or need not be.
    None,
}

impl Rollback {
    /// Returns `None` if the strategy is unknown, or if steps are missing, too long or not allowed.
    pub fn new(strategy: &str, steps: Option<String>) -> Option<Self> {
        match (strategy, steps) {
            ("automatic", None) => Some(Self::Automatic),
            ("none", None) => Some(Self::None),
            ("manual", Some(steps)) => {
                let holds = (1..=ROLLBACK_STEPS_MAX_BYTES).contains(&steps.len());
                holds.then_some(Self::Manual { steps })
            }
            _ => None,
        }
    }

    pub const fn strategy(&self) -> &'static str {
        match self {
            Self::Automatic => "automatic",
            Self::Manual { .. } => "manual",
            Self::None => "none",
        }
    }

    pub fn steps(&self) -> Option<&str> {
        match self {
            Self::Manual { steps } => Some(steps),
            Self::Automatic | Self::None => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rollback_strategy_round_trips_and_only_manual_has_steps() {
        for rollback in [
            Rollback::Automatic,
            Rollback::Manual { steps: "restore the dump".to_owned() },
            Rollback::None,
        ] {
            let steps = rollback.steps().map(str::to_owned);
            assert_eq!(Rollback::new(rollback.strategy(), steps), Some(rollback));
        }
        let long = "x".repeat(ROLLBACK_STEPS_MAX_BYTES + 1);
        for (strategy, steps) in [
            ("automatic", Some("why")),
            ("none", Some("why")),
            ("manual", None),
            ("manual", Some("")),
            ("manual", Some(long.as_str())),
            ("later", None),
        ] {
            assert_eq!(Rollback::new(strategy, steps.map(str::to_owned)), None, "{strategy}");
        }
    }
}
