//! Judges whether a change to the rules of a tenant makes an approval easier. A change that does
//! not take effect at once is a pending change: a second admin publishes it, or, in a tenant with
//! one admin, a day passes without an objection.
//!
//! The judgement is cautious: what cannot be shown to be at least as strict counts as looser.

mod objections;
mod people;
mod policies;
mod resources;
mod settings;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::actor::Directory;
use crate::approval::delegation::Delegation;
use crate::change::{CanonicalError, Digest, canonical_bytes};
use crate::flag::Flag;
use crate::freeze::{Freeze, FreezeExtent};
use crate::ids::{AgentId, PendingChangeId, UserId};
use crate::policy::{Pattern, Policy, Strictness};
use crate::risk::RiskConfig;
use crate::timeouts::ApprovalTimeouts;

pub use objections::{ObjectionObstacle, ObstacleKind, compare_objections, still_relevant};
pub use people::admins;
pub use policies::compare_versions;
pub use resources::{RegistryRules, compare_entries, compare_group_roles};

/// One consequence of a change, and whether it makes approvals stricter or looser.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuleFinding {
    pub verdict: Strictness,
    pub sentence: String,
    /// The pending change that this consequence is about; it ends when that change is closed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concerns: Option<PendingChangeId>,
}

impl RuleFinding {
    pub fn new(verdict: Strictness, sentence: impl Into<String>) -> Self {
        Self { verdict, sentence: sentence.into(), concerns: None }
    }
}

/// Combines the verdicts of all findings.
pub fn overall(findings: &[RuleFinding]) -> Strictness {
    findings.iter().map(|finding| finding.verdict).fold(Strictness::Same, Strictness::and)
}

/// Returns the digest of a change with its consequences, which a passkey confirms.
pub fn digest(command: &Value, findings: &[RuleFinding]) -> Result<Digest, CanonicalError> {
    Ok(Digest::of(&canonical_bytes(&(command, findings))?))
}

/// Returns whether a change with this verdict takes effect without a second admin.
pub const fn is_at_least_as_strict(verdict: Strictness) -> bool {
    match verdict {
        Strictness::Same | Strictness::Stricter => true,
        Strictness::Looser | Strictness::Mixed => false,
    }
}

/// The rules of a tenant that decide who must approve, and how its people are shown.
#[derive(Debug, Clone)]
pub struct RuleSet<'a> {
    pub directory: &'a Directory,
    pub names: &'a BTreeMap<UserId, String>,
    pub agents: BTreeMap<AgentId, AgentRules<'a>>,
    pub policies: &'a [Policy],
    pub delegations: &'a [Delegation],
    pub freezes: &'a [Freeze],
    pub risk: &'a RiskConfig,
    pub flags: &'a BTreeSet<Flag>,
    pub approval: ApprovalTimeouts,
}

#[derive(Debug, Clone, Copy)]
pub struct AgentRules<'a> {
    pub name: &'a str,
    pub owner: UserId,
    pub capabilities: &'a [Pattern],
}

impl RuleSet<'_> {
    fn name(&self, person: UserId) -> String {
        self.names.get(&person).cloned().unwrap_or_else(|| person.to_string())
    }
}

/// Returns everything in which the new rules differ from the old ones, as far as approvals depend
/// on it.
pub fn compare_rules(old: &RuleSet<'_>, new: &RuleSet<'_>) -> Vec<RuleFinding> {
    let mut findings = people::compare(old, new);
    findings.extend(new_delegations(old, new));
    findings.extend(ended_freezes(old, new));
    findings.extend(changed_agents(old, new));
    findings.extend(settings::compare_risk(old.risk, new.risk));
    findings.extend(settings::compare_flags(old.flags, new.flags));
    findings.extend(settings::compare_timeouts(old.approval, new.approval));
    findings
}

fn new_delegations(old: &RuleSet<'_>, new: &RuleSet<'_>) -> Vec<RuleFinding> {
    let known: BTreeSet<_> = old.delegations.iter().map(|delegation| delegation.id).collect();
    let added = new.delegations.iter().filter(|delegation| !known.contains(&delegation.id));
    let sentence = |delegation: &Delegation| {
        let (delegate, owner) = (new.name(delegation.delegate_to), new.name(delegation.owner));
        RuleFinding::new(Strictness::Looser, format!("{delegate} may answer for {owner}"))
    };
    added.map(sentence).collect()
}

fn ended_freezes(old: &RuleSet<'_>, new: &RuleSet<'_>) -> Vec<RuleFinding> {
    let left: BTreeSet<_> = new.freezes.iter().map(|freeze| freeze.id).collect();
    let of_tenant = |freeze: &&Freeze| freeze.scope == FreezeExtent::Tenant;
    let ended = old.freezes.iter().filter(of_tenant).filter(|freeze| !left.contains(&freeze.id));
    let sentence = |freeze: &Freeze| {
        let sentence = format!("the freeze of the whole tenant ends ({})", freeze.reason);
        RuleFinding::new(Strictness::Looser, sentence)
    };
    ended.map(sentence).collect()
}

/// Compares the agents that exist before and after. A new agent has no task and no approval yet.
fn changed_agents(old: &RuleSet<'_>, new: &RuleSet<'_>) -> Vec<RuleFinding> {
    let mut findings = Vec::new();
    for (id, after) in &new.agents {
        let Some(before) = old.agents.get(id) else { continue };
        let texts = |agent: &AgentRules<'_>| -> BTreeSet<String> {
            agent.capabilities.iter().map(|pattern| pattern.as_str().to_owned()).collect()
        };
        let (was, is) = (texts(before), texts(after));
        for added in is.difference(&was) {
            let sentence = format!("the agent {} may apply tasks of type {added}", after.name);
            findings.push(RuleFinding::new(Strictness::Looser, sentence));
        }
        for removed in was.difference(&is) {
            let sentence =
                format!("the agent {} no longer applies tasks of type {removed}", after.name);
            findings.push(RuleFinding::new(Strictness::Stricter, sentence));
        }
        if before.owner != after.owner {
            let owner = new.name(after.owner);
            let sentence = format!("the agent {} belongs to {owner}", after.name);
            findings.push(RuleFinding::new(Strictness::Mixed, sentence));
        }
    }
    findings
}

#[cfg(test)]
#[path = "compare_tests.rs"]
mod tests;
