//! Approval requests and votes. A vote names the revision and the digest that the reviewer saw; a
//! vote for any other revision is refused.

use std::collections::BTreeSet;

use ade_core::approval::{Answer, ApprovalStatus, VoteMark};
use ade_core::change::Digest;
use ade_core::ids::{ApprovalId, TaskId, UserId};
use ade_core::task::State;
use ade_core::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::problem::NextAction;
use crate::schema;
use crate::tasks::{Risk, TaskSummary};

/// A reviewer's approval request for one revision.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Approval {
    #[schema(value_type = schema::ApprovalId)]
    pub id: ApprovalId,
    #[schema(value_type = schema::UserId)]
    pub reviewer_id: UserId,
    #[schema(value_type = schema::ApprovalStatus)]
    pub status: ApprovalStatus,
    /// The revision to approve.
    pub revision: u32,
    #[schema(value_type = schema::Timestamp)]
    pub requested_at: Timestamp,
    #[schema(value_type = schema::Timestamp)]
    pub due_at: Timestamp,
    pub overdue: bool,
    /// The reviewer slots that this person can fill, and how each was assigned to them.
    #[schema(value_type = Vec<Object>)]
    pub seats: Vec<Value>,
    /// The sort key of the queue; higher comes first.
    pub urgency: u32,
    pub task: AskedTask,
}

/// A page of approval requests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Inbox {
    pub items: Vec<Approval>,
    /// Send it as `page_token` to get the next page; absent on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_page_token: Option<String>,
    /// Send it as `since_version` to never see an older state. Present only if the request had
    /// `since_version`, and absent while changes are pending; then repeat the request without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u64>,
}

/// The part of a task that a queue shows.
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
    /// The digest that a vote on the current revision names.
    #[schema(value_type = schema::Digest)]
    pub digest: Digest,
    #[schema(maximum = 100)]
    pub priority: u8,
    #[schema(value_type = schema::UserId)]
    pub author_id: UserId,
}

/// The decision of a reviewer: what it refers to, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewVote {
    /// The revision that the reviewer saw.
    #[schema(minimum = 1)]
    pub revision: u32,
    /// The digest that the reviewer saw.
    #[schema(value_type = schema::Digest)]
    pub digest: Digest,
    /// Required to reject and to request changes.
    #[serde(default)]
    #[schema(max_length = 4096)]
    pub reason: Option<String>,
}

/// The result of a vote, and its receipt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Voted {
    #[schema(value_type = schema::VoteAnswer)]
    pub answer: Answer,
    /// False if the review had ended before the vote arrived: the vote is recorded but not counted.
    pub counted: bool,
    /// The current state of the task.
    #[schema(value_type = schema::State)]
    pub state: State,
    /// The id of the audit entry that records the vote.
    pub receipt: String,
    pub task: TaskSummary,
    pub next_action: NextAction,
}

/// An immutable vote.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Vote {
    #[schema(value_type = schema::UserId)]
    pub voter_id: UserId,
    #[schema(value_type = schema::VoteAnswer)]
    pub answer: Answer,
    pub revision: u32,
    #[schema(value_type = schema::Digest)]
    pub digest: Digest,
    pub reason: Option<String>,
    #[schema(value_type = schema::Timestamp)]
    pub at: Timestamp,
    pub counted: bool,
    pub withdrawn: bool,
    /// The revision that the vote was first given on, if it was carried over because the effect is
    /// identical.
    pub carried_from: Option<u32>,
    /// Reservations about the authority of the voter at the time of the vote.
    #[serde(default)]
    #[schema(value_type = BTreeSet<schema::VoteMark>)]
    pub marks: BTreeSet<VoteMark>,
}

/// All approval requests and votes of a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TaskApprovals {
    pub approvals: Vec<Approval>,
    pub votes: Vec<Vote>,
}
