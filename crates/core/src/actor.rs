//! Actors: a person, a registered program (agent), or one of the server's own workers; and the
//! facts about people that rules use. Roles are names: a few are built in, the others belong to the
//! tenant and are only compared.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::ids::{AgentId, SessionId, UserId};
use crate::time::Timestamp;

/// A role as policies and the directory spell it, for example `admin` or `dba`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Role(String);

impl Role {
    pub const AUTHOR: &'static str = "author";
    pub const REVIEWER: &'static str = "reviewer";
    pub const ADMIN: &'static str = "admin";
    pub const OPERATOR: &'static str = "operator";
    pub const AUDITOR: &'static str = "auditor";

    pub fn new(name: impl Into<String>) -> Self {
        Self(name.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::borrow::Borrow<str> for Role {
    fn borrow(&self) -> &str {
        &self.0
    }
}

/// The actor of a command. An agent always acts for a person, who is responsible for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Actor {
    User {
        id: UserId,
        session: Option<SessionId>,
        /// The other person who issued the token in use; `None` for people's own tokens.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        token_issuer: Option<UserId>,
    },
    Agent {
        id: AgentId,
        on_behalf_of: UserId,
        /// The person who issued the token that the agent uses; `None` if it uses no token.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        token_issuer: Option<UserId>,
    },
    System {
        worker: String,
    },
}

impl Actor {
    pub fn user(id: UserId) -> Self {
        Self::User { id, session: None, token_issuer: None }
    }

    /// Returns an agent that uses no token.
    pub fn agent(id: AgentId, on_behalf_of: UserId) -> Self {
        Self::Agent { id, on_behalf_of, token_issuer: None }
    }

    pub fn system(worker: &str) -> Self {
        Self::System { worker: worker.to_owned() }
    }

    /// Returns the id of the actor, or the name of a worker, for events and idempotency keys.
    pub fn label(&self) -> String {
        match self {
            Self::User { id, .. } => id.to_string(),
            Self::Agent { id, .. } => id.to_string(),
            Self::System { worker } => worker.clone(),
        }
    }

    /// Returns the person who is responsible for this actor; `None` for the server's own workers.
    pub fn human(&self) -> Option<UserId> {
        match self {
            Self::User { id, .. } => Some(*id),
            Self::Agent { on_behalf_of, .. } => Some(*on_behalf_of),
            Self::System { .. } => None,
        }
    }

    /// Returns the person who issued the token in use, unless it is the actor's own.
    pub fn token_issuer(&self) -> Option<UserId> {
        match self {
            Self::User { token_issuer, .. } | Self::Agent { token_issuer, .. } => *token_issuer,
            Self::System { .. } => None,
        }
    }
}

/// A person as the directory knows them at the moment of the decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Person {
    pub id: UserId,
    pub roles: BTreeSet<Role>,
    /// Since when the person has held each role without interruption; a role that is not listed has
    /// been held for an unknown time.
    pub roles_since: BTreeMap<Role, Timestamp>,
    pub active: bool,
    pub manager: Option<UserId>,
    /// Other accounts of the same human. Symmetric and transitive once in a [`Directory`].
    pub aliases: BTreeSet<UserId>,
}

impl Person {
    pub fn has_role(&self, role: &str) -> bool {
        self.roles.contains(role)
    }

    /// Returns when the person got the role; `None` if they do not hold it or the time is unknown.
    pub fn role_since(&self, role: &str) -> Option<Timestamp> {
        self.roles_since.get(role).copied().filter(|_| self.has_role(role))
    }
}

/// The people of a tenant, with every alias resolved to one human.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Directory {
    people: BTreeMap<UserId, Person>,
    /// Account → the smallest account id of the same human.
    humans: BTreeMap<UserId, UserId>,
}

impl Directory {
    pub fn new(people: impl IntoIterator<Item = Person>) -> Self {
        let people: BTreeMap<_, _> = people.into_iter().map(|p| (p.id, p)).collect();
        let mut humans: BTreeMap<UserId, UserId> = BTreeMap::new();
        let mut neighbours: BTreeMap<UserId, BTreeSet<UserId>> = BTreeMap::new();
        for person in people.values() {
            for alias in &person.aliases {
                neighbours.entry(person.id).or_default().insert(*alias);
                neighbours.entry(*alias).or_default().insert(person.id);
            }
        }
        let accounts: BTreeSet<UserId> = people.keys().chain(neighbours.keys()).copied().collect();
        for smallest in accounts {
            // The accounts are in order, so the first account found of a human is the smallest one.
            let mut open = vec![smallest];
            while let Some(account) = open.pop() {
                if humans.contains_key(&account) {
                    continue;
                }
                humans.insert(account, smallest);
                open.extend(neighbours.get(&account).into_iter().flatten());
            }
        }
        Self { people, humans }
    }

    pub fn person(&self, id: UserId) -> Option<&Person> {
        self.people.get(&id)
    }

    pub fn people(&self) -> impl Iterator<Item = &Person> {
        self.people.values()
    }

    /// Returns the account that represents the human behind this account; an unknown account
    /// represents its own human.
    pub fn human(&self, account: UserId) -> UserId {
        self.humans.get(&account).copied().unwrap_or(account)
    }

    pub fn same_human(&self, a: UserId, b: UserId) -> bool {
        self.human(a) == self.human(b)
    }

    pub fn is_active(&self, id: UserId) -> bool {
        self.person(id).is_some_and(|person| person.active)
    }

    pub fn has_role(&self, id: UserId, role: &str) -> bool {
        self.person(id).is_some_and(|person| person.has_role(role))
    }

    /// Returns every active account that has this role.
    pub fn holders(&self, role: &str) -> impl Iterator<Item = UserId> {
        let holders = self.people().filter(move |person| person.active && person.has_role(role));
        holders.map(|person| person.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(number: u128, aliases: &[u128]) -> Person {
        Person {
            id: UserId::from_u128(number),
            roles: BTreeSet::new(),
            roles_since: BTreeMap::new(),
            active: true,
            manager: None,
            aliases: aliases.iter().map(|alias| UserId::from_u128(*alias)).collect(),
        }
    }

    #[test]
    fn aliases_are_symmetric_and_transitive() {
        let directory = Directory::new([account(5, &[3]), account(4, &[3]), account(9, &[])]);
        let [three, four, five, nine] = [3, 4, 5, 9].map(UserId::from_u128);
        assert!(directory.same_human(five, three), "through an alias without an account");
        assert!(directory.same_human(four, five), "through the shared alias");
        assert!(!directory.same_human(nine, five));
        assert_eq!(directory.human(five), three);
    }

    #[test]
    fn unknown_account_is_its_own_human_and_inactive() {
        let directory = Directory::default();
        let stranger = UserId::from_u128(1);
        assert_eq!(directory.human(stranger), stranger);
        assert!(!directory.is_active(stranger));
        assert!(!directory.has_role(stranger, Role::ADMIN));
    }

    #[test]
    fn role_holders_are_active_people_only() {
        let holder =
            |number| Person { roles: [Role::new(Role::ADMIN)].into(), ..account(number, &[]) };
        let gone = Person { active: false, ..holder(2) };
        let directory = Directory::new([holder(1), gone, account(3, &[]), holder(4)]);
        let holders: Vec<UserId> = directory.holders(Role::ADMIN).collect();
        assert_eq!(holders, [1, 4].map(UserId::from_u128));
        assert_eq!(directory.holders("dba").count(), 0);
    }

    #[test]
    fn agent_is_represented_by_its_owner() {
        let person = UserId::from_u128(1);
        let agent = Actor::agent(AgentId::from_u128(2), person);
        assert_eq!(agent.human(), Some(person));
        assert_eq!(Actor::system("review_opener").human(), None);
    }
}
