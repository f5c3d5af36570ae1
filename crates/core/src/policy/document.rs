//! The policy document that an admin writes, with its defaults and its canonical text. Parsing is
//! in `read`; a parsed document has passed every check, one built in code has not.

use std::collections::BTreeSet;
use std::time::Duration;

use serde::Serialize;
use thiserror::Error;

use super::hours::Hours;
use super::{AuthorKind, Pattern, period};
use crate::actor::Role;
use crate::ids::UserId;
use crate::limits::APPROVAL_VALID_FOR_DEFAULT;
use crate::risk::Score;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Document {
    pub name: String,
    pub enabled: bool,
    #[serde(rename = "match", skip_serializing_if = "Match::is_unconstrained")]
    pub matching: Match,
    /// The required groups, all of which must be met. It may be empty only with an
    /// `auto_approve_if`; then the default reviewers are asked whenever the clause does not hold.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub require: Vec<Group>,
    pub reject_threshold: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auto_approve_if: Option<AutoApprove>,
    /// The response time; `None` uses the one of the tenant.
    #[serde(serialize_with = "period::serialize_some", skip_serializing_if = "Option::is_none")]
    pub respond_within: Option<Duration>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub escalation: Vec<EscalationStep>,
    #[serde(serialize_with = "period::serialize")]
    pub approval_valid_for: Duration,
    pub delegation: DelegationRule,
    /// The minimum role age; with `None`, a role counts from the moment it is granted.
    #[serde(serialize_with = "period::serialize_some", skip_serializing_if = "Option::is_none")]
    pub role_age_min: Option<Duration>,
    #[serde(skip_serializing_if = "Exempt::is_empty")]
    pub exempt: Exempt,
}

/// The tasks that a policy applies to. An empty field matches everything; all given fields must
/// match.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Match {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub task_types: Vec<Pattern>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resource_patterns: Vec<Pattern>,
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub tags: BTreeSet<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub risk_at_least: Option<Score>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub author_kind: Option<AuthorKind>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hours: Option<Hours>,
}

/// `min` distinct humans who have one of the roles or are one of the people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Group {
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub roles: BTreeSet<Role>,
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub people: BTreeSet<UserId>,
    pub min: u32,
}

/// The conditions of an auto-approval: every given condition must hold, and at least one is given.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct AutoApprove {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub risk_below: Option<Score>,
    /// The author must have one of these roles.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub author_has_role: BTreeSet<Role>,
    /// Every resource of the task must match one of these patterns.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resources_in_scope: Vec<Pattern>,
    /// Not a condition: without it, a task whose effect was only declared never qualifies.
    pub accept_declared_effect: bool,
}

/// A step of the escalation; `after` counts from the opening of the review.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct EscalationStep {
    #[serde(serialize_with = "period::serialize")]
    pub after: Duration,
    #[serde(flatten)]
    pub action: EscalationAction,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EscalationAction {
    Notify {
        #[serde(skip_serializing_if = "BTreeSet::is_empty")]
        roles: BTreeSet<Role>,
        #[serde(skip_serializing_if = "BTreeSet::is_empty")]
        people: BTreeSet<UserId>,
    },
    Reassign(ReassignTo),
    Widen {
        #[serde(skip_serializing_if = "BTreeSet::is_empty")]
        roles: BTreeSet<Role>,
        #[serde(skip_serializing_if = "BTreeSet::is_empty")]
        people: BTreeSet<UserId>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ReassignTo {
    Delegate,
    Manager,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DelegationRule {
    Allowed,
    Forbidden,
}

/// Reviewers who are never asked under this policy.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Exempt {
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub roles: BTreeSet<Role>,
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub people: BTreeSet<UserId>,
}

impl Group {
    /// Describes the group as a requirement describes its own groups.
    pub fn in_words(&self) -> String {
        in_words(self.min, &self.roles, &self.people)
    }
}

pub(super) fn in_words(min: u32, roles: &BTreeSet<Role>, people: &BTreeSet<UserId>) -> String {
    let roles = roles.iter().map(|role| role.as_str().to_owned());
    let who: Vec<String> = roles.chain(people.iter().map(ToString::to_string)).collect();
    format!("{min} of {}", who.join(" or "))
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("policy `{name}` cannot be written as text: {why}")]
pub struct WriteError {
    name: String,
    why: String,
}

impl Document {
    /// Creates a document that matches every task and requires nothing yet, with the default
    /// periods.
    pub fn named(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            enabled: true,
            matching: Match::default(),
            require: Vec::new(),
            reject_threshold: 1,
            auto_approve_if: None,
            respond_within: None,
            escalation: Vec::new(),
            approval_valid_for: APPROVAL_VALID_FOR_DEFAULT,
            delegation: DelegationRule::Allowed,
            role_age_min: None,
            exempt: Exempt::default(),
        }
    }

    /// Raises the risk bound of the auto-approval clause to `floor`. A clause without a risk bound,
    /// and a policy without a clause, stay unchanged.
    #[must_use]
    pub fn widened_to(mut self, floor: Score) -> Self {
        if let Some(clause) = &mut self.auto_approve_if {
            clause.risk_below = clause.risk_below.map(|below| below.max(floor));
        }
        self
    }

    /// Returns a warning if the policy applies only by what the author of a task chooses.
    pub fn warning(&self) -> Option<String> {
        let Match { task_types, resource_patterns, tags, risk_at_least, author_kind, hours } =
            &self.matching;
        let is_chosen = !task_types.is_empty() || !tags.is_empty();
        let is_given = !resource_patterns.is_empty()
            || risk_at_least.is_some()
            || author_kind.is_some()
            || hours.is_some();
        (is_chosen && !is_given).then(|| {
            format!(
                "policy `{}` matches only by task type and tags, which the author of a task \
                 chooses: match resources or risk as well",
                self.name
            )
        })
    }

    /// Writes YAML for people: block style, with the fields in the order of the documentation.
    pub fn to_yaml(&self) -> Result<String, WriteError> {
        // A long name folded over lines is the same text to a parser, but hard to read.
        let style = serde_saphyr::ser_options! { prefer_block_scalars: false };
        serde_saphyr::to_string_with_options(self, style).map_err(|error| self.unwritable(&error))
    }

    /// Writes RFC 8785 JSON for digests and storage: equal documents have equal bytes.
    pub fn to_json(&self) -> Result<String, WriteError> {
        serde_json_canonicalizer::to_string(self).map_err(|error| self.unwritable(&error))
    }

    fn unwritable(&self, error: &dyn std::error::Error) -> WriteError {
        WriteError { name: self.name.clone(), why: error.to_string() }
    }
}

impl Match {
    fn is_unconstrained(&self) -> bool {
        *self == Self::default()
    }
}

impl Exempt {
    fn is_empty(&self) -> bool {
        self.roles.is_empty() && self.people.is_empty()
    }
}

#[cfg(test)]
#[path = "document_tests.rs"]
mod tests;
