//! How urgent a task is: the requested priority, its band, and the place in a reviewer's queue,
//! which combines risk and band.

use serde::{Deserialize, Deserializer, Serialize};
use thiserror::Error;

use super::Score;

/// The priority of a task, from 0 to 100.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Priority(u8);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("{given} is not a priority: use 0 to 100")]
pub struct PriorityError {
    given: u8,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum PriorityBand {
    Low,
    Normal,
    High,
    Urgent,
}

impl Priority {
    pub const fn new(points: u8) -> Result<Self, PriorityError> {
        if points > 100 {
            return Err(PriorityError { given: points });
        }
        Ok(Self(points))
    }

    pub const fn points(self) -> u8 {
        self.0
    }

    pub const fn band(self) -> PriorityBand {
        match self.0 {
            0..25 => PriorityBand::Low,
            25..60 => PriorityBand::Normal,
            60..85 => PriorityBand::High,
            85.. => PriorityBand::Urgent,
        }
    }
}

impl<'de> Deserialize<'de> for Priority {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(u8::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

impl PriorityBand {
    const fn bonus(self) -> u32 {
        match self {
            Self::Low => 0,
            Self::Normal => 100,
            Self::High => 500,
            Self::Urgent => 1_000,
        }
    }
}

/// Returns the queue score of a request; a higher score is listed first.
pub fn queue_score(risk: Score, band: PriorityBand) -> u32 {
    u32::from(risk.points()) * 10 + band.bonus()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn priority_bands_begin_at_their_bounds() {
        for (points, band) in [
            (0, PriorityBand::Low),
            (24, PriorityBand::Low),
            (25, PriorityBand::Normal),
            (59, PriorityBand::Normal),
            (60, PriorityBand::High),
            (84, PriorityBand::High),
            (85, PriorityBand::Urgent),
            (100, PriorityBand::Urgent),
        ] {
            let priority = Priority::new(points).unwrap();
            assert_eq!(priority.band(), band, "{points}");
            assert_eq!(priority.points(), points);
        }
    }

    #[test]
    fn priority_above_a_hundred_is_refused() {
        let refused = Priority::new(101).unwrap_err();
        assert_eq!(refused.to_string(), "101 is not a priority: use 0 to 100");
        assert!(serde_json::from_str::<Priority>("101").is_err());
        let priority: Priority = serde_json::from_str("100").unwrap();
        assert_eq!(serde_json::to_string(&priority).unwrap(), "100");
    }

    #[test]
    fn queue_score_weighs_risk_and_band() {
        for (risk, band, expected) in [
            (0, PriorityBand::Low, 0),
            (85, PriorityBand::Low, 850),
            (35, PriorityBand::Normal, 450),
            (35, PriorityBand::High, 850),
            (100, PriorityBand::Urgent, 2_000),
        ] {
            assert_eq!(queue_score(Score::new(risk), band), expected);
        }
        let text = serde_json::to_string(&PriorityBand::Urgent).unwrap();
        assert_eq!(text, r#""URGENT""#);
    }
}
