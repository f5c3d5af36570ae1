//! Actions of the server on a review: open it, auto-approve it by a clause, ask more people over
//! time, and reopen it when its basis is lost. None of these approves on behalf of a person: only
//! votes, clauses and overrides lead to APPROVED.

use std::collections::BTreeSet;

use super::basis;
use super::command::{Escalation, Reopen};
use super::decision::{Decision, Write};
use super::{Agreement, Basis, DecisionOutcome, Facts, Refusal, State, Task, TaskRules, voting};
use crate::approval::assignment::{Assignment, AssignmentInput, ReviewRequest};
use crate::approval::delegation::Walk;
use crate::approval::{Approval, ApprovalStatus, Route, Slot, escalation};
use crate::event::EventKind;
use crate::ids::UserId;
use crate::policy::{AutoApproval, EscalationAction, EscalationStep, PolicyRef, ReassignTo};
use crate::time::Timestamp;

pub fn open(task: &Task, facts: &Facts<'_>, now: Timestamp) -> Result<Decision, Refusal> {
    facts.require_pins(task)?;
    let rules = TaskRules::of(task, facts, now);
    let seating = facts.seating(task, &rules, now);
    if Agreement::of(task, &seating, now).is_met() {
        let reason = "the approvals of an earlier revision cover the same effect";
        return Ok(Decision::to(task, State::Approved)
            .write(Write::SetBasis(Basis::Quorum))
            .write(Write::Decide(facts.decided(task, DecisionOutcome::Approved, Some(reason), now)))
            .tell(EventKind::TaskApproved));
    }
    let assignment = seating.assign();
    let due_at = facts.due_at(&rules, now);
    let mut decision = Decision::to(task, State::Reviewing)
        .write(Write::OpenReview)
        .write(Write::Ask { requests: assignment.requests, due_at })
        .tell(EventKind::TaskReviewing)
        .tell(EventKind::ApprovalRequested);
    if !assignment.shortages.is_empty() {
        decision = decision
            .write(Write::TellShortages(assignment.shortages))
            .tell(EventKind::ApprovalEscalated);
    }
    Ok(decision)
}

pub fn auto_approve(task: &Task, facts: &Facts<'_>, now: Timestamp) -> Result<Decision, Refusal> {
    facts.require_pins(task)?;
    let rules = TaskRules::of(task, facts, now);
    let mut clauses: BTreeSet<PolicyRef> = BTreeSet::new();
    for requirement in rules.all() {
        match &requirement.auto_approve {
            AutoApproval::Allowed { clauses: allowed } => clauses.extend(allowed.iter().copied()),
            AutoApproval::Never => {
                return Err(Refusal::AutoApprovalRefused { reasons: Vec::new() });
            }
            AutoApproval::Refused { reasons } => {
                return Err(Refusal::AutoApprovalRefused { reasons: reasons.clone() });
            }
        }
    }
    let clauses = clauses.into_iter().collect();
    let reason = "every policy that applies allows auto-approval";
    Ok(Decision::to(task, State::Approved)
        .write(Write::SetBasis(Basis::AutoClause { clauses, approved_at: now }))
        .write(Write::Decide(facts.decided(task, DecisionOutcome::Approved, Some(reason), now)))
        .tell(EventKind::TaskApproved))
}

pub fn reopen(
    task: &Task,
    reopen: &Reopen,
    facts: &Facts<'_>,
    now: Timestamp,
) -> Result<Decision, Refusal> {
    let decision = Decision::to(task, State::Submitted)
        .write(Write::ClearBasis)
        .tell(EventKind::TaskReviewReopened);
    match reopen {
        Reopen::BasisLost => match basis::check(task, facts, now) {
            Ok(until) => Err(Refusal::BasisStands { until }),
            Err(_) => Ok(decision),
        },
        Reopen::EffectDrifted { content } if content.digest == task.content.digest => {
            Err(Refusal::NotDrifted)
        }
        Reopen::EffectDrifted { content } => Ok(decision.write(Write::preview(content))),
    }
}

pub fn escalate(
    task: &Task,
    cause: &Escalation,
    facts: &Facts<'_>,
    now: Timestamp,
) -> Result<Decision, Refusal> {
    let rules = TaskRules::of(task, facts, now);
    let decision = Decision::stay(task).tell(EventKind::ApprovalEscalated);
    match cause {
        Escalation::Deactivated { reviewer } => {
            let open = voting::open_request(task, *reviewer)
                .filter(|_| !facts.directory.is_active(*reviewer))
                .ok_or(Refusal::NothingToReassign { reviewer: *reviewer })?;
            let seating = facts.seating(task, &rules, now);
            let requests = reassign(task, open, None, &seating, facts, now);
            let close =
                Write::CloseApproval { reviewer: *reviewer, status: ApprovalStatus::Superseded };
            Ok(ask(decision.write(close), requests, facts.due_at(&rules, now)))
        }
        Escalation::Step => {
            let opened_at = task.review_opened_at.unwrap_or(task.since);
            let steps = escalation::next_steps(&rules.all(), task.escalated_to);
            let after = steps.first().map(|step| step.after).ok_or(Refusal::NoStepLeft)?;
            let due_at = opened_at.plus(after);
            if now < due_at {
                return Err(Refusal::NotDue { at: due_at });
            }
            let decision = decision.write(Write::EscalatedTo(after));
            Ok(steps.iter().fold(decision, |decision, step| {
                run_step(task, step, decision, &rules, facts, now)
            }))
        }
    }
}

fn run_step(
    task: &Task,
    step: &EscalationStep,
    decision: Decision,
    rules: &TaskRules,
    facts: &Facts<'_>,
    now: Timestamp,
) -> Decision {
    let due_at = facts.due_at(rules, now);
    match &step.action {
        EscalationAction::Notify { roles, people } => {
            decision.write(Write::Notify { roles: roles.clone(), people: people.clone() })
        }
        EscalationAction::Reassign(to) => {
            let seating = facts.seating(task, rules, now);
            let requests = task
                .open_requests()
                .flat_map(|open| reassign(task, open, Some(*to), &seating, facts, now))
                .collect();
            ask(decision, requests, due_at)
        }
        EscalationAction::Widen { .. } => {
            let situation =
                AssignmentInput { escalated_to: step.after, ..facts.situation(task, now) };
            let requests = Assignment::new(&rules.all(), situation)
                .requests()
                .into_iter()
                .filter(|request| !voting::was_asked(task, request.reviewer))
                .collect();
            ask(decision, requests, due_at)
        }
    }
}

fn ask(decision: Decision, requests: Vec<ReviewRequest>, due_at: Timestamp) -> Decision {
    if requests.is_empty() {
        return decision;
    }
    decision.write(Write::Ask { requests, due_at }).tell(EventKind::ApprovalRequested)
}

/// Returns who is asked in place of a reviewer: their delegate or their manager. Without a given
/// choice, the delegate comes first. Empty if neither may approve.
fn reassign(
    task: &Task,
    open: &Approval,
    to: Option<ReassignTo>,
    seating: &Assignment<'_>,
    facts: &Facts<'_>,
    now: Timestamp,
) -> Vec<ReviewRequest> {
    let may_approve = |person: UserId| seating.may_approve(person);
    let delegate = || {
        let walk = Walk::new(facts.delegations, &task.content.subject, now, may_approve);
        let chain = walk.transfer(open.reviewer).chain;
        chain.last().copied().filter(|person| *person != open.reviewer)
    };
    let manager = || facts.directory.person(open.reviewer).and_then(|person| person.manager);
    let next = match to {
        Some(ReassignTo::Delegate) => delegate(),
        Some(ReassignTo::Manager) => manager(),
        None => delegate().or_else(manager),
    };
    let Some(next) = next.filter(|person| may_approve(*person)) else {
        return Vec::new();
    };
    let places = open
        .places
        .iter()
        .map(|place| {
            let mut chain = place.route.chain().to_vec();
            if chain.is_empty() {
                chain.push(open.reviewer);
            }
            chain.push(next);
            Slot { owner: place.owner, route: Route::Reassigned { chain } }
        })
        .collect();
    vec![ReviewRequest { reviewer: next, places }]
}
