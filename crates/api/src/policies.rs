//! Policies, their versions and drafts, and what a draft would have changed.

use ade_core::ids::{PolicyDraftId, PolicyId, TaskId, UserId};
use ade_core::policy::Strictness;
use ade_core::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::problem::NextAction;
use crate::schema;
use crate::tasks::{Effect, RiskAssessment};

/// A policy document as its author wrote it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewDraft {
    /// The policy in YAML or JSON.
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

/// The earlier version to restore.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PolicyRollback {
    #[schema(minimum = 1)]
    pub version: u32,
    #[schema(min_length = 1, max_length = 4096)]
    pub reason: String,
}

/// A version, and the two people who made and published it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PolicyVersionShown {
    #[schema(value_type = schema::PolicyId)]
    pub policy_id: PolicyId,
    pub version: u32,
    pub name: String,
    pub enabled: bool,
    #[schema(value_type = Object)]
    pub document: Value,
    /// The same document as YAML, to be edited and proposed again.
    pub yaml: String,
    #[schema(value_type = schema::UserId)]
    pub proposed_by: UserId,
    /// The admin who published it; missing if it needed no second admin, which is possible in setup
    /// and in a tenant with one admin.
    #[schema(value_type = Option<schema::UserId>)]
    pub confirmed_by: Option<UserId>,
    #[schema(value_type = schema::Timestamp)]
    pub published_at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PolicyHistory {
    /// The versions, newest first.
    pub items: Vec<PolicyVersionShown>,
}

/// A change that one admin proposes and another publishes. In setup and in a tenant with one admin,
/// its proposer publishes it: see `publication`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PolicyDraft {
    #[schema(value_type = schema::PolicyDraftId)]
    pub id: PolicyDraftId,
    #[schema(value_type = schema::PolicyId)]
    pub policy_id: PolicyId,
    /// The version it is based on; 0 for a new policy.
    pub base_version: u32,
    /// True if another version has been published since: propose the change again.
    pub is_stale: bool,
    pub name: String,
    #[schema(value_type = Object)]
    pub document: Value,
    pub yaml: String,
    /// The differences from the active version, by field.
    pub changes: Vec<FieldChange>,
    pub reason: Option<String>,
    #[schema(value_type = schema::UserId)]
    pub proposed_by: UserId,
    #[schema(value_type = schema::Timestamp)]
    pub proposed_at: Timestamp,
    /// What happens when the person who proposed it publishes it.
    pub publication: DraftPublication,
    /// `published` or `withdrawn`, once it is closed.
    pub outcome: Option<String>,
    pub next_action: NextAction,
}

/// What happens when the person who proposed a draft publishes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum DraftPublication {
    /// It is refused: another admin must publish the draft.
    SecondAdmin,
    /// The draft takes effect at once: the tenant is in setup, or has one admin and the draft makes
    /// no approval easier.
    AtOnce,
    /// The draft becomes a pending change, which takes effect after 24 hours unless someone
    /// objects: the tenant has one admin, and the draft makes approvals easier.
    AfterWait,
    /// The draft already waits as a pending change.
    Waiting,
    /// The draft is closed.
    Closed,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct FieldChange {
    /// The path of the field, like `require[0].min`; empty for the whole document.
    pub path: String,
    pub before: Option<Value>,
    pub after: Option<Value>,
}

/// The document or the draft to replay.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Replay {
    #[serde(default)]
    #[schema(max_length = 65536)]
    pub document: Option<String>,
    #[serde(default)]
    #[schema(value_type = Option<schema::PolicyDraftId>)]
    pub draft_id: Option<PolicyDraftId>,
    #[serde(default = "default_days")]
    #[schema(minimum = 1, maximum = 90, default = 30)]
    pub days: u32,
}

fn default_days() -> u32 {
    ade_core::limits::REPLAY_DAYS_DEFAULT
}

/// The results that recently submitted tasks would have had. Nothing was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Replayed {
    pub days: u32,
    pub examined: u64,
    /// True if there were more tasks than one replay examines.
    pub is_cut: bool,
    pub same: u64,
    pub stricter: u64,
    pub looser: u64,
    pub mixed: u64,
    /// The number of tasks that would now be auto-approved and were not before.
    pub without_a_person: u64,
    /// The tasks with different results: first newly auto-approved ones, then looser, mixed and
    /// stricter ones.
    pub tasks: Vec<ReplayedTask>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ReplayedTask {
    #[schema(value_type = schema::TaskId)]
    pub task_id: TaskId,
    pub number: i64,
    pub title: String,
    #[schema(value_type = schema::Strictness)]
    pub verdict: Strictness,
    pub without_a_person: bool,
    /// The previous and the new requirement.
    pub before: String,
    pub after: String,
}

/// What would happen to a task that has not been proposed. Nothing was written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Evaluation {
    pub effect: Effect,
    pub risk: RiskAssessment,
    pub would_pass_without_a_person: bool,
    pub explanation: crate::explain::Explanation,
}
