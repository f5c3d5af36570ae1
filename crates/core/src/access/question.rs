//! The input of an access check: the actor, the action, and the relation of the actor to the
//! object. All facts are resolved beforehand (aliases, current roles); nothing is looked up here.

use std::collections::BTreeSet;

use super::Action;
use crate::actor::{Actor, Directory, Role};

static NO_ROLES: BTreeSet<Role> = BTreeSet::new();

/// The question that the access check answers.
#[cfg_attr(
    not(feature = "cedar"),
    expect(dead_code, reason = "only the check reads the fields, and it is left out")
)]
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    pub(super) actor: &'a Actor,
    /// The current roles of the actor. An agent has the roles of the person it acts for, because it
    /// may never do more than that person. A worker has no roles.
    pub(super) roles: &'a BTreeSet<Role>,
    /// Whether the actor is active. An agent is active only while both it and the person it acts
    /// for are.
    pub(super) active: bool,
    pub(super) action: Action,
    pub(super) object: Object,
}

impl<'a> Question<'a> {
    /// Creates the question with the directory roles of the person, or of the person that an agent
    /// acts for. `is_agent_active` says whether the agent is registered and not revoked; it is
    /// ignored for people and workers.
    pub fn new(
        actor: &'a Actor,
        directory: &'a Directory,
        is_agent_active: bool,
        action: Action,
        object: Object,
    ) -> Self {
        let person = actor.human().and_then(|id| directory.person(id));
        let is_person_active = person.is_some_and(|person| person.active);
        let active = match actor {
            Actor::User { .. } => is_person_active,
            Actor::Agent { .. } => is_agent_active && is_person_active,
            Actor::System { .. } => true,
        };
        let roles = person.map_or(&NO_ROLES, |person| &person.roles);
        Self { actor, roles, active, action, object }
    }
}

/// The object of an action, as far as the rules need to know it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Object {
    Tenant,
    /// An object with one owner: a delegation, lease, agent, queue or policy draft of the actor.
    Own {
        is_own: bool,
    },
    Task(TaskRelation),
}

/// The relation of the actor to a task. The default is an uninvolved actor.
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts, each named by the rules; no combination is impossible"
)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct TaskRelation {
    /// The actor is the author of the task, under any of their accounts.
    pub is_author: bool,
    /// The actor is the agent that proposed the task, or another agent of its author.
    pub is_own_agent: bool,
    /// The actor has an open approval request on the revision, or is an eligible reviewer of it.
    pub is_assigned: bool,
    pub is_voter: bool,
    /// The actor is author, submitter, editor of the revision, the person behind its agent, or an
    /// alias of one of these.
    pub is_separated: bool,
    /// The actor is an agent whose registered capabilities cover the task.
    pub is_executor: bool,
    pub holds_permit: bool,
    pub is_resource_owner: bool,
    /// The actor requested the open override, under any of their accounts.
    pub is_first_override_admin: bool,
}

/// The number of facts in a [`TaskRelation`].
#[cfg(feature = "cedar")]
const FACTS: usize = 9;

#[cfg(feature = "cedar")]
impl TaskRelation {
    /// Returns each fact with the name that the rules use for it.
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
