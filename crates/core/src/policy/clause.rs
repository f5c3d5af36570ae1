//! Auto-approval: a task may pass without a person only by a clause of every policy that matches
//! it. A clause that does not hold reports which condition failed and with which values.

use std::collections::BTreeSet;
use std::fmt;

use serde::Serialize;
use thiserror::Error;

use super::document::AutoApprove;
use super::{Policy, PolicyRef, Subject};
use crate::actor::Role;
use crate::change::Origin;
use crate::resource::ResourceRef;
use crate::risk::Score;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum AutoApproval {
    /// No policy matches, or no matching policy has a clause.
    Never,
    /// Every matching policy has a clause, and all of them hold.
    Allowed {
        clauses: Vec<PolicyRef>,
    },
    Refused {
        reasons: Vec<AutoRefusal>,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct AutoRefusal {
    pub policy: PolicyRef,
    pub condition: FailedCondition,
}

impl fmt::Display for AutoRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.policy, self.condition)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Error)]
#[serde(tag = "failed", rename_all = "snake_case")]
pub enum FailedCondition {
    #[error("the policy has no `auto_approve_if`")]
    NoClause,
    #[error("the policy's `auto_approve_if` has no condition, and an empty one never holds")]
    NoCondition,
    #[error(
        "the effect was declared, not observed, and the policy does not accept declared effects"
    )]
    EffectDeclared,
    #[error("the risk is {}, not below {}", .risk.points(), .below.points())]
    RiskNotBelow { risk: Score, below: Score },
    #[error("the author has none of the roles {}", listed(.wanted))]
    AuthorLacksRole { wanted: BTreeSet<Role> },
    #[error("{} not in the policy's scope", listed(.resources))]
    OutOfScope { resources: BTreeSet<ResourceRef> },
    /// The task names no resource, so "every resource" would hold trivially.
    #[error("the task lists no resource, so none is in the policy's scope")]
    NoResource,
}

fn listed<T: fmt::Display>(items: &BTreeSet<T>) -> String {
    let items: Vec<String> = items.iter().map(ToString::to_string).collect();
    items.join(", ")
}

impl AutoApprove {
    pub(crate) fn has_condition(&self) -> bool {
        self.risk_below.is_some()
            || !self.author_has_role.is_empty()
            || !self.resources_in_scope.is_empty()
    }

    /// Returns the conditions that the task fails; empty if the clause holds.
    fn failures(&self, subject: &Subject) -> Vec<FailedCondition> {
        let mut failed = Vec::new();
        if !self.has_condition() {
            failed.push(FailedCondition::NoCondition);
        }
        match subject.origin {
            Origin::Observed => {}
            Origin::Declared if self.accept_declared_effect => {}
            Origin::Declared => failed.push(FailedCondition::EffectDeclared),
        }
        if let Some(below) = self.risk_below
            && subject.risk >= below
        {
            failed.push(FailedCondition::RiskNotBelow { risk: subject.risk, below });
        }
        let wanted = &self.author_has_role;
        if !wanted.is_empty() && wanted.is_disjoint(&subject.author_roles) {
            failed.push(FailedCondition::AuthorLacksRole { wanted: wanted.clone() });
        }
        if !self.resources_in_scope.is_empty() {
            failed.extend(self.scope_failure(subject));
        }
        failed
    }

    fn scope_failure(&self, subject: &Subject) -> Option<FailedCondition> {
        if subject.resources.is_empty() {
            return Some(FailedCondition::NoResource);
        }
        let scope = &self.resources_in_scope;
        let outside: BTreeSet<ResourceRef> = subject
            .resources
            .iter()
            .filter(|resource| !scope.iter().any(|pattern| pattern.matches_resource(resource)))
            .cloned()
            .collect();
        (!outside.is_empty()).then_some(FailedCondition::OutOfScope { resources: outside })
    }
}

/// Judges the matching policies in the order of their references.
pub(super) fn judge(matched: &[&Policy], subject: &Subject) -> AutoApproval {
    if matched.iter().all(|policy| policy.document.auto_approve_if.is_none()) {
        return AutoApproval::Never;
    }
    let mut reasons: Vec<AutoRefusal> = Vec::new();
    for policy in matched {
        let failures = match &policy.document.auto_approve_if {
            None => vec![FailedCondition::NoClause],
            Some(clause) => clause.failures(subject),
        };
        reasons.extend(
            failures
                .into_iter()
                .map(|condition| AutoRefusal { policy: policy.reference(), condition }),
        );
    }
    if reasons.is_empty() {
        AutoApproval::Allowed { clauses: matched.iter().map(|policy| policy.reference()).collect() }
    } else {
        AutoApproval::Refused { reasons }
    }
}

#[cfg(test)]
#[path = "clause_tests.rs"]
mod tests;
