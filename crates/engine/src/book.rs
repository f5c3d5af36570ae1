//! The tenant's rulebook, read once per version. The version is asked in the transaction that
//! decides, behind the gate, so that a cached book is never older than the decision.

use std::collections::BTreeSet;
use std::sync::Arc;

use ade_core::access::Access;
use ade_core::actor::Actor;
use ade_core::freeze::InstallationFreeze;
use ade_core::ids::{AgentId, TenantId, UserId};
use ade_core::limits::{RULEBOOK_IDLE, RULEBOOKS_CACHED_MAX};
use ade_core::policy::{Policy, PolicyRef};
use ade_core::task::{AgentFacts, ApplyFacts, Facts, Task};
use ade_store::rulebook::{self, Base, Rulebook};
use ade_store::{Tx, policies};
use moka::sync::Cache;

use crate::error::Error;

/// Books and pinned policies by what can never change about them.
#[derive(Debug)]
pub struct Books {
    current: Cache<(TenantId, i64), Arc<Rulebook>>,
    pinned: Cache<(TenantId, PolicyRef), Arc<Policy>>,
    /// What tenants have that set nothing themselves.
    base: Base,
}

impl Books {
    pub fn new(base: Base) -> Self {
        Self {
            current: Cache::builder()
                .max_capacity(RULEBOOKS_CACHED_MAX)
                .time_to_idle(RULEBOOK_IDLE)
                .build(),
            pinned: Cache::builder()
                .max_capacity(RULEBOOKS_CACHED_MAX)
                .time_to_idle(RULEBOOK_IDLE)
                .build(),
            base,
        }
    }

    pub fn base(&self) -> Base {
        self.base
    }

    /// The book as it stands in this transaction.
    pub async fn current(&self, tx: &mut Tx) -> Result<Arc<Rulebook>, Error> {
        let version = rulebook::version(tx).await?;
        self.at(tx, version).await
    }

    /// The book of a version that this transaction has read.
    pub async fn at(&self, tx: &mut Tx, version: i64) -> Result<Arc<Rulebook>, Error> {
        if let Some(book) = self.current.get(&(tx.tenant(), version)) {
            return Ok(book);
        }
        let book = Arc::new(rulebook::load(tx, self.base).await?);
        self.current.insert((tx.tenant(), book.version), Arc::clone(&book));
        Ok(book)
    }

    /// The policy versions a task was submitted under: from the book where they are still in
    /// force, else from their rows, which never change.
    pub async fn pinned(
        &self,
        tx: &mut Tx,
        book: &Rulebook,
        pins: &[PolicyRef],
    ) -> Result<Vec<Policy>, Error> {
        let mut found = Vec::with_capacity(pins.len());
        let mut missing = Vec::new();
        for pin in pins {
            let in_force = book.policies.iter().find(|policy| policy.reference() == *pin);
            match in_force {
                Some(policy) => found.push(policy.clone()),
                None => match self.pinned.get(&(tx.tenant(), *pin)) {
                    Some(policy) => found.push(book.effective(Policy::clone(&policy))),
                    None => missing.push(*pin),
                },
            }
        }
        if !missing.is_empty() {
            for policy in policies::versions(tx, &missing).await? {
                let key = (tx.tenant(), policy.reference());
                self.pinned.insert(key, Arc::new(policy.clone()));
                found.push(book.effective(policy));
            }
        }
        Ok(found)
    }
}

/// What a decision knows besides the task, owned so that it outlives the loading.
#[derive(Debug)]
pub struct Knowledge {
    pub book: Arc<Rulebook>,
    pub pinned: Vec<Policy>,
    pub environments: BTreeSet<String>,
    pub resource_owners: BTreeSet<UserId>,
    pub agent: AgentFacts,
    /// The one in force, once somebody has asked.
    pub installation: Option<InstallationFreeze>,
}

impl Knowledge {
    pub fn facts<'a>(&'a self, access: &'a Access, actor: &'a Actor) -> Facts<'a> {
        Facts {
            actor,
            agent: self.agent,
            access,
            directory: &self.book.directory,
            pinned: &self.pinned,
            current: &self.book.policies,
            delegations: &self.book.delegations,
            freezes: &self.book.freezes,
            installation: self.installation.as_ref(),
            environments: &self.environments,
            resource_owners: &self.resource_owners,
            times: self.book.times.approval,
            apply: ApplyFacts::default(),
        }
    }
}

/// Whether an agent's capabilities cover tasks of this type.
pub fn covers(book: &Rulebook, agent: AgentId, task_type: &str) -> bool {
    book.agents.get(&agent).is_some_and(|entry| {
        entry.capabilities.iter().any(|pattern| pattern.matches_text(task_type))
    })
}

/// What the book says of the acting agent.
pub fn agent_facts(book: &Rulebook, actor: &Actor, task_type: &str) -> AgentFacts {
    let Actor::Agent { id, .. } = actor else {
        return AgentFacts::default();
    };
    let Some(entry) = book.agents.get(id) else {
        return AgentFacts::default();
    };
    AgentFacts { is_active: entry.is_active, is_capable: covers(book, *id, task_type) }
}

/// Whether the caller may see the task at all is asked of the same facts.
pub fn of_task(book: Arc<Rulebook>, pinned: Vec<Policy>, actor: &Actor, task: &Task) -> Knowledge {
    let agent = agent_facts(&book, actor, &task.content.subject.task_type);
    Knowledge {
        book,
        pinned,
        environments: BTreeSet::new(),
        resource_owners: BTreeSet::new(),
        agent,
        installation: None,
    }
}
