//! Requests to reviewers and their answers. A vote names the revision and the digest its author
//! had on screen; anything else is refused.

use ade_core::approval::{Answer, Status};
use ade_core::change::Digest;
use ade_core::ids::{ApprovalId, TaskId, UserId};
use ade_core::task::State;
use ade_core::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::schema;
use crate::tasks::{Risk, TaskSummary};

/// One reviewer's request on one revision.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Approval {
    #[schema(value_type = schema::ApprovalId)]
    pub id: ApprovalId,
    #[schema(value_type = schema::UserId)]
    pub reviewer: UserId,
    #[schema(value_type = schema::ApprovalStatus)]
    pub status: Status,
    /// The revision it asks about.
    pub revision: u32,
    #[schema(value_type = schema::Timestamp)]
    pub requested_at: Timestamp,
    #[schema(value_type = schema::Timestamp)]
    pub due_at: Timestamp,
    pub overdue: bool,
    /// Whose seats the reviewer may fill, and by which way they came to each.
    #[schema(value_type = Vec<Object>)]
    pub places: Vec<Value>,
    /// Its place in the queue: higher is looked at first.
    pub score: u32,
    pub task: AskedTask,
}

/// A page of requests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Inbox {
    pub items: Vec<Approval>,
    /// Hand it back as `page_token` for the next page; absent on the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_page_token: Option<String>,
    /// Hand it back as `since_version` to see nothing older the next time. Only for whoever sent
    /// one, and absent while something is on its way: then ask without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u64>,
}

/// As much of a task as a queue shows. Who decides loads the task: a vote needs its digest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AskedTask {
    #[schema(value_type = schema::TaskId)]
    pub id: TaskId,
    pub number: i64,
    pub title: String,
    #[serde(rename = "type")]
    pub task_type: String,
    #[schema(value_type = schema::State)]
    pub state: State,
    pub risk: Risk,
    #[schema(maximum = 100)]
    pub priority: u8,
    #[schema(value_type = schema::UserId)]
    pub author: UserId,
}

/// What the reviewer decides about, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewVote {
    /// The revision on screen.
    #[schema(minimum = 1)]
    pub revision: u32,
    /// The digest on screen.
    #[schema(value_type = schema::Digest)]
    pub digest: Digest,
    /// Needed to reject and to request changes.
    #[serde(default)]
    #[schema(max_length = 4096)]
    pub reason: Option<String>,
}

/// The answer to a vote, and its receipt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Voted {
    #[schema(value_type = schema::VoteAnswer)]
    pub answer: Answer,
    /// False if the review had ended before the vote arrived: kept, told, never counted.
    pub effectual: bool,
    /// The state the task is in now.
    #[schema(value_type = schema::State)]
    pub state: State,
    /// The id of the audit leaf that records it.
    pub receipt: String,
    pub task: TaskSummary,
    pub next_action: String,
}

/// One immutable answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Vote {
    #[schema(value_type = schema::UserId)]
    pub voter: UserId,
    #[schema(value_type = schema::VoteAnswer)]
    pub answer: Answer,
    pub revision: u32,
    #[schema(value_type = schema::Digest)]
    pub digest: Digest,
    pub reason: Option<String>,
    #[schema(value_type = schema::Timestamp)]
    pub at: Timestamp,
    pub effectual: bool,
    pub withdrawn: bool,
    /// The revision it was first given on, if an identical effect carried it over.
    pub carried_from: Option<u32>,
}

/// Everybody who was asked about a task, and every answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TaskApprovals {
    pub approvals: Vec<Approval>,
    pub votes: Vec<Vote>,
}
