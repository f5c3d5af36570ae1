//! Shortcuts that build values of the core for tests: ids that count up, timestamps written as
//! text, people. Every default is the simplest case, and a test sets only what matters to it.

use std::sync::atomic::{AtomicU64, Ordering};

use ade_core::actor::{Directory, Person, Role};
use ade_core::ids::{AgentId, LeaseId, PolicyId, SessionId, TaskId, TenantId, UserId};
use ade_core::time::Timestamp;

use crate::failure::{Failure, or_fail};

/// Hands out small numbers in order, so that the first id of a test is the same in every run.
#[derive(Debug, Default)]
pub struct Ids {
    last: AtomicU64,
}

macro_rules! next_ids {
    ($($name:ident: $id:ident;)+) => {$(
        pub fn $name(&self) -> $id {
            $id::from_u128(self.number())
        }
    )+};
}

impl Ids {
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the next number, beginning with 1, because an id of zero looks like one that was
    /// never set.
    pub fn number(&self) -> u128 {
        u128::from(self.last.fetch_add(1, Ordering::Relaxed)) + 1
    }

    next_ids! {
        tenant: TenantId;
        user: UserId;
        agent: AgentId;
        session: SessionId;
        task: TaskId;
        policy: PolicyId;
        lease: LeaseId;
    }
}

/// Parses a timestamp such as `2026-03-18T15:30:00Z`.
pub fn moment(text: &str) -> Timestamp {
    or_fail(text.parse().map_err(|error| Failure::new("moment", error)))
}

/// Builds an active person without roles, manager or second account.
pub fn person(id: UserId) -> PersonBuilder {
    PersonBuilder {
        person: Person {
            id,
            roles: [].into(),
            roles_since: [].into(),
            active: true,
            manager: None,
            aliases: [].into(),
            is_unconfirmed: false,
        },
    }
}

#[derive(Debug, Clone)]
pub struct PersonBuilder {
    person: Person,
}

impl PersonBuilder {
    #[must_use]
    pub fn role(mut self, name: &str) -> Self {
        self.person.roles.insert(Role::new(name));
        self
    }

    #[must_use]
    pub fn manager(mut self, manager: UserId) -> Self {
        self.person.manager = Some(manager);
        self
    }

    #[must_use]
    pub fn alias(mut self, account: UserId) -> Self {
        self.person.aliases.insert(account);
        self
    }

    #[must_use]
    pub fn inactive(mut self) -> Self {
        self.person.active = false;
        self
    }

    pub fn build(self) -> Person {
        self.person
    }
}

pub fn directory(people: impl IntoIterator<Item = PersonBuilder>) -> Directory {
    Directory::new(people.into_iter().map(PersonBuilder::build))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_every_kind_count_from_one() {
        let ids = Ids::new();
        assert_eq!(ids.user(), UserId::from_u128(1));
        assert_eq!(ids.task(), TaskId::from_u128(2));
        assert_eq!(ids.tenant(), TenantId::from_u128(3));
        assert_eq!(ids.agent(), AgentId::from_u128(4));
        assert_eq!(ids.session(), SessionId::from_u128(5));
        assert_eq!(ids.policy(), PolicyId::from_u128(6));
        assert_eq!(ids.lease(), LeaseId::from_u128(7));
    }

    #[test]
    fn person_builder_sets_only_what_was_given() {
        let ids = Ids::new();
        let [ada, bob, second] = [ids.user(), ids.user(), ids.user()];
        let people =
            directory([person(ada).role("dba").manager(bob).alias(second), person(bob).inactive()]);
        assert!(people.has_role(ada, "dba") && !people.has_role(ada, "admin"));
        assert!(people.is_active(ada) && !people.is_active(bob));
        assert_eq!(people.person(ada).and_then(|person| person.manager), Some(bob));
        assert_eq!(people.person(bob).and_then(|person| person.manager), None);
        assert!(people.same_human(ada, second) && !people.same_human(ada, bob));
    }

    #[test]
    fn moment_prints_as_the_text_it_was_parsed_from() {
        assert_eq!(moment("2026-03-18T15:30:00Z").micros(), 1_773_847_800_000_000);
    }
}
