//! What an admin writes: the policy document, its defaults and its canonical text. Reading one
//! is in `read`; a document that was read has passed every check, one built in code has not.

use std::collections::BTreeSet;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize};
use thiserror::Error;

use super::hours::Hours;
use super::node::Node;
use super::reader::DocumentErrors;
use super::requirement::in_words;
use super::{AuthorKind, Pattern, node, period, read};
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
    /// All of them must be met. Empty only beside an `auto_approve_if`, and then the default
    /// reviewers are asked whenever the clause does not hold.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub require: Vec<Group>,
    pub reject_threshold: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auto_approve_if: Option<AutoApprove>,
    /// Without one, what the tenant has.
    #[serde(serialize_with = "period::serialize_some", skip_serializing_if = "Option::is_none")]
    pub respond_within: Option<Duration>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub escalation: Vec<EscalationStep>,
    #[serde(serialize_with = "period::serialize")]
    pub approval_valid_for: Duration,
    pub delegation: DelegationRule,
    /// Without one, a role counts from the moment it is given.
    #[serde(serialize_with = "period::serialize_some", skip_serializing_if = "Option::is_none")]
    pub role_age_min: Option<Duration>,
    #[serde(skip_serializing_if = "Exempt::is_empty")]
    pub exempt: Exempt,
}

/// Which tasks a policy speaks about. What is left empty constrains nothing; everything that
/// is given must hold.
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

/// When nobody needs to be asked: every condition that is given must hold, and at least one is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct AutoApprove {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub risk_below: Option<Score>,
    /// Any of them.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub author_has_role: BTreeSet<Role>,
    /// Every resource of the task must match one of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resources_in_scope: Vec<Pattern>,
    /// Not a condition: without it a task whose effect somebody only declared never qualifies.
    pub accept_declared_effect: bool,
}

/// `after` runs from the opening of the review.
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
    /// As a requirement tells its own groups.
    pub fn in_words(&self) -> String {
        in_words(self.min, &self.roles, &self.people)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("policy `{name}` has no text form: {why}")]
pub struct WriteError {
    name: String,
    why: String,
}

impl Document {
    /// Matches every task and asks for nothing yet; the periods are the product's defaults.
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

    pub fn parse_yaml(text: &str) -> Result<Self, DocumentErrors> {
        read::document(node::from_yaml(text, node::POLICY_ROOM)?)
    }

    pub fn parse_json(text: &str) -> Result<Self, DocumentErrors> {
        read::document(node::from_json(text)?)
    }

    /// With the clause that lets tasks pass covering everything below `floor`. One that does not
    /// speak of risk, and a policy without a clause, stay as they are.
    #[must_use]
    pub fn widened_to(mut self, floor: Score) -> Self {
        if let Some(clause) = &mut self.auto_approve_if {
            clause.risk_below = clause.risk_below.map(|below| below.max(floor));
        }
        self
    }

    /// For people: block style, fields in the order of the documentation.
    pub fn to_yaml(&self) -> Result<String, WriteError> {
        // A long name folded over lines is the same text to a parser and a puzzle to a reader.
        let style = serde_saphyr::ser_options! { prefer_block_scalars: false };
        serde_saphyr::to_string_with_options(self, style).map_err(|error| self.unwritable(&error))
    }

    /// For digests and storage: RFC 8785, so equal documents are equal bytes.
    pub fn to_json(&self) -> Result<String, WriteError> {
        serde_json_canonicalizer::to_string(self).map_err(|error| self.unwritable(&error))
    }

    fn unwritable(&self, error: &dyn std::error::Error) -> WriteError {
        WriteError { name: self.name.clone(), why: error.to_string() }
    }
}

/// Through the same reader as text from people: what a database hands back is checked too.
impl<'de> Deserialize<'de> for Document {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let root = Node::deserialize(deserializer)?;
        read::document(root).map_err(serde::de::Error::custom)
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
