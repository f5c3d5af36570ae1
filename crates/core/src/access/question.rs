//! What access is asked: who, which action, and what the actor is to the thing it is about.
//! Everything arrives worked out (aliases resolved, roles current); nothing is looked up here.

use std::collections::BTreeSet;

use super::Action;
use crate::actor::{Actor, Role};

#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    pub actor: &'a Actor,
    /// The actor's roles now. For an agent: those of the person it acts for, since it may never
    /// do more than that person. A worker has none.
    pub roles: &'a BTreeSet<Role>,
    /// For an agent: only while both it and the person it acts for are active.
    pub active: bool,
    pub action: Action,
    pub object: Object,
}

/// What the action is about, as far as a rule needs to know it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Object {
    Tenant,
    /// A thing with one owner: the actor's own delegation, lease, agent, queue or policy draft.
    Own {
        is_own: bool,
    },
    Task(Standing),
}

/// What the actor is to a task. The default is a stranger.
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts, each named by the rules; no combination is impossible"
)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Standing {
    /// The person who is the task's author, by any of their accounts.
    pub is_author: bool,
    /// The agent that proposed it, or another one acting for its author.
    pub is_own_agent: bool,
    /// Has an open approval on the revision, or is an eligible reviewer of it.
    pub is_assigned: bool,
    pub is_voter: bool,
    /// Author, submitter, editor of the revision, person behind its agent, or an alias of one.
    pub is_separated: bool,
    /// An agent whose registered capabilities cover the task.
    pub is_executor: bool,
    pub holds_permit: bool,
    pub is_resource_owner: bool,
    /// Asked for the override that is open, by any of their accounts.
    pub is_first_override_admin: bool,
}

/// How many facts make a [`Standing`].
const FACTS: usize = 9;

impl Standing {
    /// Each fact under the name the rules know it by.
    pub(super) const fn facts(self) -> [(&'static str, bool); FACTS] {
        [
            ("is_author", self.is_author),
            ("is_own_agent", self.is_own_agent),
            ("is_assigned", self.is_assigned),
            ("is_voter", self.is_voter),
            ("is_separated", self.is_separated),
            ("is_executor", self.is_executor),
            ("holds_permit", self.holds_permit),
            ("is_resource_owner", self.is_resource_owner),
            ("is_first_override_admin", self.is_first_override_admin),
        ]
    }

    pub(super) const fn from_facts(facts: [bool; FACTS]) -> Self {
        let [
            is_author,
            is_own_agent,
            is_assigned,
            is_voter,
            is_separated,
            is_executor,
            holds_permit,
            is_resource_owner,
            is_first_override_admin,
        ] = facts;
        Self {
            is_author,
            is_own_agent,
            is_assigned,
            is_voter,
            is_separated,
            is_executor,
            holds_permit,
            is_resource_owner,
            is_first_override_admin,
        }
    }
}
