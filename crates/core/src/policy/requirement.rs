//! What all matching policies ask together: the strictest word of each wins, so one more
//! matching policy can only add. Fails closed: if none matches, the default reviewers are
//! asked. Who fills a group, and whether it is met, is not here.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::Serialize;

use super::clause::{self, AutoApproval};
use super::document::{DelegationRule, Document, EscalationAction, EscalationStep};
use super::{Policy, PolicyRef, Subject, matching, period};
use crate::actor::Role;
use crate::ids::UserId;
use crate::limits::{APPROVAL_VALID_FOR_DEFAULT, REQUIREMENT_ESCALATION_STEPS_MAX};
use crate::time::Timestamp;
use crate::times::ApprovalTimes;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Requirement {
    /// All of them must be met; never empty.
    pub groups: Vec<GroupNeed>,
    /// The lowest: fewer rejections are needed to stop the task.
    pub reject_threshold: u32,
    #[serde(serialize_with = "period::serialize")]
    pub respond_within: Duration,
    #[serde(serialize_with = "period::serialize")]
    pub approval_valid_for: Duration,
    /// The steps of all policies by `after`; the same step of two policies is one. If there are
    /// more than the bound, the earliest stay: the review then ends sooner, not later.
    pub escalation: Vec<EscalationStep>,
    /// Which policies ask for each step of `escalation`, in its order.
    pub escalation_asked_by: Vec<BTreeSet<PolicyRef>>,
    pub delegation: DelegationRule,
    /// The longest: how long somebody must have had a role for it to count.
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
    /// Empty for the default group of a task that no policy matches.
    pub asked_by: BTreeSet<PolicyRef>,
}

impl GroupNeed {
    /// `1 of sre or usr_…`.
    pub fn in_words(&self) -> String {
        in_words(self.min, &self.roles, &self.people)
    }
}

pub(super) fn in_words(min: u32, roles: &BTreeSet<Role>, people: &BTreeSet<UserId>) -> String {
    let roles = roles.iter().map(|role| role.as_str().to_owned());
    let who: Vec<String> = roles.chain(people.iter().map(ToString::to_string)).collect();
    format!("{min} of {}", who.join(" or "))
}

/// Those who may answer: whoever has one of the roles or is one of the people.
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
    times: &ApprovalTimes,
) -> Requirement {
    merge(&matching(policies, subject, now), subject, times)
}

/// What these policies ask together, whether or not they would match now: for the versions a
/// task was submitted under.
pub fn merge(policies: &[&Policy], subject: &Subject, times: &ApprovalTimes) -> Requirement {
    let mut matched = policies.to_vec();
    // One order and no repetition, whatever the caller handed in.
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
            .map(|document| times.respond_within(document.respond_within))
            .min()
            .unwrap_or(times.respond_within(None)),
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
    /// `2 of dba and 1 of sre or usr_…, by roles that are 1d old`.
    pub fn in_words(&self) -> String {
        let groups: Vec<String> = self.groups.iter().map(GroupNeed::in_words).collect();
        let age =
            self.role_age_min.map(|age| format!(", by roles that are {} old", period::text(age)));
        format!("{}{}", groups.join(" and "), age.unwrap_or_default())
    }

    /// Who may fill `group` besides its own audience when the review has been open for `waited`.
    /// A step widens only what its own policies ask: a group that another policy asks for as well
    /// stays as it is, or a lax policy could open a strict one.
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

    /// Everybody who may fill `group` then.
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

/// Groups of one audience are one need with the higher `min`.
fn groups(matched: &[&Policy]) -> Vec<GroupNeed> {
    let mut needs: BTreeMap<Audience, (u32, BTreeSet<PolicyRef>)> = BTreeMap::new();
    let mut ask = |audience: Audience, min: u32, asked_by: Option<PolicyRef>| {
        let need = needs.entry(audience).or_default();
        // Nobody is never enough, whatever a document that was not read here says.
        need.0 = need.0.max(min).max(1);
        need.1.extend(asked_by);
    };
    for policy in matched {
        for group in &policy.document.require {
            let audience = Audience { roles: group.roles.clone(), people: group.people.clone() };
            ask(audience, group.min, Some(policy.reference()));
        }
        // Asking nobody must not mean that nobody needs to agree.
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
