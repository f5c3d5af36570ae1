//! How dangerous a change is: a score of 0–100 from four weighted factors, the level a person
//! reads, and the sentence behind each factor. Only the server's own facts and an observed effect
//! count, and what is not known counts as the most: taking information away from a task never
//! lowers its score ([`assess`] says exactly what that means).

mod assessment;
mod factor;
mod facts;
mod priority;
mod rules;
mod scale;
mod settings;
mod splitting;

pub use assessment::{Assessment, Factor, FactorName, assess};
pub use facts::{Facts, History, Outcomes, RecentTask, ResourceFacts};
pub use priority::{Priority, PriorityBand, PriorityError, queue_score};
pub use rules::Rules;
pub use settings::{Settings, SettingsError, Thresholds, Weights};
pub use splitting::connected;

use serde::{Deserialize, Serialize};

use crate::limits::RISK_CRITICALITY_DEFAULT;

/// 0 (nothing to lose) to 100.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Score(u8);

impl Score {
    pub const MAX: Self = Self(100);

    /// Above 100 is 100: more danger than the scale has is still the most danger.
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
            return Err(serde::de::Error::custom(format!("{points} is not a score of 0 to 100")));
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

/// The registry's word, else the tenant's for such names, else the middle.
fn criticality(facts: &ResourceFacts) -> Score {
    facts.criticality.or(facts.pattern_default).unwrap_or(Score::new(RISK_CRITICALITY_DEFAULT))
}

#[cfg(test)]
mod samples;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_score_stops_at_a_hundred() {
        assert_eq!(Score::new(100).points(), 100);
        assert_eq!(Score::new(101), Score::MAX);
        assert_eq!(serde_json::from_str::<Score>("100").unwrap(), Score::MAX);
        let refused = serde_json::from_str::<Score>("101").unwrap_err().to_string();
        assert!(refused.contains("101 is not a score"), "{refused}");
    }

    #[test]
    fn levels_rise_and_are_written_in_capitals() {
        let levels = [Level::Low, Level::Medium, Level::High, Level::Critical];
        assert!(levels.is_sorted());
        let text = serde_json::to_string(&levels).unwrap();
        assert_eq!(text, r#"["LOW","MEDIUM","HIGH","CRITICAL"]"#);
    }
}
