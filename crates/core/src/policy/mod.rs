//! Policies: which tasks need whose approval. Documents are written in YAML or JSON and are
//! accepted or refused as a whole. Any number of matching policies merge into one [`Requirement`]
//! with the strictest value of each setting. Who fills a requirement, and whether it is met, is not
//! decided here.

mod cases;
mod clause;
mod difference;
mod document;
mod document_error;
mod hours;
mod matching;
mod node;
mod pattern;
mod period;
mod read;
mod reader;
mod requirement;
#[cfg(test)]
pub(crate) mod samples;
pub mod schema;
mod strictness;

pub use cases::{Case, CaseOutcome, Cases, Expected};
pub use clause::{AutoApproval, AutoRefusal, FailedCondition};
pub use difference::difference;
pub use document::{
    AutoApprove, DelegationRule, Document, EscalationAction, EscalationStep, Exempt, Group, Match,
    ReassignTo, WriteError,
};
pub use document_error::{DocumentError, DocumentErrors};
pub use hours::{Hours, HoursError, Weekday};
pub use matching::matching;
pub use pattern::{Pattern, PatternError};
pub use period::{PeriodError, text as period_text};
pub use requirement::{Audience, GroupNeed, Requirement, merge, requirement};
pub use strictness::{Strictness, compare};

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::actor::Role;
use crate::change::Origin;
use crate::ids::PolicyId;
use crate::resource::ResourceRef;
use crate::risk::Score;

/// The properties of a task that policies and delegations can refer to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    pub task_type: String,
    pub resources: BTreeSet<ResourceRef>,
    pub tags: BTreeSet<String>,
    pub risk: Score,
    pub author_kind: AuthorKind,
    pub author_roles: BTreeSet<Role>,
    pub origin: Origin,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AuthorKind {
    User,
    Agent,
}

/// One published version. An edit creates the next one; this one is kept because tasks were judged
/// by it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    pub id: PolicyId,
    pub version: u32,
    pub document: Document,
}

impl Policy {
    pub fn reference(&self) -> PolicyRef {
        PolicyRef { id: self.id, version: self.version }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PolicyRef {
    pub id: PolicyId,
    pub version: u32,
}

impl fmt::Display for PolicyRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} version {}", self.id, self.version)
    }
}
