//! What time does to a review: when each step is due and what it asks, when the review ends
//! unanswered. Time can ask more people and can end a review; it can never agree.

use std::time::Duration;

use crate::policy::{EscalationStep, Requirement};
use crate::time::Timestamp;

/// The steps of all requirements in the order they come due, each once.
pub fn steps(requirements: &[&Requirement]) -> Vec<EscalationStep> {
    let mut steps: Vec<EscalationStep> =
        requirements.iter().flat_map(|requirement| requirement.escalation.clone()).collect();
    steps.sort_by_key(|step| step.after);
    let mut unique: Vec<EscalationStep> = Vec::new();
    for step in steps {
        if !unique.contains(&step) {
            unique.push(step);
        }
    }
    unique
}

pub fn respond_within(requirements: &[&Requirement]) -> Duration {
    shortest(requirements.iter().map(|requirement| requirement.respond_within))
}

pub fn approval_valid_for(requirements: &[&Requirement]) -> Duration {
    shortest(requirements.iter().map(|requirement| requirement.approval_valid_for))
}

fn shortest(periods: impl Iterator<Item = Duration>) -> Duration {
    periods.min().unwrap_or_default()
}

/// When an unanswered review ends. Whoever the last step asked gets the full time to respond,
/// or asking them would have been for show.
pub fn review_ends_at(requirements: &[&Requirement], opened_at: Timestamp) -> Timestamp {
    let last_step = steps(requirements).last().map(|step| step.after).unwrap_or_default();
    opened_at.plus(last_step).plus(respond_within(requirements))
}

/// The steps that come next, all due at the same moment. Kept by time, not by count: a policy
/// that changes under way can neither skip a step nor run one twice.
pub fn next_steps(requirements: &[&Requirement], escalated_to: Duration) -> Vec<EscalationStep> {
    let mut left = steps(requirements);
    left.retain(|step| step.after > escalated_to);
    let next = left.first().map(|step| step.after);
    left.retain(|step| Some(step.after) == next);
    left
}
