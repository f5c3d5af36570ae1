//! Risk assessment: a score of 0–100 from four weighted factors, a level, and an explanation of
//! each factor. Only facts of the server and an observed effect count, and unknown facts count as
//! the maximum: removing information from a task never lowers its score ([`assess`] has the
//! details).

mod assessment;
mod factor;
mod facts;
mod floor;
mod priority;
mod rules;
mod scale;
mod settings;
mod splitting;

pub use assessment::{Assessment, Factor, FactorName, assess};
pub use facts::{History, Outcomes, RecentTask, ResourceFacts, RiskFacts};
pub use priority::{Priority, PriorityBand, PriorityError, queue_score};
pub use rules::RiskRules;
pub use settings::{RiskConfig, SettingsError, Thresholds, Weights};
pub use splitting::connected;

use serde::{Deserialize, Serialize};

use crate::limits::RISK_CRITICALITY_DEFAULT;

/// A risk score from 0 (no risk) to 100.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Score(u8);

impl Score {
    pub const MAX: Self = Self(100);

    /// Creates a score. Values above 100 become 100.
    pub const fn new(points: u8) -> Self {
        if points > 100 { Self::MAX } else { Self(points) }
    }

    pub const fn points(self) -> u8 {
        self.0
    }
}

impl<'de> Deserialize<'de> for Score {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let points = u8::deserialize(deserializer)?;
        if points > 100 {
            return Err(serde::de::Error::custom(format!(
                "{points} is not a risk score from 0 to 100"
            )));
        }
        Ok(Self(points))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Level {
    Low,
    Medium,
    High,
    Critical,
}

/// Returns the criticality from the registry, or else from the patterns of the tenant, or else the
/// middle of the scale.
fn criticality(facts: &ResourceFacts) -> Score {
    facts.criticality.or(facts.pattern_default).unwrap_or(Score::new(RISK_CRITICALITY_DEFAULT))
}

#[cfg(test)]
mod samples;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn risk_score_is_capped_at_a_hundred() {
        assert_eq!(Score::new(100).points(), 100);
        assert_eq!(Score::new(101), Score::MAX);
        assert_eq!(serde_json::from_str::<Score>("100").unwrap(), Score::MAX);
        let refused = serde_json::from_str::<Score>("101").unwrap_err().to_string();
        assert!(refused.contains("101 is not a risk score"), "{refused}");
    }

    #[test]
    fn risk_levels_are_ordered_and_written_in_capitals() {
        let levels = [Level::Low, Level::Medium, Level::High, Level::Critical];
        assert!(levels.is_sorted());
        let text = serde_json::to_string(&levels).unwrap();
        assert_eq!(text, r#"["LOW","MEDIUM","HIGH","CRITICAL"]"#);
    }
}
