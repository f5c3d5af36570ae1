//! How soon somebody should look: the priority a task asks for, its band, and the place in a
//! reviewer's queue, where risk and band weigh together.

use serde::{Deserialize, Deserializer, Serialize};
use thiserror::Error;

use super::Score;

/// 0 to 100, as the task says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Priority(u8);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("{given} is not a priority: 0 to 100")]
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

/// Higher is looked at first.
pub fn queue_score(risk: Score, band: PriorityBand) -> u32 {
    u32::from(risk.points()) * 10 + band.bonus()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bands_begin_where_they_should() {
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
    fn above_a_hundred_is_no_priority() {
        let refused = Priority::new(101).unwrap_err();
        assert_eq!(refused.to_string(), "101 is not a priority: 0 to 100");
        assert!(serde_json::from_str::<Priority>("101").is_err());
        let priority: Priority = serde_json::from_str("100").unwrap();
        assert_eq!(serde_json::to_string(&priority).unwrap(), "100");
    }

    #[test]
    fn the_queue_weighs_risk_and_band() {
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
