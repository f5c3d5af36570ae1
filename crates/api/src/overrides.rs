//! Break-glass overrides: requested by one admin, confirmed by another, and reviewed afterwards.

use ade_core::change::Digest;
use ade_core::ids::{AfterReviewId, TaskId, UserId};
use ade_core::time::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::schema;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewOverride {
    /// The incident ticket.
    #[schema(min_length = 1, max_length = 128, example = "INC-42")]
    pub ticket: String,
    #[schema(min_length = 1, max_length = 4096)]
    pub reason: String,
}

/// What the second admin saw.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct OverrideConfirmation {
    #[schema(minimum = 1)]
    pub revision: u32,
    #[schema(value_type = schema::Digest)]
    pub digest: Digest,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewFinding {
    /// The finding: whether the override was justified.
    #[schema(min_length = 1, max_length = 4096)]
    pub finding: String,
}

/// A review that an override requires. It never changes the task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AfterReview {
    #[schema(value_type = schema::AfterReviewId)]
    pub id: AfterReviewId,
    #[schema(value_type = schema::TaskId)]
    pub task_id: TaskId,
    pub number: i64,
    pub title: String,
    #[schema(value_type = schema::Timestamp)]
    pub opened_at: Timestamp,
    #[schema(value_type = schema::Timestamp)]
    pub due_at: Timestamp,
    pub overdue: bool,
    #[schema(value_type = Option<schema::UserId>)]
    pub done_by: Option<UserId>,
    #[schema(value_type = Option<schema::Timestamp>)]
    pub done_at: Option<Timestamp>,
    pub finding: Option<String>,
}
