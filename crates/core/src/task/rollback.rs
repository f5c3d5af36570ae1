//! What is to be done about an attempt that failed after it had changed something.

use crate::limits::ROLLBACK_STEPS_MAX_BYTES;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rollback {
    /// Whoever applies it takes it back, on failure and when time is up.
    Automatic,
    /// A person does, in these steps.
    Manual { steps: String },
    /// It cannot be taken back, or need not be.
    None,
}

impl Rollback {
    /// `None` if the strategy is not known, or if steps are missing, too long or out of place.
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
    fn a_strategy_is_its_word_and_only_the_manual_one_has_steps() {
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
