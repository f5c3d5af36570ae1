//! Commands of reviewers: answer, withdraw an answer, delegate a request. An answer names the
//! revision and digest that the reviewer saw; a late answer is stored and never counted.

use std::collections::BTreeSet;

use super::decision::{Decision, Write};
use super::{
    Agreement, AuthorityAge, Basis, Command, DecisionOutcome, Facts, Refusal, State, Task,
    TaskRules, To, basis, content,
};
use crate::approval::assignment::ReviewRequest;
use crate::approval::delegation::DelegationError;
use crate::approval::{Answer, Approval, ApprovalStatus, Route, Seen, Slot, Vote, VoteMark};
use crate::event::EventKind;
use crate::ids::UserId;
use crate::limits::DELEGATION_DEPTH_MAX;
use crate::policy::DelegationRule;
use crate::time::Timestamp;

pub fn vote(
    task: &Task,
    answer: Answer,
    seen: Seen,
    reason: Option<&str>,
    facts: &Facts<'_>,
    now: Timestamp,
) -> Result<Decision, Refusal> {
    let voter = reviewer(task, answer, seen, reason, facts)?;
    let rules = TaskRules::of(task, facts, now);
    let seating = facts.seating(task, &rules, now);
    let requests = seating.requests();
    let places = places_of(&requests, voter).ok_or_else(|| match seating.too_new(voter) {
        Some(too_new) => Refusal::RoleTooNew(too_new.clone()),
        None => Refusal::NotAsked { may_answer: may_answer(&requests) },
    })?;
    let marks = marks_of(task, voter, &rules, facts, now);
    let vote = Vote { places, marks, ..ballot(task, voter, answer, reason, now) };
    let agreement = Agreement::with(task, &seating, Some(&vote), now);
    let decision = match answer {
        Answer::Approve => agree(task, voter, &agreement),
        Answer::Reject => refuse(task, voter, agreement.rejections >= rules.reject_threshold()),
        Answer::RequestChanges => send_back(task),
    };
    let mut decision = decision.tell(EventKind::ApprovalVoted);
    if decision.to != To::State(task.state) {
        decision = decision.write(Write::Decide(facts.decided(task, outcome(answer), reason, now)));
    }
    decision.writes.insert(0, Write::Record(vote));
    Ok(decision)
}

const fn outcome(answer: Answer) -> DecisionOutcome {
    match answer {
        Answer::Approve => DecisionOutcome::Approved,
        Answer::Reject => DecisionOutcome::Rejected,
        Answer::RequestChanges => DecisionOutcome::ChangesRequested,
    }
}

fn agree(task: &Task, voter: UserId, agreement: &Agreement) -> Decision {
    let close = Write::CloseApproval { reviewer: voter, status: ApprovalStatus::Approved };
    if !agreement.is_met() {
        return Decision::stay(task).write(close);
    }
    Decision::to(task, State::Approved)
        .write(close)
        .write(Write::CloseApprovals { status: ApprovalStatus::Superseded })
        .write(Write::SetBasis(Basis::Quorum))
        .tell(EventKind::TaskApproved)
}

fn refuse(task: &Task, voter: UserId, is_enough: bool) -> Decision {
    let close = Write::CloseApproval { reviewer: voter, status: ApprovalStatus::Rejected };
    if !is_enough {
        return Decision::stay(task).write(close);
    }
    Decision::to(task, State::Rejected)
        .write(close)
        .write(Write::CloseApprovals { status: ApprovalStatus::Superseded })
        .tell(EventKind::TaskRejected)
}

fn send_back(task: &Task) -> Decision {
    Decision::to(task, State::Draft)
        .write(Write::CloseApprovals { status: ApprovalStatus::Superseded })
        .write(Write::NextRound)
        .tell(EventKind::TaskChangesRequested)
}

pub fn record_late(
    task: &Task,
    answer: Answer,
    seen: Seen,
    reason: Option<&str>,
    facts: &Facts<'_>,
    now: Timestamp,
) -> Result<Decision, Refusal> {
    let voter = reviewer(task, answer, seen, reason, facts)?;
    if !was_asked(task, voter) {
        return Err(Refusal::NotAsked { may_answer: Vec::new() });
    }
    let vote = Vote { effectual: false, ..ballot(task, voter, answer, reason, now) };
    Ok(Decision::stay(task).write(Write::Record(vote)).tell(EventKind::ApprovalVoted))
}

/// Checks every answer, early or late: it must come from an uninvolved person, be about the current
/// content, and have a reason unless it is an approval.
fn reviewer(
    task: &Task,
    answer: Answer,
    seen: Seen,
    reason: Option<&str>,
    facts: &Facts<'_>,
) -> Result<UserId, Refusal> {
    let voter = facts.person()?;
    match answer {
        Answer::Approve => content::bound_reason(reason)?,
        Answer::Reject | Answer::RequestChanges => content::require_reason(reason)?,
    }
    content::require_current(task, seen)?;
    match facts.conflict(task, voter) {
        Some(conflict) => Err(Refusal::SelfApproval(conflict)),
        None => Ok(voter),
    }
}

fn ballot(task: &Task, voter: UserId, answer: Answer, reason: Option<&str>, at: Timestamp) -> Vote {
    Vote {
        voter,
        answer,
        revision: task.revision,
        digest: task.content.digest,
        round: task.round,
        places: BTreeSet::new(),
        reason: reason.map(ToOwned::to_owned),
        at,
        effectual: true,
        withdrawn: false,
        carried_from: None,
        marks: BTreeSet::new(),
    }
}

/// Returns what a reader should know about the authority of the voter. A role is too new if the
/// voter would have no slot outside of setup.
fn marks_of(
    task: &Task,
    voter: UserId,
    rules: &TaskRules,
    facts: &Facts<'_>,
    now: Timestamp,
) -> BTreeSet<VoteMark> {
    let person = facts.directory.person(voter);
    let unconfirmed = person.is_some_and(|person| person.is_unconfirmed);
    let is_new = facts.authority.is_in_setup && {
        let authority = AuthorityAge { is_in_setup: false, ..facts.authority };
        let outside = Facts { authority, ..*facts };
        places_of(&outside.seating(task, rules, now).requests(), voter).is_none()
    };
    let marks = [(unconfirmed, VoteMark::Unconfirmed), (is_new, VoteMark::NewRole)];
    marks.into_iter().filter_map(|(applies, mark)| applies.then_some(mark)).collect()
}

/// Returns whether a command comes from a person who was asked. A person who was left out because
/// their role was too new may vote once it is old enough.
pub(super) fn is_asked(task: &Task, command: &Command, facts: &Facts<'_>, now: Timestamp) -> bool {
    let Ok(person) = facts.person() else { return false };
    if was_asked(task, person) || !matches!(command, Command::Vote { .. }) {
        return was_asked(task, person);
    }
    let requests = task.approvals.iter().filter(|request| request.revision == task.revision);
    let asked_at = requests.map(|request| request.requested_at).min().unwrap_or(task.since);
    let rules = TaskRules::of(task, facts, now);
    // The role was held then, but not for long enough.
    let was_too_new = facts.seating(task, &rules, asked_at).too_new(person).is_some_and(|role| {
        role.counts_from.is_some_and(|counts_from| counts_from <= asked_at.plus(role.min))
    });
    was_too_new && places_of(&facts.seating(task, &rules, now).requests(), person).is_some()
}

pub(super) fn was_asked(task: &Task, person: UserId) -> bool {
    task.approvals
        .iter()
        .any(|approval| approval.reviewer == person && approval.revision == task.revision)
}

fn places_of(requests: &[ReviewRequest], person: UserId) -> Option<BTreeSet<UserId>> {
    let request = requests.iter().find(|request| request.reviewer == person)?;
    Some(request.places.iter().map(|place| place.owner).collect())
}

fn may_answer(requests: &[ReviewRequest]) -> Vec<UserId> {
    requests.iter().map(|request| request.reviewer).collect()
}

/// Withdraws the actor's vote, until the apply starts. An approval that does not hold without it
/// returns to review.
pub fn withdraw(task: &Task, facts: &Facts<'_>, now: Timestamp) -> Result<Decision, Refusal> {
    let voter = facts.person()?;
    let counts = task.votes.iter().rfind(|vote| {
        vote.voter == voter
            && vote.effectual
            && vote.round == task.round
            && vote.revision == task.revision
    });
    if counts.is_none_or(|vote| vote.withdrawn) {
        return Err(Refusal::NothingToWithdraw);
    }
    let withdrawn = Write::WithdrawVote { voter };
    if task.state == State::Approved {
        let decision = Decision::stay(task).write(withdrawn.clone());
        let without = task.after(&decision, now).ok_or(Refusal::NothingToWithdraw)?;
        if basis::check(&without, facts, now).is_ok() {
            return Ok(decision.tell(EventKind::ApprovalWithdrawn));
        }
        return Ok(Decision::to(task, State::Submitted)
            .write(withdrawn)
            .write(Write::ClearBasis)
            .tell(EventKind::ApprovalWithdrawn)
            .tell(EventKind::TaskReviewReopened));
    }
    let rules = TaskRules::of(task, facts, now);
    let requests = facts.seating(task, &rules, now).requests();
    let mut decision = Decision::stay(task).write(withdrawn);
    // A person who withdraws a vote is asked again, if they may still answer.
    let request = requests.into_iter().find(|request| request.reviewer == voter);
    if let Some(request) = request {
        let due_at = facts.due_at(&rules, now);
        decision = decision.write(Write::Ask { requests: vec![request], due_at });
    }
    Ok(decision.tell(EventKind::ApprovalWithdrawn))
}

/// Delegates an open request of the actor to a person who may approve in their own right.
pub fn delegate(
    task: &Task,
    to: UserId,
    reason: Option<&str>,
    facts: &Facts<'_>,
    now: Timestamp,
) -> Result<Decision, Refusal> {
    content::bound_reason(reason)?;
    let from = facts.person()?;
    let open = open_request(task, from).ok_or(Refusal::NoOpenRequest)?;
    let rules = TaskRules::of(task, facts, now);
    if rules.all().iter().any(|rule| rule.delegation == DelegationRule::Forbidden) {
        return Err(Refusal::DelegationForbidden);
    }
    if !facts.seating(task, &rules, now).may_approve(to) {
        return Err(Refusal::DelegateNotAllowed { to });
    }
    let places = open
        .places
        .iter()
        .map(|place| hand_over(place, from, to))
        .collect::<Result<Vec<Slot>, Refusal>>()?;
    let requests = vec![ReviewRequest { reviewer: to, places }];
    Ok(Decision::stay(task)
        .write(Write::CloseApproval { reviewer: from, status: ApprovalStatus::Delegated })
        .write(Write::Ask { requests, due_at: open.due_at })
        .tell(EventKind::ApprovalDelegated))
}

pub(super) fn open_request(task: &Task, reviewer: UserId) -> Option<&Approval> {
    task.open_requests().find(|request| request.reviewer == reviewer)
}

/// Extends the chain of a slot by one person.
fn hand_over(place: &Slot, from: UserId, to: UserId) -> Result<Slot, Refusal> {
    let mut chain = place.route.chain().to_vec();
    if chain.is_empty() {
        chain.push(from);
    }
    let is_cycle = chain.contains(&to);
    chain.push(to);
    if is_cycle {
        return Err(Refusal::Delegation(DelegationError::Cycle { path: chain }));
    }
    if chain.len() > DELEGATION_DEPTH_MAX + 1 {
        return Err(Refusal::Delegation(DelegationError::TooLong { path: chain }));
    }
    Ok(Slot { owner: place.owner, route: Route::HandedOver { chain } })
}
