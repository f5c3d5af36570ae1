//! Batches of votes: all of them are recorded, or none.

use ade_core::change::Digest;
use ade_core::ids::{ApprovalId, TaskId};
use ade_core::task::State;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::problem::NextAction;
use crate::schema;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum BatchAction {
    Approve,
    Reject,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewBatch {
    pub action: BatchAction,
    /// Required to reject.
    #[serde(default)]
    #[schema(max_length = 4096)]
    pub reason: Option<String>,
    /// Requests for tasks with the same `shape`.
    #[schema(min_items = 1, max_items = 200)]
    pub items: Vec<BatchItem>,
    /// Moves the tasks to the front of the apply queue; locks and a permit are still required.
    #[serde(default)]
    pub apply_immediately: bool,
    /// Always refused if true: permission, digest and drift checks cannot be skipped.
    #[serde(default)]
    pub skip_validation: bool,
}

/// An approval request, and what the reviewer saw.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BatchItem {
    #[schema(value_type = schema::ApprovalId)]
    pub approval_id: ApprovalId,
    #[schema(minimum = 1)]
    pub revision: u32,
    #[schema(value_type = schema::Digest)]
    pub digest: Digest,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BatchAnswer {
    /// False for a dry run.
    pub is_written: bool,
    pub items: Vec<BatchVerdict>,
    pub next_action: NextAction,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BatchVerdict {
    #[schema(value_type = schema::ApprovalId)]
    pub approval_id: ApprovalId,
    #[schema(value_type = schema::TaskId)]
    pub task_id: TaskId,
    /// The state of the task afterwards, or the state it would have.
    #[schema(value_type = Option<schema::State>)]
    pub state: Option<State>,
    /// Why the item is refused; the other items could proceed without it.
    pub refusal: Option<String>,
}
