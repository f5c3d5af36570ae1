//! Overrides: two admins, with a ticket and a reason, let one exact effect pass without its quorum.
//! The request changes nothing; the confirmation by the second admin takes effect for one hour. All
//! other admins and the author are notified.

use std::collections::BTreeSet;

use super::decision::{Decision, Write};
use super::{
    Basis, BasisLost, BreakGlass, Confirmation, DecisionOutcome, Facts, Refusal, State, Task,
    basis, content,
};
use crate::actor::Role;
use crate::approval::tenure::Tenure;
use crate::approval::{ApprovalStatus, Seen};
use crate::event::EventKind;
use crate::ids::UserId;
use crate::limits::{AFTER_REVIEW_WITHIN, OVERRIDE_CONFIRM_WITHIN, OVERRIDE_VALID_FOR};
use crate::time::Timestamp;

pub fn ask(
    task: &Task,
    ticket: &str,
    reason: &str,
    facts: &Facts<'_>,
    now: Timestamp,
) -> Result<Decision, Refusal> {
    let asked_by = facts.person()?;
    require_tenure(task, asked_by, facts, now)?;
    if ticket.trim().is_empty() {
        return Err(Refusal::TicketRequired);
    }
    content::require_reason(Some(reason))?;
    if let Some(open) = task.break_glass.as_ref().filter(|glass| glass.is_open(task, now)) {
        return Err(Refusal::OverrideOpen {
            asked_by: open.asked_by,
            confirm_before: open.confirm_before,
        });
    }
    let glass = BreakGlass {
        asked_by,
        ticket: ticket.to_owned(),
        reason: reason.to_owned(),
        revision: task.revision,
        digest: task.content.digest,
        confirm_before: now.plus(OVERRIDE_CONFIRM_WITHIN),
        confirmed: None,
    };
    Ok(Decision::stay(task)
        .write(Write::AskOverride(glass))
        .write(notice(task, facts))
        .tell(EventKind::OverrideAsked))
}

pub fn confirm(
    task: &Task,
    seen: Seen,
    facts: &Facts<'_>,
    now: Timestamp,
) -> Result<Decision, Refusal> {
    let by = facts.person()?;
    require_tenure(task, by, facts, now)?;
    content::require_current(task, seen)?;
    let glass = task
        .break_glass
        .as_ref()
        .filter(|glass| glass.confirmed.is_none() && glass.covers(task))
        .ok_or(Refusal::OverrideNotAsked)?;
    if now >= glass.confirm_before {
        return Err(Refusal::OverrideLapsed { at: glass.confirm_before });
    }
    if facts.directory.same_human(by, glass.asked_by) {
        return Err(Refusal::SameAdmin { asked_by: glass.asked_by });
    }
    if !basis::is_admin(task, glass.asked_by, facts, now) {
        return Err(Refusal::BasisLost(BasisLost::OverrideAdminGone));
    }
    // The requesting admin may be the author; the second admin must be a different person.
    if let Some(conflict) = facts.conflict(task, by) {
        return Err(Refusal::SelfApproval(conflict));
    }
    let until = now.plus(OVERRIDE_VALID_FOR);
    let due_at = now.plus(AFTER_REVIEW_WITHIN);
    Ok(Decision::to(task, State::Approved)
        .write(Write::ConfirmOverride(Confirmation { by, until }))
        .write(Write::SetBasis(Basis::Override))
        .write(Write::Decide(facts.decided(
            task,
            DecisionOutcome::Approved,
            Some(&glass.reason),
            now,
        )))
        .write(Write::CloseApprovals { status: ApprovalStatus::Superseded })
        .write(Write::OpenAfterReview { due_at })
        .write(notice(task, facts))
        .tell(EventKind::OverrideConfirmed)
        .tell(EventKind::TaskApproved))
}

/// Refuses an admin whose role is too new for the risk of the task.
fn require_tenure(
    task: &Task,
    admin: UserId,
    facts: &Facts<'_>,
    now: Timestamp,
) -> Result<(), Refusal> {
    let tenure = Tenure::of_risk(facts.authority.required(&task.content), now);
    let person = facts.directory.person(admin);
    match person.and_then(|person| tenure.too_new(person, &Role::new(Role::ADMIN))) {
        Some(too_new) => Err(Refusal::RoleTooNew(too_new)),
        None => Ok(()),
    }
}

pub fn lapse(task: &Task, facts: &Facts<'_>, now: Timestamp) -> Result<Decision, Refusal> {
    let glass = task
        .break_glass
        .as_ref()
        .filter(|glass| glass.confirmed.is_none())
        .ok_or(Refusal::OverrideNotAsked)?;
    if glass.is_open(task, now) {
        return Err(Refusal::NotDue { at: glass.confirm_before });
    }
    Ok(Decision::stay(task)
        .write(Write::DropOverride)
        .write(notice(task, facts))
        .tell(EventKind::OverrideLapsed))
}

/// Notifies all admins, on duty or not, and the author, except for the acting account. Another
/// account of the same person is notified as well: otherwise linking accounts would suppress
/// notifications.
fn notice(task: &Task, facts: &Facts<'_>) -> Write {
    let acting = facts.person().ok();
    let concerned = facts.directory.holders(Role::ADMIN).chain([task.involvement.author]);
    let people: BTreeSet<UserId> = concerned.filter(|id| Some(*id) != acting).collect();
    Write::Notify { roles: BTreeSet::new(), people }
}
