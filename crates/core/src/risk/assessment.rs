//! The risk assessment of one task: the score, its level, and each factor with its share and its
//! reason. The shares add up exactly to the score before rounding, unless a floor raises it. Only
//! the server creates assessments.

use serde::{Deserialize, Serialize};

use super::factor::{self, Rated};
use super::facts::RiskFacts;
use super::floor;
use super::settings::RiskConfig;
use super::splitting::Joint;
use super::{Level, Score};
use crate::limits::RISK_WEIGHTS_SUM_BP;
use crate::time::Timestamp;

/// The name of the algorithm, stored with every assessment. Another algorithm gets another name.
const ALGORITHM: &str = "risk/2";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Assessment {
    pub score: Score,
    pub level: Level,
    pub factors: [Factor; 4],
    pub assessed_at: Timestamp,
    pub assessed_by: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Factor {
    pub name: FactorName,
    pub score: Score,
    pub weight_bp: u16,
    /// Its share of the score, in ten-thousandths of a point.
    pub contribution_bp: u32,
    pub sentence: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FactorName {
    ResourceCriticality,
    ChangeMagnitude,
    BlastRadius,
    HistoricalFailureRate,
}

/// Assesses a task. The score is monotone in the information that comes with a task. For an effect
/// within the named resources, it does not fall when the effect is dropped, turns from observed to
/// declared or gains an error; when the dependents of a resource, the outcomes of similar tasks or
/// the size of a recent task become unknown; when recent tasks are added; or when the whole
/// resource list is dropped.
///
/// Two changes are not covered. A task with one resource less is another task with another digest;
/// if the effect still touches that resource, it has no digest and gets the worst rating. The
/// registry and the pattern defaults belong to the tenant, are changed by admins and audited:
/// without its entry a resource falls back to the default of its pattern, or to 50, which may be
/// lower than the entry was.
pub fn assess(facts: &RiskFacts<'_>, settings: &RiskConfig, now: Timestamp) -> Assessment {
    let joint = Joint::new(facts, now);
    let [criticality_bp, magnitude_bp, radius_bp, failure_bp] = settings.weights.in_order();
    let mut factors = [
        Factor::new(
            FactorName::ResourceCriticality,
            factor::resource_criticality(facts, &joint),
            criticality_bp,
        ),
        Factor::new(
            FactorName::ChangeMagnitude,
            factor::change_magnitude(facts, &joint),
            magnitude_bp,
        ),
        Factor::new(FactorName::BlastRadius, factor::blast_radius(facts, &joint), radius_bp),
        Factor::new(
            FactorName::HistoricalFailureRate,
            factor::historical_failure_rate(facts.history),
            failure_bp,
        ),
    ];
    let mut score = total(&factors);
    if let Some((floor, reason)) = floor::floor(facts, &joint, settings.thresholds) {
        score = score.max(floor);
        let [_, magnitude, ..] = &mut factors;
        magnitude.sentence = format!("{}; {reason}", magnitude.sentence);
    }
    Assessment {
        score,
        level: settings.thresholds.level(score),
        factors,
        assessed_at: now,
        assessed_by: ALGORITHM.to_owned(),
    }
}

impl Factor {
    fn new(name: FactorName, (score, sentence): Rated, weight_bp: u16) -> Self {
        Self {
            name,
            score,
            weight_bp,
            contribution_bp: u32::from(score.points()) * u32::from(weight_bp),
            sentence,
        }
    }
}

/// Rounds to the nearest point, half a point upwards.
fn total(factors: &[Factor; 4]) -> Score {
    let sum_bp: u32 = factors.iter().map(|factor| factor.contribution_bp).sum();
    let points = (sum_bp + RISK_WEIGHTS_SUM_BP / 2) / RISK_WEIGHTS_SUM_BP;
    Score::new(u8::try_from(points).unwrap_or(u8::MAX))
}

#[cfg(test)]
#[path = "assessment_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "monotone_tests.rs"]
mod monotone;
