//! Attempts to apply a task. A claim hands out a permit: the lease that every later call of the
//! attempt names, and a signed receipt for whatever is changed. Only the holder of the lease
//! speaks for an attempt; everybody who may read the task may look.

use std::collections::BTreeMap;

use ade_core::change::Digest;
use ade_core::ids::{AgentId, AgentSessionId, ExecutionId, LeaseId, TaskId};
use ade_core::resource::ResourceRef;
use ade_core::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::schema;
use crate::tasks::{Mode, Plan, Task};

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// The life of the claiming process, kept by its heartbeats; one of the attempt alone if left
    /// out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::AgentSessionId>)]
    pub session: Option<AgentSessionId>,
    /// Only this task; whatever comes next if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::TaskId>)]
    pub task: Option<TaskId>,
    /// How long the attempt lives without a heartbeat: `30s` if left out, `300s` at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(pattern = "^[0-9]{1,6}(s|ms)$", example = "30s")]
    pub ttl: Option<String>,
    /// The target that the receipt is for; the installation's own if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 256)]
    pub audience: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Claimed {
    /// Nothing if there was nothing to do. Not an error: ask again.
    pub permit: Option<Permit>,
    pub timed_out: bool,
}

/// What one attempt may do. The lease is the secret of its holder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Permit {
    #[schema(value_type = schema::ExecutionId)]
    pub execution: ExecutionId,
    pub task: Task,
    /// Counts from 1.
    pub attempt: u32,
    #[schema(value_type = schema::LeaseId)]
    pub lease: LeaseId,
    /// Rises with every grant of a resource: show it to whatever you change.
    pub token: u64,
    pub resources: Vec<FencedResource>,
    /// Unless a heartbeat comes before. Count from the moment you sent the request.
    #[schema(value_type = schema::Timestamp)]
    pub expires_at: Timestamp,
    /// Milliseconds that each heartbeat gives it.
    pub ttl_ms: u64,
    /// Begin before this, or it goes back into the queue.
    #[schema(value_type = schema::Timestamp)]
    pub begin_before: Timestamp,
    /// From begin on; what takes longer is told to stop.
    pub timeout_seconds: u32,
    /// A compact JWS: verify it with the keys at `/.well-known/jwks.json`.
    pub receipt: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FencedResource {
    #[schema(value_type = schema::ResourceName)]
    pub resource: ResourceRef,
    pub mode: Mode,
    pub fence: u64,
}

/// Who speaks: everything an attempt says names its lease.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Beginning {
    #[schema(value_type = schema::LeaseId)]
    pub lease: LeaseId,
    /// What a preview made under the lock says would change now, where the server cannot look
    /// itself. Another effect than the approved one ends the attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<Plan>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Pulse {
    #[schema(value_type = schema::LeaseId)]
    pub lease: LeaseId,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Alive {
    /// Stop: roll back what was begun and report how that went.
    pub abort_requested: bool,
    #[schema(value_type = schema::Timestamp)]
    pub expires_at: Timestamp,
    pub ttl_ms: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Stream {
    Stdout,
    Stderr,
    /// The runner's own words.
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
    pub lease: LeaseId,
    /// The number of the first line: lines that were sent before are kept once.
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
    /// The number that the next line has.
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

/// Lines from one number on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Log {
    pub lines: Vec<LogLine>,
    /// Ask on from here.
    pub next: u64,
    /// The attempt is over and this is the end of its log.
    pub is_complete: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Finish {
    #[schema(value_type = schema::LeaseId)]
    pub lease: LeaseId,
    /// The first 64 KiB are kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// Whatever a program may want to read later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub details: Option<Value>,
}

/// What an attempt that went wrong left behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Left {
    /// Nothing had been changed yet.
    Nothing,
    /// Changes were made and taken back.
    RolledBack,
    /// Something is changed, or nobody can say that it is not.
    Changed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    Failure,
    Timeout,
    Cancelled,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Fail {
    #[schema(value_type = schema::LeaseId)]
    pub lease: LeaseId,
    pub result: FailureKind,
    pub left: Left,
    #[schema(min_length = 1, max_length = 4096)]
    pub error: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub details: Option<Value>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ExecutionState {
    /// Permitted, and nothing is changed yet.
    Permitted,
    /// Begun: from here on nobody else can know what has happened.
    Running,
    Ended,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ExecutionResult {
    Success,
    Failure,
    Timeout,
    Cancelled,
    /// Nobody knows whether it happened, until somebody has looked.
    Unknown,
    /// The effect had changed since people agreed to it.
    Drifted,
    /// Its holder was lost before it began: nothing happened.
    Lost,
}

impl ExecutionResult {
    pub const ALL: [Self; 7] = [
        Self::Success,
        Self::Failure,
        Self::Timeout,
        Self::Cancelled,
        Self::Unknown,
        Self::Drifted,
        Self::Lost,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Failure => "failure",
            Self::Timeout => "timeout",
            Self::Cancelled => "cancelled",
            Self::Unknown => "unknown",
            Self::Drifted => "drifted",
            Self::Lost => "lost",
        }
    }
}

/// One attempt as everybody sees it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Execution {
    #[schema(value_type = schema::ExecutionId)]
    pub id: ExecutionId,
    #[schema(value_type = schema::TaskId)]
    pub task: TaskId,
    pub revision: u32,
    pub attempt: u32,
    pub state: ExecutionState,
    /// Who applies it; nothing if it is the server itself.
    #[schema(value_type = Option<schema::AgentId>)]
    pub agent: Option<AgentId>,
    #[schema(value_type = schema::Digest)]
    pub lease_hash: Digest,
    pub token: u64,
    #[schema(value_type = schema::Timestamp)]
    pub started_at: Timestamp,
    #[schema(value_type = Option<schema::Timestamp>)]
    pub begun_at: Option<Timestamp>,
    #[schema(value_type = Option<schema::Timestamp>)]
    pub ended_at: Option<Timestamp>,
    pub abort_requested: bool,
    pub result: Option<ExecutionResult>,
    pub left: Option<Left>,
    pub error: Option<String>,
    /// The first 64 KiB of it.
    pub output: Option<String>,
    /// Where the whole of it is kept, if that is more.
    pub output_key: Option<String>,
    #[schema(value_type = Option<Object>)]
    pub details: Option<Value>,
    /// What its holder said when it was too late to count.
    pub late_report: Option<String>,
}

/// The attempts of one task, the newest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Executions {
    pub items: Vec<Execution>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Finding {
    /// The change was made.
    Completed,
    /// It was made in part, or wrongly.
    Failed,
    /// It was not made: it may be tried again.
    NotApplied,
}

/// What somebody found out about an attempt whose end nobody knew.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Reconciliation {
    pub found: Finding,
    #[schema(min_length = 1, max_length = 4096)]
    pub reason: String,
}

/// The keys whose receipts count now (RFC 7517).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Keys {
    pub keys: Vec<BTreeMap<String, String>>,
}
