//! A cache of tenant configurations, each loaded once per version. The version is read in the
//! transaction that decides, while it holds the tenant lock, so that a cached configuration is
//! never older than the decision.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use ade_core::access::Access;
use ade_core::actor::Actor;
use ade_core::ids::{AgentId, TenantId, UserId};
use ade_core::policy::{Policy, PolicyRef};
use ade_core::task::{AgentFacts, ApplyFacts, Facts, Task};
use ade_store::tenant_config::{self, Base, TenantConfig};
use ade_store::{StoreError, Tx, policies};
use moka::sync::Cache;

/// The maximum number of cached configurations; each is validated by its version before use.
const RULEBOOKS_CACHED_MAX: u64 = 1_000;
const RULEBOOK_IDLE: Duration = Duration::from_mins(10);

/// Tenant configurations and pinned policies, cached by version. A version never changes.
#[derive(Debug)]
pub struct TenantConfigCache {
    current: Cache<(TenantId, i64), Arc<TenantConfig>>,
    pinned: Cache<(TenantId, PolicyRef), Arc<Policy>>,
    /// The defaults for tenants without settings of their own.
    base: Base,
}

impl TenantConfigCache {
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

    /// Returns the configuration as this transaction sees it.
    pub async fn current(&self, tx: &mut Tx) -> Result<Arc<TenantConfig>, StoreError> {
        let version = tenant_config::version(tx).await?;
        self.at(tx, version).await
    }

    /// Returns the configuration of a version that this transaction has read.
    pub async fn at(&self, tx: &mut Tx, version: i64) -> Result<Arc<TenantConfig>, StoreError> {
        if let Some(config) = self.current.get(&(tx.tenant(), version)) {
            return Ok(config);
        }
        let config = Arc::new(tenant_config::load(tx, self.base).await?);
        self.current.insert((tx.tenant(), config.version), Arc::clone(&config));
        Ok(config)
    }

    /// Returns the policy versions under which a task was submitted: from the configuration if they
    /// are still in force, otherwise from their rows, which never change.
    pub async fn pinned(
        &self,
        tx: &mut Tx,
        config: &TenantConfig,
        pins: &[PolicyRef],
    ) -> Result<Vec<Policy>, StoreError> {
        let mut found = Vec::with_capacity(pins.len());
        let mut missing = Vec::new();
        for pin in pins {
            let in_force = config.policies.iter().find(|policy| policy.reference() == *pin);
            match in_force {
                Some(policy) => found.push(policy.clone()),
                None => match self.pinned.get(&(tx.tenant(), *pin)) {
                    Some(policy) => found.push(config.effective(Policy::clone(&policy))),
                    None => missing.push(*pin),
                },
            }
        }
        if !missing.is_empty() {
            for policy in policies::versions(tx, &missing).await? {
                let key = (tx.tenant(), policy.reference());
                self.pinned.insert(key, Arc::new(policy.clone()));
                found.push(config.effective(policy));
            }
        }
        Ok(found)
    }
}

/// The inputs of a decision other than the task. They are owned, so that they outlive the
/// transaction that loads them.
#[derive(Debug)]
pub struct DecisionInputs {
    pub book: Arc<TenantConfig>,
    pub pinned: Vec<Policy>,
    pub resource_owners: BTreeSet<UserId>,
    pub agent: AgentFacts,
}

impl DecisionInputs {
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
            resource_owners: &self.resource_owners,
            timeouts: self.book.timeouts.approval,
            authority: self.book.authority,
            apply: ApplyFacts::default(),
        }
    }
}

/// Returns whether an agent's capabilities cover tasks of this type.
pub fn covers(config: &TenantConfig, agent: AgentId, task_type: &str) -> bool {
    config.agents.get(&agent).is_some_and(|entry| {
        entry.capabilities.iter().any(|pattern| pattern.matches_text(task_type))
    })
}

/// Returns whether an agent that is not revoked may apply tasks of this type.
pub fn is_covered(config: &TenantConfig, task_type: &str) -> bool {
    let active = config.agents.values().filter(|entry| entry.is_active);
    active.flat_map(|entry| &entry.capabilities).any(|pattern| pattern.matches_text(task_type))
}

/// Returns what the tenant configuration says about the acting agent.
pub fn agent_facts(config: &TenantConfig, actor: &Actor, task_type: &str) -> AgentFacts {
    let Actor::Agent { id, .. } = actor else {
        return AgentFacts::default();
    };
    let Some(entry) = config.agents.get(id) else {
        return AgentFacts::default();
    };
    AgentFacts { is_active: entry.is_active, is_capable: covers(config, *id, task_type) }
}

/// Returns the decision inputs for a task. The same facts decide whether the caller may see the
/// task.
pub fn of_task(
    config: Arc<TenantConfig>,
    pinned: Vec<Policy>,
    actor: &Actor,
    task: &Task,
) -> DecisionInputs {
    let agent = agent_facts(&config, actor, &task.content.subject.task_type);
    DecisionInputs { book: config, pinned, resource_owners: BTreeSet::new(), agent }
}
