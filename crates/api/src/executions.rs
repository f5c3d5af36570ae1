//! Attempts to apply a task. Only the holder of the lease that a claim returned can report on an
//! attempt; everyone who can read the task can read its attempts.

use std::collections::BTreeMap;

use ade_core::change::Digest;
use ade_core::ids::{AgentId, ExecutionId, LeaseId, TaskId};
use ade_core::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::cause::Cause;
use crate::schema;
use crate::tasks::Plan;

/// Identifies the holder: every message about an attempt contains its lease.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Beginning {
    #[schema(value_type = schema::LeaseId)]
    pub lease_id: LeaseId,
    /// What a preview made under the lock shows, for task types that the server cannot preview
    /// itself. If the effect differs from the approved one, the attempt ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<Plan>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Pulse {
    #[schema(value_type = schema::LeaseId)]
    pub lease_id: LeaseId,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Alive {
    /// Stop: roll back what was begun and report the result.
    pub abort_requested: bool,
    /// Who requested the abort and why; null unless `abort_requested`.
    #[serde(default)]
    pub abort: Option<Cause>,
    #[schema(value_type = schema::Timestamp)]
    pub expires_at: Timestamp,
    /// The number of seconds that each heartbeat extends the lease by.
    pub ttl_seconds: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Stream {
    Stdout,
    Stderr,
    /// Messages of the runner.
    Note,
}

impl Stream {
    pub const ALL: [Self; 3] = [Self::Stdout, Self::Stderr, Self::Note];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Stdout => "stdout",
            Self::Stderr => "stderr",
            Self::Note => "note",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewLog {
    #[schema(value_type = schema::LeaseId)]
    pub lease_id: LeaseId,
    /// The number of the first line; lines that are sent again are stored once.
    pub first: u64,
    #[schema(min_items = 1, max_items = 1000)]
    pub lines: Vec<NewLine>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewLine {
    pub stream: Stream,
    #[schema(max_length = 8192)]
    pub text: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Logged {
    /// The number of the next line.
    pub next: u64,
    /// The log is full: further lines are counted and dropped.
    pub is_full: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LogLine {
    pub number: u64,
    pub stream: Stream,
    pub text: String,
    #[schema(value_type = schema::Timestamp)]
    pub at: Timestamp,
}

/// Log lines starting at a number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Log {
    pub lines: Vec<LogLine>,
    /// The number to continue from.
    pub next: u64,
    /// The attempt has ended and this is the end of its log.
    pub is_complete: bool,
}

/// How an attempt ended, as its holder reports it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum FinishOutcome {
    /// The whole change was applied.
    #[default]
    Succeeded,
    Failed,
    TimedOut,
    /// The attempt stopped because it was asked to.
    Cancelled,
    /// The agent's host makes the change on its own and has not reported the result. The task is
    /// completed with the sub-state `RELEASED_TO_HOST`, which never counts as a success.
    ReleasedToHost,
}

impl FinishOutcome {
    /// Returns whether something went wrong, which the report must describe.
    pub const fn is_failure(self) -> bool {
        match self {
            Self::Succeeded | Self::ReleasedToHost => false,
            Self::Failed | Self::TimedOut | Self::Cancelled => true,
        }
    }
}

/// The last report about an attempt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Finish {
    #[schema(value_type = schema::LeaseId)]
    pub lease_id: LeaseId,
    #[serde(default)]
    pub outcome: FinishOutcome,
    /// What went wrong. Required if the attempt failed, timed out or was cancelled, and not allowed
    /// otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 4096)]
    pub error: Option<String>,
    /// What a failed attempt has left behind; defaults to `changed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_behind: Option<Left>,
    /// The first 64 KiB are stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// Additional data for programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub details: Option<Value>,
}

impl Finish {
    /// Creates the report of an attempt that succeeded.
    pub const fn succeeded(lease_id: LeaseId) -> Self {
        let (outcome, error, left_behind) = (FinishOutcome::Succeeded, None, None);
        Self { lease_id, outcome, error, left_behind, output: None, details: None }
    }

    /// Creates the report of an attempt whose change the agent's host makes.
    pub fn released_to_host(lease_id: LeaseId) -> Self {
        Self { outcome: FinishOutcome::ReleasedToHost, ..Self::succeeded(lease_id) }
    }
}

/// What a failed attempt left behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Left {
    /// Nothing had been changed yet.
    Nothing,
    /// Changes were made and rolled back.
    RolledBack,
    /// Something was changed, or it is unknown whether it was.
    Changed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ExecutionState {
    /// The attempt is permitted and has not changed anything yet.
    Permitted,
    /// The attempt has begun; from now on only the holder knows what has happened.
    Running,
    Ended,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ExecutionOutcome {
    Succeeded,
    Failed,
    TimedOut,
    Cancelled,
    /// The agent's host made the change on its own and did not report the result.
    ReleasedToHost,
    /// It is unknown whether the change was applied, until someone reconciles it.
    Unknown,
    /// The effect, or a resource that the preview saw, had changed since the approval.
    Drifted,
    /// The holder was lost before the attempt began, or its permit was withdrawn: applies were
    /// frozen, or the approval was no longer valid. Nothing was changed.
    Lost,
}

impl From<FinishOutcome> for ExecutionOutcome {
    fn from(outcome: FinishOutcome) -> Self {
        match outcome {
            FinishOutcome::Succeeded => Self::Succeeded,
            FinishOutcome::Failed => Self::Failed,
            FinishOutcome::TimedOut => Self::TimedOut,
            FinishOutcome::Cancelled => Self::Cancelled,
            FinishOutcome::ReleasedToHost => Self::ReleasedToHost,
        }
    }
}

impl ExecutionOutcome {
    pub const ALL: [Self; 8] = [
        Self::Succeeded,
        Self::Failed,
        Self::TimedOut,
        Self::Cancelled,
        Self::ReleasedToHost,
        Self::Unknown,
        Self::Drifted,
        Self::Lost,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::TimedOut => "timed_out",
            Self::Cancelled => "cancelled",
            Self::ReleasedToHost => "released_to_host",
            Self::Unknown => "unknown",
            Self::Drifted => "drifted",
            Self::Lost => "lost",
        }
    }
}

/// An attempt to apply a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Execution {
    #[schema(value_type = schema::ExecutionId)]
    pub id: ExecutionId,
    #[schema(value_type = schema::TaskId)]
    pub task_id: TaskId,
    pub revision: u32,
    pub attempt: u32,
    pub state: ExecutionState,
    /// The agent that applies the task; absent if the server applies it itself.
    #[schema(value_type = Option<schema::AgentId>)]
    pub agent_id: Option<AgentId>,
    #[schema(value_type = schema::Digest)]
    pub lease_hash: Digest,
    pub fence: u64,
    #[schema(value_type = schema::Timestamp)]
    pub started_at: Timestamp,
    #[schema(value_type = Option<schema::Timestamp>)]
    pub begun_at: Option<Timestamp>,
    #[schema(value_type = Option<schema::Timestamp>)]
    pub ended_at: Option<Timestamp>,
    pub abort_requested: bool,
    pub outcome: Option<ExecutionOutcome>,
    pub left_behind: Option<Left>,
    pub error: Option<String>,
    /// The first 64 KiB of the output.
    pub output: Option<String>,
    /// Where the whole output is stored, if it is longer.
    pub output_key: Option<String>,
    #[schema(value_type = Option<Object>)]
    pub details: Option<Value>,
    /// What the holder reported too late to count.
    pub late_report: Option<String>,
}

/// The attempts of a task, newest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Executions {
    pub items: Vec<Execution>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Finding {
    /// The change was made.
    Completed,
    /// The change was made in part, or incorrectly.
    Failed,
    /// The change was not made and can be tried again.
    NotApplied,
}

/// The findings about an attempt whose outcome was unknown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Reconciliation {
    pub found: Finding,
    #[schema(min_length = 1, max_length = 4096)]
    pub reason: String,
}

/// The keys that currently verify receipts (RFC 7517).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Keys {
    pub keys: Vec<BTreeMap<String, String>>,
}
