//! A small tenant for tests and benchmarks: a few people, one policy, one task, and helpers that
//! move it through its lifecycle. It is not part of the product.

pub mod locks;

use std::collections::BTreeSet;
use std::sync::LazyLock;
use std::time::Duration;

use crate::access::Access;
use crate::actor::{Actor, Directory, Person, Role};
use crate::approval::delegation::{Conditions, Delegation, DelegationKind};
use crate::approval::separation_of_duties::Participants;
use crate::approval::{Answer, Seen};
use crate::change::{Digest, Origin};
use crate::freeze::{Freeze, InstallationFreeze};
use crate::ids::{AgentId, DelegationId, ExecutionId, LeaseId, PolicyId, TaskId, UserId};
use crate::policy::{AuthorKind, AutoApprove, Document, Group, Policy, PolicyRef, Subject};
use crate::risk::{Level, Score};
use crate::task::{
    AgentFacts, ApplyFacts, AuthorityAge, Blocked, Command, Content, Decision, Facts, Hold,
    LoadedGates, Refusal, Task, decide,
};
use crate::time::Timestamp;
use crate::timeouts::ApprovalTimeouts;

/// Applies the rule of a command without checking state or permission. Only the benches call it,
/// to measure the rule alone; the product must call [`decide`].
pub fn transition(
    task: &Task,
    command: &Command,
    facts: &Facts<'_>,
    now: Timestamp,
) -> Result<Decision, Refusal> {
    crate::task::transition(task, command, facts, now)
}

pub const AUTHOR: UserId = UserId::from_u128(1);
pub const ALICE: UserId = UserId::from_u128(2);
pub const BOB: UserId = UserId::from_u128(3);
pub const CAROL: UserId = UserId::from_u128(4);
pub const ADMIN: UserId = UserId::from_u128(5);
pub const SECOND_ADMIN: UserId = UserId::from_u128(6);
pub const STRANGER: UserId = UserId::from_u128(7);
pub const AGENT: AgentId = AgentId::from_u128(1);
pub const ATTEMPT: ExecutionId = ExecutionId::from_u128(1);
pub const HOLD: Hold = Hold { lease: LeaseId::from_u128(1), token: 7 };
pub const OTHER_HOLD: Hold = Hold { lease: LeaseId::from_u128(2), token: 8 };

static ACCESS: LazyLock<Access> = LazyLock::new(|| match Access::new() {
    Ok(access) => access,
    Err(error) => unreachable!("the base policies hold: {error}"),
});

pub fn at(seconds: i64) -> Timestamp {
    Timestamp::from_micros(seconds * 1_000_000)
}

pub fn hours(count: u64) -> Duration {
    Duration::from_hours(count)
}

pub fn roles(names: &[&str]) -> BTreeSet<Role> {
    names.iter().map(|name| Role::new(*name)).collect()
}

/// A person who has held these roles since the beginning.
pub fn person(id: UserId, names: &[&str]) -> Person {
    let roles = roles(names);
    Person {
        id,
        roles_since: roles.iter().map(|role| (role.clone(), at(0))).collect(),
        roles,
        active: true,
        manager: None,
        aliases: BTreeSet::new(),
        is_unconfirmed: false,
    }
}

pub fn user(id: UserId) -> Actor {
    Actor::user(id)
}

pub fn agent() -> Actor {
    Actor::agent(AGENT, AUTHOR)
}

pub fn worker() -> Actor {
    Actor::system("worker")
}

pub fn group(names: &[&str], people: &[UserId], min: u32) -> Group {
    Group { roles: roles(names), people: people.iter().copied().collect(), min }
}

pub fn policy(number: u128, version: u32, document: Document) -> Policy {
    Policy { id: PolicyId::from_u128(number), version, document }
}

/// A policy that requires two database administrators.
pub fn two_dbas() -> Document {
    Document { require: vec![group(&["dba"], &[], 2)], ..Document::named("two-dbas") }
}

/// A policy that auto-approves below the given risk and otherwise requires one database
/// administrator.
pub fn passes_below(points: u8) -> Document {
    let clause = AutoApprove { risk_below: Some(Score::new(points)), ..AutoApprove::default() };
    Document {
        require: vec![group(&["dba"], &[], 1)],
        auto_approve_if: Some(clause),
        ..Document::named("passes-below")
    }
}

/// A cascading delegation without conditions, for about eleven days.
pub fn delegation(
    id: u128,
    owner: UserId,
    delegate_to: UserId,
    kind: DelegationKind,
) -> Delegation {
    Delegation {
        id: DelegationId::from_u128(id),
        owner,
        delegate_to,
        kind,
        conditions: Conditions::default(),
        cascade: true,
        starts_at: at(0),
        expires_at: at(1_000_000),
        active: true,
    }
}

pub fn content(seed: &str) -> Content {
    Content {
        digest: Digest::of(seed.as_bytes()),
        shape: Digest::of(b"shape"),
        subject: Subject {
            task_type: "database.migrate".to_owned(),
            resources: BTreeSet::from_iter("database:prod-db-01".parse()),
            tags: BTreeSet::new(),
            risk: Score::new(45),
            author_kind: AuthorKind::User,
            author_roles: roles(&["author"]),
            origin: Origin::Observed,
        },
        level: Level::Medium,
    }
}

pub fn draft() -> Task {
    let involvement = Participants::of_proposal(AUTHOR, &Actor::user(AUTHOR));
    Task::draft(TaskId::from_u128(1), involvement, content("first"), at(0))
}

/// The data of a tenant.
#[expect(clippy::struct_excessive_bools, reason = "switches for tests, one per fact of a decision")]
#[derive(Debug, Clone)]
pub struct World {
    pub people: Vec<Person>,
    pub directory: Directory,
    pub pinned: Vec<Policy>,
    pub current: Vec<Policy>,
    pub delegations: Vec<Delegation>,
    pub freezes: Vec<Freeze>,
    pub installation: Option<InstallationFreeze>,
    pub environments: BTreeSet<String>,
    pub resource_owners: BTreeSet<UserId>,
    pub blocked: Vec<Blocked>,
    pub has_capacity: bool,
    pub hold_is_over: bool,
    pub hold_is_fenced: bool,
    pub lock_delay_is_over: bool,
    pub agent: AgentFacts,
    pub authority: AuthorityAge,
}

impl World {
    pub fn new(documents: impl IntoIterator<Item = Document>) -> Self {
        let policies: Vec<Policy> =
            (1..).zip(documents).map(|(number, document)| policy(number, 1, document)).collect();
        let people = vec![
            person(AUTHOR, &["author"]),
            person(ALICE, &["reviewer", "dba"]),
            person(BOB, &["reviewer", "dba"]),
            person(CAROL, &["reviewer", "security"]),
            person(ADMIN, &["admin"]),
            person(SECOND_ADMIN, &["admin"]),
            person(STRANGER, &[]),
        ];
        Self {
            directory: Directory::new(people.clone()),
            people,
            pinned: policies.clone(),
            current: policies,
            delegations: Vec::new(),
            freezes: Vec::new(),
            installation: None,
            environments: BTreeSet::new(),
            resource_owners: BTreeSet::new(),
            blocked: Vec::new(),
            has_capacity: true,
            hold_is_over: true,
            hold_is_fenced: true,
            lock_delay_is_over: true,
            agent: AgentFacts { is_active: true, is_capable: true },
            authority: AuthorityAge::default(),
        }
    }

    /// Changes one person and everything that the directory derives from them.
    pub fn edit(&mut self, id: UserId, change: impl FnOnce(&mut Person)) {
        if let Some(person) = self.people.iter_mut().find(|person| person.id == id) {
            change(person);
        }
        self.directory = Directory::new(self.people.clone());
    }

    pub fn facts<'a>(&'a self, actor: &'a Actor) -> Facts<'a> {
        Facts {
            actor,
            agent: self.agent,
            access: &ACCESS,
            directory: &self.directory,
            pinned: &self.pinned,
            current: &self.current,
            delegations: &self.delegations,
            freezes: &self.freezes,
            resource_owners: &self.resource_owners,
            timeouts: ApprovalTimeouts::default(),
            authority: self.authority,
            apply: ApplyFacts {
                blocked: &self.blocked,
                has_capacity: self.has_capacity,
                hold_is_over: self.hold_is_over,
                hold_is_fenced: self.hold_is_fenced,
                lock_delay_is_over: self.lock_delay_is_over,
            },
        }
    }

    pub fn gates(&self) -> LoadedGates {
        LoadedGates::loaded(self.installation.clone(), self.environments.clone())
    }

    /// Returns the command that requests the permit, with the gates of this world.
    pub fn start(&self) -> Command {
        Command::StartApply { execution: ATTEMPT, hold: HOLD, gates: self.gates() }
    }

    /// Returns the gates while the installation is frozen.
    pub fn closed_gates() -> LoadedGates {
        let stop = InstallationFreeze {
            number: 3,
            reason: "incident 9".to_owned(),
            set_by: "root".to_owned(),
            since: at(0),
        };
        LoadedGates::loaded(Some(stop), BTreeSet::new())
    }

    /// Returns the command that begins the attempt, with the gates of this world.
    pub fn begin(&self) -> Command {
        Command::BeginApply { hold: HOLD, gates: self.gates() }
    }

    pub fn pins(&self) -> Vec<PolicyRef> {
        self.pinned.iter().map(Policy::reference).collect()
    }

    pub fn decide(
        &self,
        task: &Task,
        actor: &Actor,
        command: &Command,
        now: Timestamp,
    ) -> Result<Decision, Refusal> {
        decide(task, command, &self.facts(actor), now)
    }

    /// Returns the task after a command that must succeed.
    pub fn step(&self, task: &Task, actor: &Actor, command: &Command, now: Timestamp) -> Task {
        match self.decide(task, actor, command, now) {
            Ok(decision) => match task.after(&decision, now) {
                Some(task) => task,
                None => unreachable!("{command:?} deleted the task"),
            },
            Err(refusal) => unreachable!("{command:?} refused: {refusal}"),
        }
    }

    pub fn submitted(&self, now: Timestamp) -> Task {
        let draft = draft();
        let submit = Command::Submit { content: draft.content.clone(), pins: self.pins() };
        self.step(&draft, &user(AUTHOR), &submit, now)
    }

    pub fn reviewing(&self, now: Timestamp) -> Task {
        self.step(&self.submitted(now), &worker(), &Command::OpenReview, now)
    }

    /// Returns a task approved by Alice and Bob.
    pub fn approved(&self, now: Timestamp) -> Task {
        let mut task = self.reviewing(now);
        for voter in [ALICE, BOB] {
            task = self.step(&task, &user(voter), &yes(&task), now);
        }
        task
    }

    pub fn applying(&self, now: Timestamp) -> Task {
        self.step(&self.approved(now), &agent(), &self.start(), now)
    }

    pub fn begun(&self, now: Timestamp) -> Task {
        self.step(&self.applying(now), &agent(), &self.begin(), now)
    }

    pub fn unknown(&self, now: Timestamp) -> Task {
        self.step(&self.begun(now), &worker(), &Command::LoseApply, now)
    }
}

pub fn seen(task: &Task) -> Seen {
    Seen { revision: task.revision, digest: task.content.digest }
}

pub fn vote(task: &Task, answer: Answer) -> Command {
    Command::Vote { answer, seen: seen(task), reason: Some("looked at it".to_owned()) }
}

pub fn yes(task: &Task) -> Command {
    vote(task, Answer::Approve)
}

pub fn no(task: &Task) -> Command {
    vote(task, Answer::Reject)
}
