//! Tasks as they are proposed, changed and shown. What the server computes (state, risk, digest,
//! author) is only ever in answers.

use std::collections::BTreeSet;

use ade_core::change::{ChangeKind, Digest, Origin};
use ade_core::ids::{AgentId, TaskId, UserId};
use ade_core::resource::ResourceRef;
use ade_core::risk::Level;
use ade_core::task::State;
use ade_core::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::schema;

/// A proposal. Its effect, digest and risk are computed by the server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewTask {
    #[schema(min_length = 1, max_length = 200, example = "Add a currency to orders")]
    pub title: String,
    /// Decides which executor previews it, for example `sql.change`.
    #[serde(rename = "type")]
    #[schema(min_length = 1, max_length = 128, example = "sql.change")]
    pub task_type: String,
    /// What the executor needs to know.
    #[schema(value_type = Object)]
    pub parameters: Value,
    #[schema(min_items = 1, max_items = 64)]
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
    /// How long applying it may take, from begin on; without it, what the tenant has.
    #[serde(default)]
    #[schema(minimum = 1, maximum = 86_400)]
    pub timeout_seconds: Option<u32>,
    /// What is to be done if that fails half way.
    #[serde(default)]
    pub rollback: Rollback,
    /// The changes as the author states them, for types that no executor previews.
    #[serde(default)]
    pub plan: Option<Plan>,
}

fn default_priority() -> u8 {
    50
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum RollbackStrategy {
    /// Whoever applies it takes it back, on failure and when time is up.
    Automatic,
    /// A person does, in the steps given.
    Manual,
    #[default]
    None,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Rollback {
    pub strategy: RollbackStrategy,
    /// For `manual`, and only for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 4096)]
    pub steps: Option<String>,
}

/// A new content of a task: what is left out stays as it is.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(min_properties = 1)]
pub struct Amendment {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub parameters: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_items = 1, max_items = 64)]
    pub resources: Option<Vec<TouchedResource>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_items = 32)]
    pub tags: Option<BTreeSet<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<Plan>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TouchedResource {
    #[schema(value_type = schema::ResourceName)]
    pub resource: ResourceRef,
    /// How it is to be locked while the task is applied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    Exclusive,
    Shared,
}

impl Mode {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Exclusive => "exclusive",
            Self::Shared => "shared",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        [Self::Exclusive, Self::Shared].into_iter().find(|mode| mode.as_str() == text)
    }
}

/// Changes in the order in which they would be made.
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Value>,
}

/// What the task would do, as its executor saw it or as its author stated it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Effect {
    /// `observed`: a preview saw it. `declared`: somebody said so.
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
    #[schema(value_type = schema::Level)]
    pub level: Level,
}

/// A task as it stands. `version` grows with every change and is its entity tag.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Task {
    #[serde(flatten)]
    pub summary: TaskSummary,
    #[schema(value_type = Object)]
    pub parameters: Value,
    pub resources: Vec<TouchedResource>,
    pub tags: BTreeSet<String>,
    pub effect: Effect,
    /// How long applying it may take, from begin on.
    pub timeout_seconds: u32,
    pub rollback: Rollback,
    /// The ended task that this one takes up again.
    #[schema(value_type = Option<schema::TaskId>)]
    pub resubmits: Option<TaskId>,
    /// What can be done next, and by whom.
    pub next_action: String,
}

/// A task in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TaskSummary {
    #[schema(value_type = schema::TaskId)]
    pub id: TaskId,
    /// Counts up within the tenant.
    pub number: i64,
    pub title: String,
    #[serde(rename = "type")]
    pub task_type: String,
    #[schema(value_type = schema::State)]
    pub state: State,
    /// When it entered this state.
    #[schema(value_type = schema::Timestamp)]
    pub since: Timestamp,
    pub version: u64,
    pub revision: u32,
    /// What a vote binds to.
    #[schema(value_type = schema::Digest)]
    pub digest: Digest,
    pub risk: Risk,
    #[schema(maximum = 100)]
    pub priority: u8,
    #[schema(value_type = schema::UserId)]
    pub author: UserId,
    /// The agent that proposed it for its author.
    #[schema(value_type = Option<schema::AgentId>)]
    pub agent: Option<AgentId>,
    #[schema(value_type = Option<schema::UserId>)]
    pub submitter: Option<UserId>,
    pub team: Option<String>,
    pub ticket: Option<String>,
    #[schema(value_type = schema::Timestamp)]
    pub created_at: Timestamp,
    #[schema(value_type = schema::Timestamp)]
    pub updated_at: Timestamp,
    #[schema(value_type = Option<schema::Timestamp>)]
    pub closed_at: Option<Timestamp>,
}

/// The answer of a bounded wait: the task, and whether it moved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Watched {
    #[serde(flatten)]
    pub task: Task,
    /// True if nothing moved while the caller waited. Not an error: ask again.
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
    /// Later than it would end, and at most seven days from now.
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
    /// Who wrote it: `kind` is `user`, `agent` or `system`.
    #[schema(value_type = Object)]
    pub by: Value,
    pub text: String,
    #[schema(value_type = schema::Timestamp)]
    pub at: Timestamp,
}

/// What tells one revision of a task from another.
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
    /// Who made it, if it was an edit.
    #[schema(value_type = Option<schema::UserId>)]
    pub editor: Option<UserId>,
    #[schema(value_type = schema::Timestamp)]
    pub created_at: Timestamp,
}

/// One immutable content of a task.
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
    /// Newest first.
    pub items: Vec<RevisionHead>,
}

/// How the server rated a revision, factor by factor.
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
    /// Its weight in ten-thousandths.
    pub weight_bp: u16,
    /// Its share of the score, in ten-thousandths of a point.
    pub contribution_bp: u32,
    pub sentence: String,
}
