//! Figures about work: of a reviewer, of a task, and of the whole tenant.

use std::collections::BTreeMap;

use ade_core::ids::{TaskId, UserId};
use ade_core::task::State;
use ade_core::time::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::schema;

/// The statistics of a reviewer. Days are in UTC.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ReviewerStats {
    #[schema(value_type = schema::UserId)]
    pub user_id: UserId,
    /// The day, like `2026-03-18`.
    pub day: String,
    pub pending_count: u64,
    /// The number of overdue requests among them.
    pub overdue_count: u64,
    pub approved_today: u64,
    pub rejected_today: u64,
    /// The average number of seconds from request to answer, over the last thirty days; absent
    /// without answers.
    pub avg_response_seconds: Option<f64>,
    #[schema(value_type = Option<schema::Timestamp>)]
    pub last_action_at: Option<Timestamp>,
}

/// The state of a task's review under the current policies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TaskStats {
    #[schema(value_type = schema::TaskId)]
    pub task_id: TaskId,
    #[schema(value_type = schema::State)]
    pub state: State,
    /// The number of different people who must approve.
    pub required_count: u32,
    pub approved_count: u32,
    pub rejected_count: u32,
    /// The number of open requests.
    pub pending_count: u32,
    pub quorum_reached: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Overview {
    #[schema(value_type = schema::Timestamp)]
    pub as_of: Timestamp,
    /// The tasks that are not closed, by state.
    pub open_tasks: Vec<StateCount>,
    pub pending_approvals: Count,
    pub overdue_approvals: Count,
    /// The override reviews that are due.
    pub after_reviews_owed: Count,
    /// The days, oldest first, including days without activity.
    pub days: Vec<DayStats>,
    /// The number of events of each kind in the last 24 full hours and the current one.
    #[serde(default)]
    pub rates: BTreeMap<String, u64>,
}

/// Which reviewers approve whose tasks. Two accounts of the same person count as one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Pairs {
    #[schema(value_type = schema::Timestamp)]
    pub as_of: Timestamp,
    /// The number of days counted.
    pub days: u32,
    /// The notable pairs first, then by number of approvals.
    pub pairs: Vec<Pair>,
    /// True if there were more approvals than were counted.
    pub is_more: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Pair {
    /// The person who proposed the tasks, or for whom an agent did.
    #[schema(value_type = schema::UserId)]
    pub author_id: UserId,
    #[schema(value_type = schema::UserId)]
    pub reviewer_id: UserId,
    /// The number of the author's tasks that the reviewer approved.
    pub approvals: u64,
    /// The number of the author's tasks that anyone approved.
    pub of: u64,
    /// True if the pair is frequent and nearly exclusive although others review as well.
    pub stands_out: bool,
}

/// A count with an upper bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Count {
    pub count: u64,
    /// True if the bound was reached.
    pub is_more: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct StateCount {
    #[schema(value_type = schema::State)]
    pub state: State,
    #[serde(flatten)]
    pub count: Count,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DayStats {
    /// The day in UTC, like `2026-03-18`.
    pub day: String,
    /// The number of tasks that entered each state.
    pub entered: BTreeMap<String, u64>,
    /// The number of times each action was recorded in the audit log.
    pub actions: BTreeMap<String, u64>,
}
