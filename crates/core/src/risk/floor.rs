//! The lowest score of changes that may destroy the data of a critical resource, whatever the
//! weights of the factors are.

use super::Score;
use super::facts::RiskFacts;
use super::settings::Thresholds;
use super::splitting::Joint;
use crate::change::{Change, ChangeKind};
use crate::limits::{RISK_FLOOR_CRITICALITY, RISK_LARGE_SHARE_PERCENT};
use crate::resource::ResourceRef;

/// Returns the lowest score of the task, with the reason, if there is one.
pub(super) fn floor(
    facts: &RiskFacts<'_>,
    joint: &Joint<'_>,
    thresholds: Thresholds,
) -> Option<(Score, String)> {
    let is_critical = |resource: &ResourceRef| {
        joint.resources.get(resource).is_none_or(|known| known.criticality >= CRITICAL)
    };
    let large = match facts.effect {
        Some(effect) => {
            let large = effect.changes().iter().filter(|change| is_large(change));
            large.map(|change| &change.resource).find(|resource| is_critical(resource))
        }
        None => joint.resources.keys().copied().find(|resource| is_critical(resource)),
    }?;
    let [_, high, _] = thresholds.in_order();
    let reason = format!(
        "at least HIGH, because {large} has a criticality of {RISK_FLOOR_CRITICALITY} or more and \
         a change may affect more than {RISK_LARGE_SHARE_PERCENT} % of a table"
    );
    Some((Score::new(high), reason))
}

const CRITICAL: Score = Score::new(RISK_FLOOR_CRITICALITY);

/// Returns whether a change affects a large share of the rows that a table has. New rows affect
/// none of them.
fn is_large(change: &Change) -> bool {
    change.action != ChangeKind::Add
        && change.rows.is_some_and(|rows| {
            rows.percent.is_none_or(|percent| percent > RISK_LARGE_SHARE_PERCENT)
        })
}

#[cfg(test)]
#[path = "floor_tests.rs"]
mod tests;
