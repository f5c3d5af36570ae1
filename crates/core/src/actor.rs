//! Actors: a person, a registered program (agent), or one of the server's own workers; and the
//! facts about people that rules use. Roles are names: a few are built in, the others belong to the
//! tenant and are only compared.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::ids::{AgentId, StepUpId, UserId};
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
        /// What the person presented; not part of what others see of the actor.
        #[serde(skip)]
        credential: Option<Credential>,
    },
    Agent {
        id: AgentId,
        on_behalf_of: UserId,
        /// What the agent presented; not part of what others see of the actor.
        #[serde(skip)]
        credential: Option<Credential>,
    },
    System {
        worker: String,
    },
}

/// The kind of a credential.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CredentialKind {
    /// The cookie of a browser's session.
    Session,
    /// A token in a header, also that of a terminal.
    Token,
    /// The secret of an invitation.
    Invitation,
}

/// The key that authenticated a request. It contains no secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Credential {
    pub kind: CredentialKind,
    /// The public id of the key, as lists of tokens and sessions show it.
    pub key_id: String,
    /// The person who issued the key; `None` if the server issued it at a sign-in.
    pub issued_by: Option<UserId>,
    /// The passkey confirmation that the action used up.
    pub step_up: Option<StepUpId>,
}

impl Actor {
    /// Returns a person who presented no credential, because the server acts for them.
    pub fn user(id: UserId) -> Self {
        Self::User { id, credential: None }
    }

    /// Returns an agent that uses no token.
    pub fn agent(id: AgentId, on_behalf_of: UserId) -> Self {
        Self::Agent { id, on_behalf_of, credential: None }
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

    /// Returns the actor as others see it and as it is stored.
    #[must_use]
    pub fn without_credential(&self) -> Self {
        match self {
            Self::User { id, .. } => Self::user(*id),
            Self::Agent { id, on_behalf_of, .. } => Self::agent(*id, *on_behalf_of),
            Self::System { .. } => self.clone(),
        }
    }

    /// Returns whether both are the same actor, whatever key each of them presented.
    pub fn is_same_as(&self, other: &Self) -> bool {
        self.without_credential() == other.without_credential()
    }

    /// Returns the key that authenticated the actor.
    pub fn credential(&self) -> Option<&Credential> {
        match self {
            Self::User { credential, .. } | Self::Agent { credential, .. } => credential.as_ref(),
            Self::System { .. } => None,
        }
    }

    /// Returns the person who issued the token in use, unless it is the actor's own.
    pub fn token_issuer(&self) -> Option<UserId> {
        let issuer = self.credential()?.issued_by?;
        let is_own = matches!(self, Self::User { id, .. } if *id == issuer);
        (!is_own).then_some(issuer)
    }

    /// Adds the passkey confirmation that the action has used up.
    pub fn confirm(&mut self, step_up: StepUpId) {
        if let Self::User { credential: Some(credential), .. } = self {
            credential.step_up = Some(step_up);
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
    /// The person joined by an invitation that its admin could read, and no second admin has
    /// confirmed since that the account is theirs.
    pub is_unconfirmed: bool,
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
            is_unconfirmed: false,
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
    fn actor_with_another_token_is_the_same() {
        let (id, on_behalf_of) = (AgentId::from_u128(2), UserId::from_u128(1));
        let with = |key_id: &str, issuer| {
            let (kind, key_id) = (CredentialKind::Token, key_id.to_owned());
            let issued_by = Some(UserId::from_u128(issuer));
            let credential = Some(Credential { kind, key_id, issued_by, step_up: None });
            Actor::Agent { id, on_behalf_of, credential }
        };
        assert!(with("a", 1).is_same_as(&with("b", 3)));
        assert!(with("a", 1).is_same_as(&Actor::agent(id, on_behalf_of)), "as it is stored");
        assert!(!with("a", 1).is_same_as(&Actor::agent(id, UserId::from_u128(3))), "another owner");
        assert!(!with("a", 1).is_same_as(&Actor::user(on_behalf_of)));
        assert_eq!(with("a", 3).token_issuer(), Some(UserId::from_u128(3)));
    }

    #[test]
    fn agent_is_represented_by_its_owner() {
        let person = UserId::from_u128(1);
        let agent = Actor::agent(AgentId::from_u128(2), person);
        assert_eq!(agent.human(), Some(person));
        assert_eq!(Actor::system("review_opener").human(), None);
    }
}
