//! The end of a review or of an agreement: when it comes, who is warned before it, and who may put
//! it off. It is neither a rejection nor an approval.

use std::collections::BTreeSet;

use super::decide::{Decision, Write};
use super::{
    Agreement, BasisLost, CommandKind, Facts, Refusal, Rules, State, Task, basis, content,
    find_move,
};
use crate::approval::{Status, escalation};
use crate::event::EventKind;
use crate::ids::UserId;
use crate::limits::{EXPIRY_WARNING, REVIEW_EXTENSION_MAX};
use crate::time::Timestamp;

pub fn expire(task: &Task, facts: &Facts<'_>, now: Timestamp) -> Result<Decision, Refusal> {
    let at = end_of(task, facts, now).map_err(Refusal::BasisLost)?;
    if now < at {
        return Err(Refusal::NotDue { at });
    }
    Ok(Decision::to(task, State::Expired)
        .write(Write::CloseApprovals { status: Status::Expired })
        .write(Write::ClearBasis)
        .tell(EventKind::TaskExpired))
}

/// When the server ends the task if nobody does anything. `None` for a task that time does not
/// end, and for one that is to be reviewed again.
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
            let ends_at = escalation::review_ends_at(&Rules::of(task, facts, now).all(), opened_at);
            Ok(task.extended_to.map_or(ends_at, |extended| extended.max(ends_at)))
        }
    }
}

/// When the agreement ran out, if the votes would still suffice but for their age.
fn approval_ran_out(task: &Task, facts: &Facts<'_>, now: Timestamp) -> Option<Timestamp> {
    let newest = task.votes.iter().map(|vote| vote.at).max()?;
    let rules = Rules::of(task, facts, now);
    let seating = facts.seating(task, &rules, newest);
    Agreement::of(task, &seating, newest).valid_until.filter(|until| *until <= now)
}

/// More time for the review, for a reason and not without end: somebody takes it upon themselves.
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

/// Tells the author, and whoever has not answered, that the end is near.
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

/// When people are to be warned. `None` where nobody is.
pub fn warns_at(task: &Task, facts: &Facts<'_>, now: Timestamp) -> Option<Timestamp> {
    find_move(CommandKind::WarnExpiry, task.state)?;
    Some(warning_before(task, end_of(task, facts, now).ok()?))
}

/// A short wait is not over before it has hardly begun.
fn warning_before(task: &Task, ends_at: Timestamp) -> Timestamp {
    let quarter = ends_at.since(task.since) / 4;
    ends_at.minus(EXPIRY_WARNING.min(quarter))
}
