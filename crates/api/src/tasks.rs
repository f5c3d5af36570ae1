//! Tasks as they are proposed, changed and shown. Values that the server computes (state, risk,
//! digest, author) are only in responses.

use std::collections::BTreeSet;

use ade_core::change::{ChangeKind, Digest, Origin};
use ade_core::ids::{AgentId, TaskId, UserId};
use ade_core::resource::ResourceRef;
use ade_core::risk::Level;
use ade_core::task::{DecisionOutcome, GateCode, State, SubState};
use ade_core::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

pub use crate::affected_rows::AffectedRows;
use crate::problem::NextAction;
use crate::resource_input;
pub use crate::resource_input::{Mode, TouchedResource, TouchedResourceInput};
use crate::schema;

/// A proposal. The server computes its effect, digest and risk.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewTask {
    #[schema(min_length = 1, max_length = 200, example = "Add a currency to orders")]
    pub title: String,
    /// The type, which determines the executor that previews the task, for example `sql.change`.
    #[serde(rename = "type")]
    #[schema(min_length = 1, max_length = 128, example = "sql.change")]
    pub task_type: String,
    /// The parameters for the executor.
    #[schema(value_type = Object)]
    pub parameters: Value,
    #[serde(deserialize_with = "resource_input::list")]
    #[schema(value_type = Vec<TouchedResourceInput>, min_items = 1, max_items = 64)]
    pub resources: Vec<TouchedResource>,
    #[serde(default)]
    #[schema(max_items = 32)]
    pub tags: BTreeSet<String>,
    /// 0 to 100: LOW below 25, NORMAL below 60, HIGH below 85, else URGENT.
    #[serde(default = "default_priority")]
    #[schema(minimum = 0, maximum = 100, default = 50)]
    pub priority: u8,
    #[serde(default)]
    #[schema(max_length = 128)]
    pub team: Option<String>,
    #[serde(default)]
    #[schema(max_length = 128, example = "OPS-1234")]
    pub ticket: Option<String>,
    /// The maximum time to apply, counted from begin; defaults to the tenant's setting.
    #[serde(default)]
    #[schema(minimum = 1, maximum = 86_400)]
    pub timeout_seconds: Option<u32>,
    /// What to do if the apply fails midway.
    #[serde(default)]
    pub rollback: Rollback,
    /// The changes as declared by the author, for types that no executor previews.
    #[serde(default)]
    pub plan: Option<Plan>,
    /// Submit the task for review at once, instead of keeping it as a draft.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub submit: bool,
}

fn default_priority() -> u8 {
    50
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum RollbackStrategy {
    /// The executor rolls the change back, on failure and on timeout.
    Automatic,
    /// A person rolls the change back, following the given steps.
    Manual,
    #[default]
    None,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Rollback {
    pub strategy: RollbackStrategy,
    /// Required for `manual`, and only allowed there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 4096)]
    pub steps: Option<String>,
}

/// New content of a task; omitted fields stay unchanged.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(min_properties = 1)]
pub struct Amendment {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub parameters: Option<Value>,
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "resource_input::some_list"
    )]
    #[schema(value_type = Option<Vec<TouchedResourceInput>>, min_items = 1, max_items = 64)]
    pub resources: Option<Vec<TouchedResource>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_items = 32)]
    pub tags: Option<BTreeSet<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<Plan>,
}

/// The changes in the order in which they would be made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    #[schema(max_items = 1000)]
    pub changes: Vec<Change>,
    #[serde(default)]
    #[schema(max_items = 100)]
    pub warnings: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Change {
    #[schema(value_type = schema::ResourceName)]
    pub resource: ResourceRef,
    #[schema(value_type = schema::ChangeKind)]
    pub action: ChangeKind,
    pub irreversible: bool,
    #[schema(max_length = 512)]
    pub summary: String,
    /// The rows of a table that the change touches; absent for other changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<AffectedRows>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Value>,
}

/// What the task would do, as its executor observed it or its author declared it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Effect {
    /// `observed`: a preview saw the effect. `declared`: the author stated it, or the preview does
    /// not prove it; the warnings say why.
    #[schema(value_type = schema::Origin)]
    pub origin: Origin,
    pub counts: Counts,
    pub changes: Vec<Change>,
    pub warnings: Vec<String>,
    pub errors: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Counts {
    pub adds: u32,
    pub changes: u32,
    pub removes: u32,
    pub irreversible: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Risk {
    #[schema(maximum = 100)]
    pub score: u8,
    #[serde(with = "crate::risk_level")]
    #[schema(value_type = schema::Level)]
    pub level: Level,
}

/// A task in its current state. `version` rises with every change and is its entity tag.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Task {
    #[serde(flatten)]
    pub summary: TaskSummary,
    #[schema(value_type = Object)]
    pub parameters: Value,
    pub resources: Vec<TouchedResource>,
    pub tags: BTreeSet<String>,
    pub effect: Effect,
    /// Equal for tasks with the same changes to different resources: a batch decides only those.
    #[schema(value_type = schema::Digest)]
    pub shape: Digest,
    /// The maximum time to apply, counted from begin.
    pub timeout_seconds: u32,
    pub rollback: Rollback,
    /// The ended task that this task resubmits.
    #[schema(value_type = Option<schema::TaskId>)]
    pub resubmission_of: Option<TaskId>,
    /// What the author should know. A warning prevents nothing.
    #[serde(default)]
    pub warnings: Vec<TaskWarning>,
    /// What can be done next, and by whom.
    pub next_action: NextAction,
}

/// A problem of a task that does not prevent its review.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TaskWarning {
    /// `not_capable`: no agent has the capability to apply tasks of this type.
    #[schema(value_type = schema::GateCode)]
    pub code: GateCode,
    pub message: String,
}

/// A task in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TaskSummary {
    #[schema(value_type = schema::TaskId)]
    pub id: TaskId,
    /// The number of the task within the tenant.
    pub number: i64,
    pub title: String,
    #[serde(rename = "type")]
    pub task_type: String,
    #[schema(value_type = schema::State)]
    pub state: State,
    /// A detail of the state: `CHANGES_REQUESTED` for a draft that a reviewer has returned,
    /// `RELEASED_TO_HOST` for a completed task whose result the agent's host has not reported.
    #[schema(value_type = Option<schema::SubState>)]
    pub sub_state: Option<SubState>,
    /// How the task was last decided; null before the first decision and while a review is open.
    pub decision: Option<TaskDecision>,
    /// The task is approved, has ended, or was returned to its author.
    pub is_decided: bool,
    /// The task has ended, unless a person retries, reconciles or resubmits it.
    pub is_final: bool,
    /// The page on which people review the task.
    #[schema(format = "uri")]
    pub url: String,
    /// When the task entered this state.
    #[schema(value_type = schema::Timestamp)]
    pub state_since: Timestamp,
    pub version: u64,
    pub revision: u32,
    /// The digest that a vote is bound to.
    #[schema(value_type = schema::Digest)]
    pub digest: Digest,
    pub risk: Risk,
    #[schema(maximum = 100)]
    pub priority: u8,
    #[schema(value_type = schema::UserId)]
    pub author_id: UserId,
    /// The agent that proposed the task for its author.
    #[schema(value_type = Option<schema::AgentId>)]
    pub agent_id: Option<AgentId>,
    #[schema(value_type = Option<schema::UserId>)]
    pub submitter_id: Option<UserId>,
    pub team: Option<String>,
    pub ticket: Option<String>,
    #[schema(value_type = schema::Timestamp)]
    pub created_at: Timestamp,
    #[schema(value_type = schema::Timestamp)]
    pub updated_at: Timestamp,
    #[schema(value_type = Option<schema::Timestamp>)]
    pub closed_at: Option<Timestamp>,
}

/// Who decided a task, how, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TaskDecision {
    #[schema(value_type = schema::DecisionOutcome)]
    pub outcome: DecisionOutcome,
    /// The reason that was given. It is never null for `rejected` and `changes_requested`.
    pub reason: Option<String>,
    /// The id of a person or an agent, or the name of a background worker.
    pub by: String,
    #[schema(value_type = schema::Timestamp)]
    pub at: Timestamp,
    /// The revision that was decided.
    pub revision: u32,
}

/// What a wait for a task ends with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum WaitUntil {
    /// The task is approved, has ended, or was returned to its author.
    Decided,
    /// The task has ended, or was returned to its author.
    Ended,
}

impl WaitUntil {
    pub const fn is_reached(self, task: &TaskSummary) -> bool {
        match self {
            Self::Decided => task.is_decided,
            Self::Ended => task.is_final || task.sub_state.is_some(),
        }
    }
}

/// The result of a bounded wait: the task, and whether it changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Watched {
    #[serde(flatten)]
    pub task: Task,
    /// True if the wait ended before the task changed, or before it was as `until` asks. Not an
    /// error: wait again.
    pub timed_out: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Cancellation {
    #[serde(default)]
    #[schema(max_length = 4096)]
    pub reason: Option<String>,
}

/// More time for a review.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Extension {
    /// The new end: later than the current one, and at most seven days from now.
    #[schema(value_type = schema::Timestamp)]
    pub until: Timestamp,
    #[schema(min_length = 1, max_length = 4096)]
    pub reason: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewComment {
    #[schema(min_length = 1, max_length = 4096)]
    pub text: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Comment {
    /// Who wrote the comment: `kind` is `user`, `agent` or `system`.
    #[schema(value_type = Object)]
    pub by: Value,
    pub text: String,
    #[schema(value_type = schema::Timestamp)]
    pub at: Timestamp,
}

/// The metadata of a revision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RevisionHead {
    pub revision: u32,
    #[schema(value_type = schema::Digest)]
    pub digest: Digest,
    #[serde(rename = "type")]
    pub task_type: String,
    pub risk: Risk,
    #[schema(value_type = schema::Origin)]
    pub origin: Origin,
    /// Who made the revision, if it was an edit.
    #[schema(value_type = Option<schema::UserId>)]
    pub editor_id: Option<UserId>,
    #[schema(value_type = schema::Timestamp)]
    pub created_at: Timestamp,
}

/// Immutable content of a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Revision {
    #[serde(flatten)]
    pub head: RevisionHead,
    #[schema(value_type = Object)]
    pub parameters: Value,
    pub resources: Vec<TouchedResource>,
    pub tags: BTreeSet<String>,
    pub effect: Effect,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Revisions {
    /// The revisions, newest first.
    pub items: Vec<RevisionHead>,
}

/// How the server rated a revision, by factor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RiskAssessment {
    pub revision: u32,
    #[serde(flatten)]
    pub risk: Risk,
    pub factors: Vec<Factor>,
    #[schema(value_type = schema::Timestamp)]
    pub assessed_at: Timestamp,
    /// The algorithm and its version.
    pub assessed_by: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Factor {
    pub name: String,
    #[schema(maximum = 100)]
    pub score: u8,
    /// The weight in basis points.
    pub weight_bp: u16,
    /// The contribution to the score, in ten-thousandths of a point.
    pub contribution_bp: u32,
    pub sentence: String,
}
