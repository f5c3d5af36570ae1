//! All facts besides the task that a decision depends on. The caller loads them in the same
//! transaction, after taking the lock of the tenant, so that no rule reads stale data.

use std::collections::BTreeSet;

use super::{AuthorityAge, Blocked, DecisionOutcome, Refusal, Task, TaskDecision};
use crate::access::Access;
use crate::actor::{Actor, Directory};
use crate::approval::assignment::{Assignment, AssignmentInput};
use crate::approval::delegation::Delegation;
use crate::approval::escalation;
use crate::approval::separation_of_duties::{Conflict, Involved, conflict};
use crate::freeze::Freeze;
use crate::ids::UserId;
use crate::policy::{self, Policy, PolicyRef, Requirement};
use crate::time::Timestamp;
use crate::timeouts::ApprovalTimeouts;

#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    pub actor: &'a Actor,
    pub agent: AgentFacts,
    pub access: &'a Access,
    pub directory: &'a Directory,
    /// The policy versions that the task was submitted under.
    pub pinned: &'a [Policy],
    /// The policies that are in force now.
    pub current: &'a [Policy],
    pub delegations: &'a [Delegation],
    pub freezes: &'a [Freeze],
    pub resource_owners: &'a BTreeSet<UserId>,
    pub timeouts: ApprovalTimeouts,
    pub authority: AuthorityAge,
    pub apply: ApplyFacts<'a>,
}

/// The facts about the acting agent; those about people are in the directory.
#[derive(Debug, Clone, Copy, Default)]
pub struct AgentFacts {
    /// The agent is registered and not revoked.
    pub is_active: bool,
    /// The registered capabilities of the agent cover the task.
    pub is_capable: bool,
}

/// The facts from the lock tables of PostgreSQL. They are loaded by the permit, by the workers that
/// end holds, and for explanations.
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts, each read by one rule; no combination is impossible"
)]
#[derive(Debug, Clone, Copy, Default)]
pub struct ApplyFacts<'a> {
    /// Resources of the task that others hold, or that an unknown outcome blocks.
    pub blocked: &'a [Blocked],
    pub has_capacity: bool,
    /// The deadline of the hold has passed.
    pub hold_is_over: bool,
    /// The old holder can no longer commit anything.
    pub hold_is_fenced: bool,
    /// The lock delay, by which an unfenceable step may overrun, has passed too.
    pub lock_delay_is_over: bool,
}

/// The requirements of a task. Each must be met separately: merged, they could require more humans
/// than either does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskRules {
    pinned: Option<Requirement>,
    current: Requirement,
}

impl TaskRules {
    pub fn of(task: &Task, facts: &Facts<'_>, now: Timestamp) -> Self {
        let subject = &task.content.subject;
        let current = policy::requirement(facts.current, subject, now, &facts.timeouts);
        // A version never changes: the same versions have the same requirement, and need no second
        // merge.
        let is_unchanged = facts.pinned.len() == current.policies.len()
            && facts.pinned.iter().all(|policy| current.policies.contains(&policy.reference()));
        let is_submitted = task.involvement.submitter.is_some();
        let pinned = (is_submitted && !is_unchanged).then(|| {
            let pinned: Vec<&Policy> = facts.pinned.iter().collect();
            policy::merge(&pinned, subject, &facts.timeouts)
        });
        Self { pinned: pinned.filter(|pinned| *pinned != current), current }
    }

    pub fn all(&self) -> Vec<&Requirement> {
        self.pinned.iter().chain([&self.current]).collect()
    }

    pub fn reject_threshold(&self) -> u32 {
        self.all().iter().map(|requirement| requirement.reject_threshold).min().unwrap_or(1)
    }
}

impl<'a> Facts<'a> {
    /// Returns the decision of the acting person or worker about the task.
    pub(super) fn decided(
        &self,
        task: &Task,
        outcome: DecisionOutcome,
        reason: Option<&str>,
        at: Timestamp,
    ) -> TaskDecision {
        TaskDecision {
            outcome,
            reason: reason.map(ToOwned::to_owned),
            by: self.actor.label(),
            at,
            revision: task.revision,
        }
    }

    pub fn situation<'b>(&'b self, task: &'b Task, now: Timestamp) -> AssignmentInput<'b>
    where
        'a: 'b,
    {
        AssignmentInput {
            subject: &task.content.subject,
            involved: Involved::of(&task.involvement, self.directory),
            revision: task.revision,
            escalated_to: task.escalated_to,
            approvals: &task.approvals,
            directory: self.directory,
            delegations: self.delegations,
            role_age_min: self.authority.required(&task.content),
            now,
        }
    }

    /// Assigns reviewers under the current rules.
    pub fn seating<'b>(
        &'b self,
        task: &'b Task,
        rules: &'b TaskRules,
        now: Timestamp,
    ) -> Assignment<'b>
    where
        'a: 'b,
    {
        Assignment::new(&rules.all(), self.situation(task, now))
    }

    /// Returns the acting person. Agents and workers never answer for people.
    pub fn person(&self) -> Result<UserId, Refusal> {
        match self.actor {
            Actor::User { id, .. } => Ok(*id),
            Actor::Agent { .. } | Actor::System { .. } => Err(Refusal::PersonRequired),
        }
    }

    pub fn conflict(&self, task: &Task, person: UserId) -> Option<Conflict> {
        conflict(&task.involvement, self.directory, person)
    }

    pub fn due_at(&self, rules: &TaskRules, asked_at: Timestamp) -> Timestamp {
        asked_at.plus(escalation::respond_within(&rules.all()))
    }

    /// Refuses if the policy versions that the task was submitted under are not loaded.
    pub fn require_pins(&self, task: &Task) -> Result<(), Refusal> {
        let loaded: BTreeSet<PolicyRef> = self.pinned.iter().map(Policy::reference).collect();
        let pinned: BTreeSet<PolicyRef> = task.pins.iter().copied().collect();
        if loaded == pinned { Ok(()) } else { Err(Refusal::PinsMissing) }
    }
}
