//! The risk settings of a tenant: the weight of each factor and the thresholds of the levels.
//! Weights always add up to the whole and thresholds always rise. Pattern defaults are stored as
//! text and matched by the glob of policies.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};
use thiserror::Error;

use super::{Level, Score};
use crate::limits::{RISK_PATTERN_DEFAULTS_MAX, RISK_WEIGHTS_SUM_BP};

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SettingsError {
    #[error(
        "the weights add up to {sum_bp} basis points: they must add up to {RISK_WEIGHTS_SUM_BP}"
    )]
    WeightsDoNotAddUp { sum_bp: u32 },
    #[error(
        "the thresholds {medium}, {high} and {critical} do not rise within 0 to 100: each must be \
         above the previous one"
    )]
    ThresholdsDoNotRise { medium: u8, high: u8, critical: u8 },
    #[error("{count} pattern defaults are too many: at most {RISK_PATTERN_DEFAULTS_MAX}")]
    TooManyPatternDefaults { count: usize },
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RiskConfig {
    pub weights: Weights,
    pub thresholds: Thresholds,
    /// For each glob over `type:id`, the criticality of resources that are not in the registry.
    #[serde(deserialize_with = "bounded")]
    pub pattern_defaults: BTreeMap<String, Score>,
}

fn bounded<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, Score>, D::Error> {
    let defaults = BTreeMap::deserialize(deserializer)?;
    let count = defaults.len();
    if count > RISK_PATTERN_DEFAULTS_MAX {
        let refused = SettingsError::TooManyPatternDefaults { count };
        return Err(serde::de::Error::custom(refused));
    }
    Ok(defaults)
}

/// The weights of the factors, in basis points.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "RawWeights")]
#[expect(clippy::struct_field_names, reason = "the unit is part of every name")]
pub struct Weights {
    resource_criticality_bp: u16,
    change_magnitude_bp: u16,
    blast_radius_bp: u16,
    historical_failure_rate_bp: u16,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_field_names, reason = "the unit is part of every name")]
struct RawWeights {
    resource_criticality_bp: u16,
    change_magnitude_bp: u16,
    blast_radius_bp: u16,
    historical_failure_rate_bp: u16,
}

impl Weights {
    pub fn new(
        resource_criticality_bp: u16,
        change_magnitude_bp: u16,
        blast_radius_bp: u16,
        historical_failure_rate_bp: u16,
    ) -> Result<Self, SettingsError> {
        let weights = Self {
            resource_criticality_bp,
            change_magnitude_bp,
            blast_radius_bp,
            historical_failure_rate_bp,
        };
        let sum_bp = weights.in_order().map(u32::from).iter().sum();
        if sum_bp != RISK_WEIGHTS_SUM_BP {
            return Err(SettingsError::WeightsDoNotAddUp { sum_bp });
        }
        Ok(weights)
    }

    /// Returns criticality, magnitude, blast radius and failure rate, in the order of the factors
    /// everywhere.
    pub fn in_order(self) -> [u16; 4] {
        [
            self.resource_criticality_bp,
            self.change_magnitude_bp,
            self.blast_radius_bp,
            self.historical_failure_rate_bp,
        ]
    }
}

impl Default for Weights {
    fn default() -> Self {
        Self {
            resource_criticality_bp: 4_000,
            change_magnitude_bp: 3_000,
            blast_radius_bp: 2_000,
            historical_failure_rate_bp: 1_000,
        }
    }
}

impl TryFrom<RawWeights> for Weights {
    type Error = SettingsError;

    fn try_from(raw: RawWeights) -> Result<Self, SettingsError> {
        Self::new(
            raw.resource_criticality_bp,
            raw.change_magnitude_bp,
            raw.blast_radius_bp,
            raw.historical_failure_rate_bp,
        )
    }
}

/// The lowest score of each level above LOW.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "RawThresholds")]
pub struct Thresholds {
    medium: u8,
    high: u8,
    critical: u8,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawThresholds {
    medium: u8,
    high: u8,
    critical: u8,
}

impl Thresholds {
    pub fn new(medium: u8, high: u8, critical: u8) -> Result<Self, SettingsError> {
        if medium < high && high < critical && critical <= Score::MAX.points() {
            Ok(Self { medium, high, critical })
        } else {
            Err(SettingsError::ThresholdsDoNotRise { medium, high, critical })
        }
    }

    /// Returns the thresholds of MEDIUM, HIGH and CRITICAL.
    pub fn in_order(self) -> [u8; 3] {
        [self.medium, self.high, self.critical]
    }

    /// Returns the first score above LOW.
    pub fn low_below(self) -> Score {
        Score::new(self.medium)
    }

    pub fn level(self, score: Score) -> Level {
        let points = score.points();
        if points >= self.critical {
            Level::Critical
        } else if points >= self.high {
            Level::High
        } else if points >= self.medium {
            Level::Medium
        } else {
            Level::Low
        }
    }
}

impl Default for Thresholds {
    fn default() -> Self {
        Self { medium: 30, high: 60, critical: 85 }
    }
}

impl TryFrom<RawThresholds> for Thresholds {
    type Error = SettingsError;

    fn try_from(raw: RawThresholds) -> Result<Self, SettingsError> {
        Self::new(raw.medium, raw.high, raw.critical)
    }
}

#[cfg(test)]
#[path = "settings_tests.rs"]
mod tests;
