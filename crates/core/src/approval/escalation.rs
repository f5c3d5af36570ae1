//! The effect of time on a review: when each escalation step is due and what it does, and when the
//! review ends unanswered. Time can ask more people and can end a review; it never approves.

use std::time::Duration;

use crate::policy::{EscalationStep, Requirement};
use crate::time::Timestamp;

/// Returns the steps of all requirements in the order in which they are due, each once.
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

/// Returns when an unanswered review ends. The people asked by the last step get the full response
/// time.
pub fn review_ends_at(requirements: &[&Requirement], opened_at: Timestamp) -> Timestamp {
    let last_step = steps(requirements).last().map(|step| step.after).unwrap_or_default();
    opened_at.plus(last_step).plus(respond_within(requirements))
}

/// Returns the next steps, which are all due at the same time. Progress is stored as a time and not
/// as a count, so that a policy change can neither skip a step nor run one twice.
pub fn next_steps(requirements: &[&Requirement], escalated_to: Duration) -> Vec<EscalationStep> {
    let mut left = steps(requirements);
    left.retain(|step| step.after > escalated_to);
    let next = left.first().map(|step| step.after);
    left.retain(|step| Some(step.after) == next);
    left
}
