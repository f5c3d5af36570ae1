//! Commands of authors: create, amend, submit and cancel a task. A change of content creates a
//! revision; approvals carry over only to an identical effect.

use super::command::Content;
use super::decision::{Decision, Write};
use super::{DecisionOutcome, Facts, Refusal, State, Task};
use crate::approval::{Answer, ApprovalStatus, Seen, Vote};
use crate::event::EventKind;
use crate::limits::REASON_MAX_BYTES;
use crate::policy::PolicyRef;
use crate::time::Timestamp;

pub fn require_reason(reason: Option<&str>) -> Result<(), Refusal> {
    match reason.map(str::trim) {
        None | Some("") => Err(Refusal::ReasonRequired),
        Some(_) => bound_reason(reason),
    }
}

pub fn bound_reason(reason: Option<&str>) -> Result<(), Refusal> {
    match reason.map(str::len) {
        Some(bytes) if bytes > REASON_MAX_BYTES => Err(Refusal::ReasonTooLong { bytes }),
        Some(_) | None => Ok(()),
    }
}

/// Refuses a decision on another revision or digest than the current one.
pub fn require_current(task: &Task, seen: Seen) -> Result<(), Refusal> {
    let current = Seen { revision: task.revision, digest: task.content.digest };
    if seen == current { Ok(()) } else { Err(Refusal::StaleRevision { seen, current }) }
}

pub fn comment(task: &Task, text: &str) -> Result<Decision, Refusal> {
    require_reason(Some(text))?;
    Ok(Decision::stay(task)
        .write(Write::Comment { text: text.to_owned() })
        .tell(EventKind::TaskCommented))
}

pub fn amend(task: &Task, content: &Content, facts: &Facts<'_>) -> Result<Decision, Refusal> {
    if *content == task.content {
        return Err(Refusal::NothingChanged { revision: task.revision });
    }
    let revise = Write::Revise {
        content: content.clone(),
        editor: facts.actor.human(),
        token_issuer: facts.actor.token_issuer(),
    };
    if task.state == State::Draft {
        // Nothing is under review: either no vote was given yet, or changes were requested.
        return Ok(Decision::stay(task).write(revise).tell(EventKind::TaskAmended));
    }
    let carried = carried_votes(task, content);
    let mut decision = Decision::to(task, State::Submitted)
        .write(Write::CloseApprovals { status: ApprovalStatus::Superseded })
        .write(revise)
        .write(Write::ClearBasis);
    if !carried.is_empty() {
        decision = decision.write(Write::CarryVotes(carried));
    }
    Ok(decision.tell(EventKind::TaskAmended).tell(EventKind::ApprovalSuperseded))
}

/// Returns the approving votes on the effect that the next revision still has. No other votes are
/// kept.
fn carried_votes(task: &Task, next: &Content) -> Vec<Vote> {
    if next.digest != task.content.digest {
        return Vec::new();
    }
    task.votes
        .iter()
        .filter(|vote| {
            vote.answer == Answer::Approve
                && vote.effectual
                && !vote.withdrawn
                && vote.round == task.round
                && vote.revision == task.revision
                && vote.digest == next.digest
                && is_latest_of_its_voter(task, vote)
        })
        .map(|vote| Vote {
            revision: task.revision + 1,
            carried_from: Some(vote.carried_from.unwrap_or(vote.revision)),
            ..vote.clone()
        })
        .collect()
}

fn is_latest_of_its_voter(task: &Task, vote: &Vote) -> bool {
    task.votes
        .iter()
        .rfind(|other| other.voter == vote.voter && other.effectual && other.round == vote.round)
        .is_some_and(|latest| latest == vote)
}

pub fn submit(
    task: &Task,
    content: &Content,
    pins: &[PolicyRef],
    facts: &Facts<'_>,
) -> Result<Decision, Refusal> {
    let submitter = facts.actor.human().ok_or(Refusal::PersonRequired)?;
    let mut decision = Decision::to(task, State::Submitted);
    if *content != task.content {
        // The preview before the submission differs from that of the draft.
        decision = decision.write(Write::preview(content));
    }
    let token_issuer = facts.actor.token_issuer();
    Ok(decision
        .write(Write::Pin { pins: pins.to_vec(), submitter, token_issuer })
        .tell(EventKind::TaskSubmitted))
}

pub fn cancel(
    task: &Task,
    reason: Option<&str>,
    facts: &Facts<'_>,
    now: Timestamp,
) -> Result<Decision, Refusal> {
    bound_reason(reason)?;
    match task.state {
        State::Applying => {
            Ok(Decision::stay(task).write(Write::RequestAbort).tell(EventKind::TaskAbortRequested))
        }
        State::Draft
        | State::Submitted
        | State::Reviewing
        | State::Approved
        | State::Completed
        | State::Rejected
        | State::Cancelled
        | State::Failed
        | State::Unknown
        | State::Expired => Ok(Decision::to(task, State::Cancelled)
            .write(Write::CloseApprovals { status: ApprovalStatus::Superseded })
            .write(Write::ClearBasis)
            .write(Write::Decide(facts.decided(task, DecisionOutcome::Cancelled, reason, now)))
            .tell(EventKind::TaskCancelled)),
    }
}
