//! How dangerous a change is: a score of 0–100 and the level a person reads.

use serde::{Deserialize, Serialize};

/// 0 (nothing to lose) to 100.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Score(u8);

impl Score {
    pub const MAX: Self = Self(100);

    /// Above 100 is 100: more danger than the scale has is still the most danger.
    pub const fn new(points: u8) -> Self {
        if points > 100 {
            Self::MAX
        } else {
            Self(points)
        }
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
                "{points} is not a score of 0 to 100"
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
