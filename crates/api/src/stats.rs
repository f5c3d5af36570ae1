//! Figures about work: of a reviewer, of a task, and of the whole tenant.

use std::collections::BTreeMap;

use ade_core::ids::{TaskId, UserId};
use ade_core::task::State;
use ade_core::time::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::schema;

/// How one reviewer stands. Days are UTC.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ReviewerStats {
    #[schema(value_type = schema::UserId)]
    pub user: UserId,
    /// Like `2026-03-18`.
    pub day: String,
    pub pending_count: u64,
    /// Those of them that should have been answered by now.
    pub overdue_count: u64,
    pub approved_today: u64,
    pub rejected_today: u64,
    /// Seconds from being asked to the answer, over the last thirty days; absent without any.
    pub avg_response_time: Option<f64>,
    #[schema(value_type = Option<schema::Timestamp>)]
    pub last_action_at: Option<Timestamp>,
}

/// How a task's review stands, under the rules of now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TaskStats {
    #[schema(value_type = schema::TaskId)]
    pub task: TaskId,
    #[schema(value_type = schema::State)]
    pub state: State,
    /// Distinct people who must agree.
    pub required_count: u32,
    pub approved_count: u32,
    pub rejected_count: u32,
    /// Requests that wait for an answer.
    pub pending_count: u32,
    pub quorum_reached: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Overview {
    #[schema(value_type = schema::Timestamp)]
    pub as_of: Timestamp,
    /// Tasks that are not closed, by state.
    pub open_tasks: Vec<StateCount>,
    pub pending_approvals: Count,
    pub overdue_approvals: Count,
    /// Reviews that overrides owe.
    pub after_reviews_owed: Count,
    /// Oldest first; a day on which nothing happened is there, too.
    pub days: Vec<DayStats>,
    /// How often each kind of event happened in the last 24 whole hours and the one that runs.
    #[serde(default)]
    pub rates: BTreeMap<String, u64>,
}

/// Who agrees with whom. Two accounts of one human are one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Pairs {
    #[schema(value_type = schema::Timestamp)]
    pub as_of: Timestamp,
    /// How many days back.
    pub days: u32,
    /// Those that stand out first, then by how often.
    pub pairs: Vec<Pair>,
    /// There were more approvals than were counted.
    pub is_more: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Pair {
    /// Who proposed, or for whom an agent did.
    #[schema(value_type = schema::UserId)]
    pub author: UserId,
    #[schema(value_type = schema::UserId)]
    pub reviewer: UserId,
    /// Tasks of the author that the reviewer agreed to.
    pub approvals: u64,
    /// Tasks of the author that anybody agreed to.
    pub of: u64,
    /// Often, and nearly always the same two, although others review as well.
    pub stands_out: bool,
}

/// Counted up to a bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Count {
    pub count: u64,
    /// There are at least as many.
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
    /// Like `2026-03-18`, UTC.
    pub day: String,
    /// How many tasks entered each state.
    pub entered: BTreeMap<String, u64>,
    /// How often each action was done, as the audit names it.
    pub actions: BTreeMap<String, u64>,
}
