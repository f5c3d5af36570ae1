//! Policies, their versions and drafts, and what a draft would have changed.

use ade_core::ids::{PolicyDraftId, PolicyId, TaskId, UserId};
use ade_core::policy::Strictness;
use ade_core::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::schema;
use crate::tasks::{Effect, RiskAssessment};

/// A document as somebody wrote it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewDraft {
    /// The policy in YAML, or in JSON, which is YAML too.
    #[schema(
        min_length = 1,
        max_length = 65536,
        example = "name: databases\nrequire: [{roles: [dba], min: 2}]"
    )]
    pub document: String,
    #[serde(default)]
    #[schema(max_length = 4096)]
    pub reason: Option<String>,
}

/// Which earlier version is to come back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PolicyRollback {
    #[schema(minimum = 1)]
    pub version: u32,
    #[schema(min_length = 1, max_length = 4096)]
    pub reason: String,
}

/// A version, and the two who made it one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PolicyVersionShown {
    #[schema(value_type = schema::PolicyId)]
    pub policy: PolicyId,
    pub version: u32,
    pub name: String,
    pub enabled: bool,
    #[schema(value_type = Object)]
    pub document: Value,
    /// The same in YAML, to be edited and proposed again.
    pub yaml: String,
    #[schema(value_type = schema::UserId)]
    pub proposed_by: UserId,
    #[schema(value_type = schema::UserId)]
    pub confirmed_by: UserId,
    #[schema(value_type = schema::Timestamp)]
    pub published_at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PolicyHistory {
    /// Newest first.
    pub items: Vec<PolicyVersionShown>,
}

/// What one admin proposes and another publishes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PolicyDraft {
    #[schema(value_type = schema::PolicyDraftId)]
    pub id: PolicyDraftId,
    #[schema(value_type = schema::PolicyId)]
    pub policy: PolicyId,
    /// The version it was written against; 0 for a new policy.
    pub base_version: u32,
    /// Somebody has published another version meanwhile: propose it again.
    pub is_stale: bool,
    pub name: String,
    #[schema(value_type = Object)]
    pub document: Value,
    pub yaml: String,
    /// Field by field against the version in force.
    pub changes: Vec<FieldChange>,
    pub reason: Option<String>,
    #[schema(value_type = schema::UserId)]
    pub proposed_by: UserId,
    #[schema(value_type = schema::Timestamp)]
    pub proposed_at: Timestamp,
    /// `published` or `withdrawn`, once it is closed.
    pub outcome: Option<String>,
    pub next_action: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct FieldChange {
    /// Like `require[0].min`; empty for the whole document.
    pub path: String,
    pub before: Option<Value>,
    pub after: Option<Value>,
}

/// What is to be replayed: a document, or a draft.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Replay {
    #[serde(default)]
    #[schema(max_length = 65536)]
    pub document: Option<String>,
    #[serde(default)]
    #[schema(value_type = Option<schema::PolicyDraftId>)]
    pub draft: Option<PolicyDraftId>,
    #[serde(default = "default_days")]
    #[schema(minimum = 1, maximum = 90, default = 30)]
    pub days: u32,
}

fn default_days() -> u32 {
    ade_core::limits::REPLAY_DAYS_DEFAULT
}

/// How the tasks handed in lately would have fared. Nothing was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Replayed {
    pub days: u32,
    pub examined: u64,
    /// There were more than one replay looks at.
    pub is_cut: bool,
    pub same: u64,
    pub stricter: u64,
    pub looser: u64,
    pub mixed: u64,
    /// Would now pass without a person, and did not before.
    pub without_a_person: u64,
    /// Those that differ: first the ones without a person, then looser, mixed, stricter.
    pub tasks: Vec<ReplayedTask>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ReplayedTask {
    #[schema(value_type = schema::TaskId)]
    pub id: TaskId,
    pub number: i64,
    pub title: String,
    #[schema(value_type = schema::Strictness)]
    pub verdict: Strictness,
    pub without_a_person: bool,
    /// What was asked for, and what would be.
    pub before: String,
    pub after: String,
}

/// What would happen to a task that is not proposed yet. Nothing was written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Simulated {
    pub effect: Effect,
    pub risk: RiskAssessment,
    pub would_pass_without_a_person: bool,
    pub explanation: crate::explain::Explanation,
}
