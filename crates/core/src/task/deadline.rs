//! The end of a review or of an approval: when it comes, who is warned before it, and who may
//! extend it. It is neither a rejection nor an approval.

use std::collections::BTreeSet;

use super::decision::{Decision, Write};
use super::{
    Agreement, BasisLost, CommandKind, DecisionOutcome, Facts, Refusal, State, Task, TaskRules,
    basis, content, find_move,
};
use crate::approval::{ApprovalStatus, escalation};
use crate::event::EventKind;
use crate::ids::UserId;
use crate::limits::{EXPIRY_WARNING, REVIEW_EXTENSION_MAX};
use crate::time::Timestamp;

pub fn expire(task: &Task, facts: &Facts<'_>, now: Timestamp) -> Result<Decision, Refusal> {
    let at = end_of(task, facts, now).map_err(Refusal::BasisLost)?;
    if now < at {
        return Err(Refusal::NotDue { at });
    }
    let reason = match &task.basis {
        Some(_) => format!("the approval was valid until {at}, and the task was not applied"),
        None => format!("the review ended at {at} without enough approvals"),
    };
    Ok(Decision::to(task, State::Expired)
        .write(Write::CloseApprovals { status: ApprovalStatus::Expired })
        .write(Write::ClearBasis)
        .write(Write::Decide(facts.decided(task, DecisionOutcome::Expired, Some(&reason), now)))
        .tell(EventKind::TaskExpired))
}

/// Returns when the server ends the task without any action. `None` for a task that does not
/// expire, and for one that is to be reviewed again.
pub fn expires_at(task: &Task, facts: &Facts<'_>, now: Timestamp) -> Option<Timestamp> {
    find_move(CommandKind::Expire, task.state)?;
    end_of(task, facts, now).ok()
}

fn end_of(task: &Task, facts: &Facts<'_>, now: Timestamp) -> Result<Timestamp, BasisLost> {
    match task.state {
        State::Approved => match basis::check(task, facts, now) {
            Ok(until) | Err(BasisLost::RunOut { until }) => Ok(until),
            // Something else is missing: that is a reason to review again, not to expire.
            Err(lost) => approval_ran_out(task, facts, now).ok_or(lost),
        },
        State::Draft
        | State::Submitted
        | State::Reviewing
        | State::Applying
        | State::Completed
        | State::Rejected
        | State::Cancelled
        | State::Failed
        | State::Unknown
        | State::Expired => {
            let opened_at = task.review_opened_at.unwrap_or(task.since);
            let ends_at =
                escalation::review_ends_at(&TaskRules::of(task, facts, now).all(), opened_at);
            Ok(task.extended_to.map_or(ends_at, |extended| extended.max(ends_at)))
        }
    }
}

/// Returns when the approval expired, if the votes would still suffice except for their age.
fn approval_ran_out(task: &Task, facts: &Facts<'_>, now: Timestamp) -> Option<Timestamp> {
    let newest = task.votes.iter().map(|vote| vote.at).max()?;
    let rules = TaskRules::of(task, facts, now);
    let seating = facts.seating(task, &rules, newest);
    Agreement::of(task, &seating, newest).valid_until.filter(|until| *until <= now)
}

/// Extends the review, with a reason and within a limit; the person who does it is recorded.
pub fn extend(
    task: &Task,
    until: Timestamp,
    reason: &str,
    facts: &Facts<'_>,
    now: Timestamp,
) -> Result<Decision, Refusal> {
    content::require_reason(Some(reason))?;
    let ends_at = end_of(task, facts, now).map_err(Refusal::BasisLost)?;
    let latest = now.plus(REVIEW_EXTENSION_MAX);
    if until <= ends_at || until > latest {
        return Err(Refusal::ExtensionOutOfRange { ends_at, latest });
    }
    Ok(Decision::stay(task).write(Write::ExtendTo(until)).tell(EventKind::TaskExtended))
}

/// Notifies the author, and everyone who has not answered, that the end is near.
pub fn warn(task: &Task, facts: &Facts<'_>, now: Timestamp) -> Result<Decision, Refusal> {
    let ends_at = end_of(task, facts, now).map_err(Refusal::BasisLost)?;
    let at = warning_before(task, ends_at);
    if now < at {
        return Err(Refusal::NotDue { at });
    }
    let waited_for = task.open_requests().map(|request| request.reviewer);
    let people: BTreeSet<UserId> = waited_for.chain([task.involvement.author]).collect();
    Ok(Decision::stay(task)
        .write(Write::Notify { roles: BTreeSet::new(), people })
        .tell(EventKind::TaskExpiring))
}

/// Returns when people are warned; `None` if no one is.
pub fn warns_at(task: &Task, facts: &Facts<'_>, now: Timestamp) -> Option<Timestamp> {
    find_move(CommandKind::WarnExpiry, task.state)?;
    Some(warning_before(task, end_of(task, facts, now).ok()?))
}

/// Returns the time of the warning: late enough that a short review does not start with it.
fn warning_before(task: &Task, ends_at: Timestamp) -> Timestamp {
    let quarter = ends_at.since(task.since) / 4;
    ends_at.minus(EXPIRY_WARNING.min(quarter))
}
