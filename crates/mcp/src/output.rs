//! What each tool returns on success. Absent members have no value, so that a response is small and
//! contains each item once.

use std::collections::BTreeMap;

use ade_api::executions::{ExecutionOutcome, Left};
use ade_api::locks::LeaseState;
use ade_api::schema;
use ade_api::tasks::{Change, TaskDecision, TouchedResource};
use ade_core::change::{Digest, Origin};
use ade_core::ids::{ExecutionId, LeaseId, ProcessId, TaskId};
use ade_core::resource::ResourceRef;
use ade_core::task::{GateCode, State, SubState};
use ade_core::task_ref::TaskRef;
use ade_core::time::Timestamp;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

pub const NEXT_ACTION: &str = "next_action";
pub const ALERTS: &str = "alerts";

/// What to do next, in words and as a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct NextStep {
    pub message: String,
    /// The tool to call; absent if there is nothing to call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<&'static str>,
}

/// Why the server refused a call.
#[derive(Debug, Serialize, ToSchema)]
pub struct RefusedCall {
    /// The cause of a refused call, for programs.
    pub code: String,
    /// What happened, in words.
    pub detail: String,
    /// Whether the same call may succeed later without changes.
    pub retriable: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AlertCode {
    AbortRequested,
    LeaseLost,
}

/// Something happened to work in progress since the last call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LeaseAlert {
    pub code: AlertCode,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub execution_id: Option<ExecutionId>,
    pub lease_id: LeaseId,
    pub reason: String,
    /// What the API says about it: the `state` of a lost lease, and who caused it and why, which is
    /// `broken` for a lost lease and `abort` for a request to stop.
    #[serde(flatten)]
    pub facts: BTreeMap<String, Value>,
    pub next_action: NextStep,
}

/// A closed gate between a request and its change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct ClosedGate {
    pub gate: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = schema::GateCode)]
    pub code: Option<GateCode>,
    pub reason: String,
    /// When the gate opens without any action, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = schema::Timestamp)]
    pub until: Option<Timestamp>,
    pub how_to_pass: String,
}

/// A request for approval.
#[derive(Debug, Serialize, ToSchema)]
pub struct RequestStatus {
    #[schema(value_type = schema::TaskId)]
    pub task_id: TaskId,
    #[schema(value_type = schema::State)]
    pub state: State,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = schema::SubState)]
    pub sub_state: Option<SubState>,
    pub version: u64,
    /// Who decided, how and why; absent while people review.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = TaskDecision)]
    pub decision: Option<TaskDecision>,
    /// The page on which people review the request; only while they do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub review_page: Option<String>,
    /// What you should know; a warning prevents nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// What is wrong with the content.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<String>,
    /// True if people had not decided when the wait ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timed_out: Option<bool>,
}

/// The content of a request, and why it cannot be started yet.
#[derive(Debug, Serialize, ToSchema)]
pub struct RequestContent {
    pub title: String,
    #[serde(rename = "type")]
    pub task_type: String,
    pub revision: u32,
    /// The hash of `type`, `parameters`, `resources` and the effect, which votes are bound to.
    #[schema(value_type = schema::Digest)]
    pub digest: Digest,
    pub resources: Vec<TouchedResource>,
    #[schema(value_type = Object)]
    pub parameters: Value,
    /// `observed`: a preview saw the changes. `declared`: the author stated them.
    #[schema(value_type = schema::Origin)]
    pub origin: Origin,
    pub changes: Vec<Change>,
    pub timeout_seconds: u32,
    /// Everything that still blocks the change.
    pub blocked_by: Vec<ClosedGate>,
    /// Call again within this time while you work on the change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extend_within_seconds: Option<u64>,
}

/// The answer to `start_change`.
#[derive(Debug, Serialize, ToSchema)]
pub struct StartedChange {
    #[schema(value_type = schema::TaskRef)]
    pub task_id: TaskRef,
    /// The permission to act now; null if you must not act.
    pub permit: Option<StartedPermit>,
    /// Everything that prevents the change.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub blocked_by: Vec<ClosedGate>,
    /// The advised pause before the next call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct StartedPermit {
    #[schema(value_type = schema::ExecutionId)]
    pub execution_id: ExecutionId,
    #[schema(value_type = schema::LeaseId)]
    pub lease_id: LeaseId,
    /// The fencing token: pass it to the system that you change, if it accepts one.
    pub fence: u64,
    /// The resources that are locked for you.
    #[schema(value_type = Vec<schema::ResourceName>)]
    pub resources: Vec<ResourceRef>,
    /// What people approved. Do exactly this.
    #[schema(value_type = Object)]
    pub parameters: Value,
    pub changes: Vec<Change>,
    /// Finish within this time: a longer change is asked to stop.
    pub timeout_seconds: u32,
    /// Call `get_request` with `execution_id` and `lease_id` within this time, and again while you
    /// work. If it is absent, nothing has to be called.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extend_within_seconds: Option<u64>,
    /// A compact JWS for the target system that you named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receipt: Option<String>,
}

/// The answer to `finish_change`.
#[derive(Debug, Serialize, ToSchema)]
pub struct FinishedChange {
    #[schema(value_type = schema::TaskId)]
    pub task_id: TaskId,
    #[schema(value_type = schema::ExecutionId)]
    pub execution_id: ExecutionId,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<ExecutionOutcome>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_behind: Option<Left>,
}

/// The answer to `acquire_locks`.
#[derive(Debug, Serialize, ToSchema)]
pub struct HeldLocks {
    #[schema(value_type = schema::LeaseId)]
    pub lease_id: LeaseId,
    #[schema(value_type = schema::ProcessId)]
    pub process_id: ProcessId,
    /// The fencing token: pass it to the system that you change, if it accepts one.
    pub fence: u64,
    #[schema(value_type = Vec<schema::ResourceName>)]
    pub resources: Vec<ResourceRef>,
    /// The locks are lost after this time.
    pub timeout_seconds: u64,
    /// Call `acquire_locks` with the same `lease_id` and resources within this time, and again
    /// while you work. If it is absent, nothing has to be called.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extend_within_seconds: Option<u64>,
}

/// The answer to `release_locks`.
#[derive(Debug, Serialize, ToSchema)]
pub struct ReleasedLocks {
    #[schema(value_type = schema::LeaseId)]
    pub lease_id: LeaseId,
    pub state: LeaseState,
}
