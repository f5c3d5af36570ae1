//! Everything a decision may depend on besides the task: loaded by the shell in the same
//! transaction, after the tenant's gate, so that no rule reads stale news.

use std::collections::BTreeSet;
use std::fmt;

use serde::Serialize;

use super::{Refusal, Task};
use crate::access::Access;
use crate::actor::{Actor, Directory};
use crate::approval::assignment::{Seating, Situation};
use crate::approval::delegation::Delegation;
use crate::approval::escalation;
use crate::approval::separation::{Conflict, Involved, conflict};
use crate::change::Digest;
use crate::freeze::{Freeze, InstallationFreeze};
use crate::ids::{AgentId, TaskId, UserId};
use crate::lock::Owner;
use crate::policy::{self, Policy, PolicyRef, Requirement};
use crate::resource::ResourceRef;
use crate::time::Timestamp;
use crate::times::ApprovalTimes;

#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    pub actor: &'a Actor,
    pub agent: AgentFacts,
    pub access: &'a Access,
    pub directory: &'a Directory,
    /// The policy versions the task was submitted under.
    pub pinned: &'a [Policy],
    /// The policies in force now.
    pub current: &'a [Policy],
    pub delegations: &'a [Delegation],
    pub freezes: &'a [Freeze],
    /// The one in force, as of the gate that the permit has passed.
    pub installation: Option<&'a InstallationFreeze>,
    /// Environments of the task's resources, from the registry.
    pub environments: &'a BTreeSet<String>,
    pub resource_owners: &'a BTreeSet<UserId>,
    pub times: ApprovalTimes,
    pub apply: ApplyFacts<'a>,
}

/// What is known of the acting agent; people carry this in the directory.
#[derive(Debug, Clone, Copy, Default)]
pub struct AgentFacts {
    /// Registered and not revoked.
    pub is_active: bool,
    /// Its registered capabilities cover the task.
    pub is_capable: bool,
}

/// What PostgreSQL's lock tables say; filled by the permit, by the workers that end holds, and for
/// whoever asks why a task waits.
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts, each read by one rule; no combination is impossible"
)]
#[derive(Debug, Clone, Copy, Default)]
pub struct ApplyFacts<'a> {
    /// Resources of the task that somebody else holds, or that an unknown outcome blocks.
    pub blocked: &'a [Blocked],
    pub has_capacity: bool,
    /// The hold's deadline has passed.
    pub hold_is_over: bool,
    /// The old holder can no longer commit anything.
    pub hold_is_fenced: bool,
    /// The time an unfenceable step may overrun has passed too.
    pub lock_delay_is_over: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blocked {
    pub resource: ResourceRef,
    pub by: Holder,
}

/// Who is in the way, as everybody of the tenant may know it: never by a lease or a session, which
/// prove that something is theirs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Holder {
    Task(TaskId),
    Agent(AgentId),
    User(UserId),
    /// The record does not say whose it is; this is the hash of its owner.
    Unnamed(Digest),
}

impl Holder {
    /// `principal` is whom the owner belongs to, as the record has it.
    pub fn of(owner: Owner, principal: &str) -> Self {
        let named = match owner {
            Owner::Task(task) => Some(Self::Task(task)),
            Owner::Agent(_) => principal.parse().ok().map(Self::Agent),
            Owner::User(_) => principal.parse().ok().map(Self::User),
        };
        named.unwrap_or_else(|| Self::Unnamed(Digest::of(owner.to_string().as_bytes())))
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Task(id) => fmt::Display::fmt(id, f),
            Self::Agent(id) => fmt::Display::fmt(id, f),
            Self::User(id) => fmt::Display::fmt(id, f),
            Self::Unnamed(hash) => fmt::Display::fmt(hash, f),
        }
    }
}

/// The requirements a task stands under. Each must be met on its own: met together they could
/// ask for more humans than either does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rules {
    pinned: Option<Requirement>,
    current: Requirement,
}

impl Rules {
    pub fn of(task: &Task, facts: &Facts<'_>, now: Timestamp) -> Self {
        let subject = &task.content.subject;
        let current = policy::requirement(facts.current, subject, now, &facts.times);
        // A version never changes: the same versions ask the same, and need no second merge.
        let is_unchanged = facts.pinned.len() == current.policies.len()
            && facts.pinned.iter().all(|policy| current.policies.contains(&policy.reference()));
        let is_submitted = task.involvement.submitter.is_some();
        let pinned = (is_submitted && !is_unchanged).then(|| {
            let pinned: Vec<&Policy> = facts.pinned.iter().collect();
            policy::merge(&pinned, subject, &facts.times)
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
    pub fn situation<'b>(&'b self, task: &'b Task, now: Timestamp) -> Situation<'b>
    where
        'a: 'b,
    {
        Situation {
            subject: &task.content.subject,
            involved: Involved::of(&task.involvement, self.directory),
            revision: task.revision,
            escalated_to: task.escalated_to,
            approvals: &task.approvals,
            directory: self.directory,
            delegations: self.delegations,
            now,
        }
    }

    /// Everybody in their seats, under the rules of now.
    pub fn seating<'b>(&'b self, task: &'b Task, rules: &'b Rules, now: Timestamp) -> Seating<'b>
    where
        'a: 'b,
    {
        Seating::new(&rules.all(), self.situation(task, now))
    }

    pub fn freeze(&self, task: &Task, now: Timestamp) -> Option<&'a Freeze> {
        let resources = &task.content.subject.resources;
        self.freezes.iter().find(|freeze| freeze.stops(resources, self.environments, now))
    }

    /// The person who acts. Agents and workers never answer for anybody.
    pub fn person(&self) -> Result<UserId, Refusal> {
        match self.actor {
            Actor::User { id, .. } => Ok(*id),
            Actor::Agent { .. } | Actor::System { .. } => Err(Refusal::PersonRequired),
        }
    }

    pub fn conflict(&self, task: &Task, person: UserId) -> Option<Conflict> {
        conflict(&task.involvement, self.directory, person)
    }

    pub fn due_at(&self, rules: &Rules, asked_at: Timestamp) -> Timestamp {
        asked_at.plus(escalation::respond_within(&rules.all()))
    }

    /// Rules are read from the versions the task was submitted under, or not at all.
    pub fn require_pins(&self, task: &Task) -> Result<(), Refusal> {
        let loaded: BTreeSet<PolicyRef> = self.pinned.iter().map(Policy::reference).collect();
        let pinned: BTreeSet<PolicyRef> = task.pins.iter().copied().collect();
        if loaded == pinned { Ok(()) } else { Err(Refusal::PinsMissing) }
    }
}
