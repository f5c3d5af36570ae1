//! The combined requirement of all matching policies. The strictest value of each setting applies,
//! so another matching policy can only add to it. It fails closed: if no policy matches, the
//! default reviewers are asked. Who fills a group, and whether it is met, is not decided here.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::Serialize;

use super::clause::{self, AutoApproval};
use super::document::{DelegationRule, Document, EscalationAction, EscalationStep, in_words};
use super::{Policy, PolicyRef, Subject, matching, period};
use crate::actor::Role;
use crate::ids::UserId;
use crate::limits::{APPROVAL_VALID_FOR_DEFAULT, REQUIREMENT_ESCALATION_STEPS_MAX};
use crate::time::Timestamp;
use crate::timeouts::ApprovalTimeouts;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Requirement {
    /// The groups, all of which must be met; never empty.
    pub groups: Vec<GroupNeed>,
    /// The lowest threshold: fewer rejections are needed to stop the task.
    pub reject_threshold: u32,
    #[serde(serialize_with = "period::serialize")]
    pub respond_within: Duration,
    #[serde(serialize_with = "period::serialize")]
    pub approval_valid_for: Duration,
    /// The steps of all policies by `after`; the same step of two policies is one. If there are
    /// more than the bound, the earliest stay, so that the review ends sooner, not later.
    pub escalation: Vec<EscalationStep>,
    /// The policies that ask for each step of `escalation`, in its order.
    pub escalation_asked_by: Vec<BTreeSet<PolicyRef>>,
    pub delegation: DelegationRule,
    /// The longest minimum role age of all policies.
    #[serde(serialize_with = "period::serialize_some")]
    pub role_age_min: Option<Duration>,
    pub exempt_people: BTreeSet<UserId>,
    pub exempt_roles: BTreeSet<Role>,
    pub auto_approve: AutoApproval,
    pub policies: Vec<PolicyRef>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GroupNeed {
    pub roles: BTreeSet<Role>,
    pub people: BTreeSet<UserId>,
    pub min: u32,
    /// The policies that ask for the group; empty for the default group of a task that no policy
    /// matches.
    pub asked_by: BTreeSet<PolicyRef>,
}

impl GroupNeed {
    /// Describes the group, like `1 of sre or usr_…`.
    pub fn in_words(&self) -> String {
        in_words(self.min, &self.roles, &self.people)
    }
}

/// The people who may answer: those with one of the roles, and those listed.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Audience {
    pub roles: BTreeSet<Role>,
    pub people: BTreeSet<UserId>,
}

impl Audience {
    pub fn is_empty(&self) -> bool {
        self.roles.is_empty() && self.people.is_empty()
    }
}

pub fn requirement(
    policies: &[Policy],
    subject: &Subject,
    now: Timestamp,
    timeouts: &ApprovalTimeouts,
) -> Requirement {
    merge(&matching(policies, subject, now), subject, timeouts)
}

/// Merges these policies, whether or not they match now. It is used for the versions that a task
/// was submitted under.
pub fn merge(policies: &[&Policy], subject: &Subject, timeouts: &ApprovalTimeouts) -> Requirement {
    let mut matched = policies.to_vec();
    // The order is canonical and without repetitions, whatever the caller passes.
    matched.sort_by_key(|policy| policy.reference());
    matched.dedup();
    let documents = || matched.iter().map(|policy| &policy.document);
    let (escalation, escalation_asked_by) = escalation(&matched).into_iter().unzip();
    let forbids = |document: &Document| match document.delegation {
        DelegationRule::Allowed => false,
        DelegationRule::Forbidden => true,
    };
    Requirement {
        groups: groups(&matched),
        reject_threshold: documents().map(|document| document.reject_threshold).min().unwrap_or(1),
        respond_within: documents()
            .map(|document| timeouts.respond_within(document.respond_within))
            .min()
            .unwrap_or(timeouts.respond_within(None)),
        approval_valid_for: documents()
            .map(|document| document.approval_valid_for)
            .min()
            .unwrap_or(APPROVAL_VALID_FOR_DEFAULT),
        escalation,
        escalation_asked_by,
        delegation: if documents().any(forbids) {
            DelegationRule::Forbidden
        } else {
            DelegationRule::Allowed
        },
        role_age_min: documents().filter_map(|document| document.role_age_min).max(),
        exempt_people: documents()
            .flat_map(|document| document.exempt.people.iter().copied())
            .collect(),
        exempt_roles: documents()
            .flat_map(|document| document.exempt.roles.iter().cloned())
            .collect(),
        auto_approve: clause::judge(&matched, subject),
        policies: matched.iter().map(|policy| policy.reference()).collect(),
    }
}

impl Requirement {
    /// Describes the requirement, like `2 of dba and 1 of sre or usr_…, by roles that are 1d old`.
    pub fn in_words(&self) -> String {
        let groups: Vec<String> = self.groups.iter().map(GroupNeed::in_words).collect();
        let age = self
            .role_age_min
            .map(|age| format!(", by roles held for at least {}", period::text(age)));
        format!("{}{}", groups.join(" and "), age.unwrap_or_default())
    }

    /// Returns who may fill `group` besides its own audience when the review has been open for
    /// `waited`. A step widens only groups of its own policies: a group that another policy asks
    /// for as well stays unchanged, or a lax policy could weaken a strict one.
    pub fn widened_by<'a>(
        &'a self,
        group: &'a GroupNeed,
        waited: Duration,
    ) -> impl Iterator<Item = (&'a BTreeSet<Role>, &'a BTreeSet<UserId>)> {
        self.escalation
            .iter()
            .zip(&self.escalation_asked_by)
            .filter(move |(step, asked_by)| {
                step.after <= waited && group.asked_by.is_subset(asked_by)
            })
            .filter_map(|(step, _)| match &step.action {
                EscalationAction::Widen { roles, people } => Some((roles, people)),
                EscalationAction::Notify { .. } | EscalationAction::Reassign(_) => None,
            })
    }

    /// Returns everyone who may fill `group` at that time.
    pub fn audience_after(&self, group: &GroupNeed, waited: Duration) -> Audience {
        let mut audience = Audience { roles: group.roles.clone(), people: group.people.clone() };
        for (roles, people) in self.widened_by(group, waited) {
            audience.roles.extend(roles.iter().cloned());
            audience.people.extend(people);
        }
        audience
    }
}

fn default_audience() -> Audience {
    Audience {
        roles: BTreeSet::from([Role::new(Role::REVIEWER), Role::new(Role::ADMIN)]),
        people: BTreeSet::new(),
    }
}

/// Merges the groups. Groups with the same audience become one with the higher `min`.
fn groups(matched: &[&Policy]) -> Vec<GroupNeed> {
    let mut needs: BTreeMap<Audience, (u32, BTreeSet<PolicyRef>)> = BTreeMap::new();
    let mut ask = |audience: Audience, min: u32, asked_by: Option<PolicyRef>| {
        let need = needs.entry(audience).or_default();
        // At least one person is always required, whatever an unvalidated document says.
        need.0 = need.0.max(min).max(1);
        need.1.extend(asked_by);
    };
    for policy in matched {
        for group in &policy.document.require {
            let audience = Audience { roles: group.roles.clone(), people: group.people.clone() };
            ask(audience, group.min, Some(policy.reference()));
        }
        // An empty requirement must not mean that no approval is needed.
        if policy.document.require.is_empty() {
            ask(default_audience(), 1, Some(policy.reference()));
        }
    }
    if matched.is_empty() {
        ask(default_audience(), 1, None);
    }
    needs
        .into_iter()
        .map(|(audience, (min, asked_by))| GroupNeed {
            roles: audience.roles,
            people: audience.people,
            min,
            asked_by,
        })
        .collect()
}

fn escalation(matched: &[&Policy]) -> Vec<(EscalationStep, BTreeSet<PolicyRef>)> {
    let mut steps: BTreeMap<&EscalationStep, BTreeSet<PolicyRef>> = BTreeMap::new();
    for policy in matched {
        for step in &policy.document.escalation {
            steps.entry(step).or_default().insert(policy.reference());
        }
    }
    steps
        .into_iter()
        .take(REQUIREMENT_ESCALATION_STEPS_MAX)
        .map(|(step, asked_by)| (step.clone(), asked_by))
        .collect()
}

#[cfg(test)]
#[path = "requirement_tests.rs"]
mod tests;
