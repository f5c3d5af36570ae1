//! Many answers at once: all of them are written, or none.

use ade_core::change::Digest;
use ade_core::ids::{ApprovalId, TaskId};
use ade_core::task::State;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

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
    /// Needed to reject.
    #[serde(default)]
    #[schema(max_length = 4096)]
    pub reason: Option<String>,
    #[schema(min_items = 1, max_items = 200)]
    pub items: Vec<BatchItem>,
    /// To the front of the apply queue; locks and permit are still needed.
    #[serde(default)]
    pub apply_immediately: bool,
    /// Known only to be refused: permission, digest and drift checks cannot be skipped.
    #[serde(default)]
    pub skip_validation: bool,
}

/// A request, and what the reviewer had on screen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BatchItem {
    #[schema(value_type = schema::ApprovalId)]
    pub approval: ApprovalId,
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
    pub next_action: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BatchVerdict {
    #[schema(value_type = schema::ApprovalId)]
    pub approval: ApprovalId,
    #[schema(value_type = schema::TaskId)]
    pub task: TaskId,
    /// The state the task is in afterwards, or would be.
    #[schema(value_type = Option<schema::State>)]
    pub state: Option<State>,
    /// Why this item is refused; the others could go on without it.
    pub refusal: Option<String>,
}
