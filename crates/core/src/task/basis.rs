//! The reason why a task is APPROVED, and whether it still holds. The permit checks it again with
//! the current digest, people and policies.

use serde::{Deserialize, Serialize};

use super::{Agreement, BasisLost, Facts, Task, TaskRules};
use crate::actor::Role;
use crate::approval::escalation;
use crate::approval::tenure::Tenure;
use crate::ids::UserId;
use crate::policy::{AutoApproval, PolicyRef};
use crate::time::Timestamp;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "basis", rename_all = "snake_case")]
pub enum Basis {
    /// Enough distinct humans approved this effect.
    Quorum,
    /// Every matching policy has an auto-approval clause that holds.
    AutoClause { clauses: Vec<PolicyRef>, approved_at: Timestamp },
    /// Two admins overrode the review.
    Override,
}

/// Returns until when the approval holds, or why it no longer does.
pub fn check(task: &Task, facts: &Facts<'_>, now: Timestamp) -> Result<Timestamp, BasisLost> {
    match &task.basis {
        None => Err(BasisLost::NoBasis),
        Some(Basis::Quorum) => quorum(task, facts, now),
        Some(Basis::AutoClause { approved_at, .. }) => auto_clause(task, facts, *approved_at, now),
        Some(Basis::Override) => overridden(task, facts, now),
    }
}

fn quorum(task: &Task, facts: &Facts<'_>, now: Timestamp) -> Result<Timestamp, BasisLost> {
    let rules = TaskRules::of(task, facts, now);
    let agreement = Agreement::of(task, &facts.seating(task, &rules, now), now);
    agreement.valid_until.ok_or_else(|| BasisLost::QuorumShort { missing: agreement.missing() })
}

fn auto_clause(
    task: &Task,
    facts: &Facts<'_>,
    approved_at: Timestamp,
    now: Timestamp,
) -> Result<Timestamp, BasisLost> {
    let rules = TaskRules::of(task, facts, now);
    let requirements = rules.all();
    let is_allowed = |approval: &AutoApproval| match approval {
        AutoApproval::Allowed { .. } => true,
        AutoApproval::Never | AutoApproval::Refused { .. } => false,
    };
    if !requirements.iter().all(|requirement| is_allowed(&requirement.auto_approve)) {
        return Err(BasisLost::ClauseGone);
    }
    let until = approved_at.plus(escalation::approval_valid_for(&requirements));
    if now < until { Ok(until) } else { Err(BasisLost::RunOut { until }) }
}

/// Returns whether a person is an active admin whose role is old enough for the risk of the task.
pub(super) fn is_admin(task: &Task, id: UserId, facts: &Facts<'_>, now: Timestamp) -> bool {
    let tenure = Tenure::of_risk(facts.authority.required(&task.content), now);
    let person = facts.directory.person(id);
    person.is_some_and(|person| person.active && tenure.counts(person, Role::ADMIN))
}

fn overridden(task: &Task, facts: &Facts<'_>, now: Timestamp) -> Result<Timestamp, BasisLost> {
    let glass = task.break_glass.as_ref().ok_or(BasisLost::NotOverridden)?;
    let confirmed = glass.confirmed.ok_or(BasisLost::NotOverridden)?;
    if !glass.covers(task) {
        return Err(BasisLost::NotOverridden);
    }
    let is_one_human = facts.directory.same_human(glass.asked_by, confirmed.by);
    let is_backed = |id| is_admin(task, id, facts, now);
    if !is_backed(glass.asked_by) || !is_backed(confirmed.by) || is_one_human {
        return Err(BasisLost::OverrideAdminGone);
    }
    let until = confirmed.until;
    if now < until { Ok(until) } else { Err(BasisLost::RunOut { until }) }
}
