//! The arguments of each tool, all on one level. Unknown members are refused, so that a model
//! notices a wrong guess at once.

use std::collections::BTreeSet;

use ade_api::executions::{FinishOutcome, Left};
use ade_api::locks::{WantedLock, WantedLockInput};
use ade_api::resource_input;
use ade_api::schema;
use ade_api::tasks::{Change, Rollback, TouchedResource, TouchedResourceInput};
use ade_core::ids::{ExecutionId, LeaseId, ProcessId};
use ade_core::task_ref::TaskRef;
use serde::Deserialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RequestApproval {
    /// What the change does, in one line.
    #[schema(min_length = 1, max_length = 200)]
    pub title: String,
    /// The type of the change, for example `sql.change`.
    #[serde(rename = "type")]
    #[schema(min_length = 1, max_length = 128)]
    pub task_type: String,
    /// Everything that the change touches, as `type:id`, for example `database:orders`. It is
    /// locked while you make the change.
    #[serde(deserialize_with = "resource_input::list")]
    #[schema(value_type = Vec<TouchedResourceInput>, min_items = 1, max_items = 64)]
    pub resources: Vec<TouchedResource>,
    /// What you will do: one entry per thing that changes, in order. Omit it only if the server
    /// previews this type.
    #[serde(default)]
    #[schema(value_type = Vec<Change>, max_items = 1000)]
    pub changes: Option<Vec<Change>>,
    /// The exact input of the change, such as a statement or a version.
    #[serde(default)]
    #[schema(value_type = Object)]
    pub parameters: Map<String, Value>,
    /// A key of up to 200 visible ASCII characters. The same key with the same request is the same
    /// request, whatever happened to the first response.
    #[serde(default)]
    #[schema(pattern = "^[!-~]{1,200}$")]
    pub idempotency_key: Option<String>,
    /// The maximum time to make the change.
    #[serde(default)]
    #[schema(minimum = 1, maximum = 86_400)]
    pub timeout_seconds: Option<u32>,
    /// What to do if the change fails midway.
    #[serde(default)]
    pub rollback: Rollback,
    #[serde(default)]
    #[schema(max_length = 128, example = "OPS-1234")]
    pub ticket: Option<String>,
    #[serde(default)]
    #[schema(max_items = 32)]
    pub tags: BTreeSet<String>,
    #[serde(default)]
    #[schema(max_length = 128)]
    pub team: Option<String>,
    /// 0 to 100.
    #[serde(default = "default_priority")]
    #[schema(minimum = 0, maximum = 100, default = 50)]
    pub priority: u8,
}

fn default_priority() -> u8 {
    50
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WaitForDecision {
    #[schema(value_type = schema::TaskRef)]
    pub task_id: TaskRef,
    /// How long to wait; defaults to 55.
    #[serde(default)]
    #[schema(minimum = 1, maximum = 55)]
    pub wait_seconds: Option<u64>,
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ReviseRequest {
    #[schema(value_type = schema::TaskRef)]
    pub task_id: TaskRef,
    /// The version that you have read: the call is refused if the request has changed since.
    #[serde(default)]
    pub version: Option<u64>,
    /// What you will do instead; replaces all entries.
    #[serde(default)]
    #[schema(value_type = Vec<Change>, max_items = 1000)]
    pub changes: Option<Vec<Change>>,
    #[serde(default)]
    #[schema(value_type = Object)]
    pub parameters: Option<Map<String, Value>>,
    #[serde(default, deserialize_with = "resource_input::some_list")]
    #[schema(value_type = Vec<TouchedResourceInput>, min_items = 1, max_items = 64)]
    pub resources: Option<Vec<TouchedResource>>,
    #[serde(default)]
    #[schema(max_items = 32)]
    pub tags: Option<BTreeSet<String>>,
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WithdrawRequest {
    #[schema(value_type = schema::TaskRef)]
    pub task_id: TaskRef,
    #[serde(default)]
    #[schema(max_length = 4096)]
    pub reason: Option<String>,
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct StartChange {
    #[schema(value_type = schema::TaskRef)]
    pub task_id: TaskRef,
    /// How long to wait if something still blocks the change; defaults to no wait.
    #[serde(default)]
    #[schema(minimum = 0, maximum = 55)]
    pub wait_seconds: u64,
    /// The target system, if it verifies a receipt: the permit then contains one.
    #[serde(default)]
    #[schema(min_length = 1, max_length = 256)]
    pub audience: Option<String>,
}

/// How a change ended, as the model that made it knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChangeOutcome {
    Succeeded,
    Failed,
    TimedOut,
    /// It stopped because it was asked to.
    Cancelled,
}

impl From<ChangeOutcome> for FinishOutcome {
    fn from(outcome: ChangeOutcome) -> Self {
        match outcome {
            ChangeOutcome::Succeeded => Self::Succeeded,
            ChangeOutcome::Failed => Self::Failed,
            ChangeOutcome::TimedOut => Self::TimedOut,
            ChangeOutcome::Cancelled => Self::Cancelled,
        }
    }
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct FinishChange {
    #[schema(value_type = schema::ExecutionId)]
    pub execution_id: ExecutionId,
    #[schema(value_type = schema::LeaseId)]
    pub lease_id: LeaseId,
    pub outcome: ChangeOutcome,
    /// What went wrong; required unless the change succeeded.
    #[serde(default)]
    #[schema(min_length = 1, max_length = 4096)]
    pub error: Option<String>,
    /// What a change that did not succeed has left behind; defaults to `changed`.
    #[serde(default)]
    pub left_behind: Option<Left>,
    /// The output that people may want to read.
    #[serde(default)]
    pub output: Option<String>,
    /// Additional data for programs.
    #[serde(default)]
    #[schema(value_type = Option<Object>)]
    pub details: Option<Value>,
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_field_names, reason = "arguments are named like the ids in results")]
pub struct GetRequest {
    #[schema(value_type = schema::TaskRef)]
    pub task_id: TaskRef,
    /// Your running change, together with its `lease_id`: the call extends it and reports whether
    /// you must stop.
    #[serde(default)]
    #[schema(value_type = Option<schema::ExecutionId>)]
    pub execution_id: Option<ExecutionId>,
    #[serde(default)]
    #[schema(value_type = Option<schema::LeaseId>)]
    pub lease_id: Option<LeaseId>,
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AcquireLocks {
    /// All resources are locked, or none; each as `type:id`.
    #[serde(deserialize_with = "resource_input::list")]
    #[schema(value_type = Vec<WantedLockInput>, min_items = 1, max_items = 66)]
    pub resources: Vec<WantedLock>,
    /// How long to wait in the queue; defaults to no wait.
    #[serde(default)]
    #[schema(minimum = 0, maximum = 55)]
    pub wait_seconds: u64,
    /// The maximum time that you need the locks; defaults to 600. They are lost after it.
    #[serde(default)]
    #[schema(minimum = 1, maximum = 86_400)]
    pub timeout_seconds: Option<u32>,
    /// The lease of an earlier response: the same lease is the same request. It keeps its place in
    /// the queue, and held locks are extended.
    #[serde(default)]
    #[schema(value_type = Option<schema::LeaseId>)]
    pub lease_id: Option<LeaseId>,
    /// A process that several leases share, so that deadlocks are detected.
    #[serde(default)]
    #[schema(value_type = Option<schema::ProcessId>)]
    pub process_id: Option<ProcessId>,
    /// Whether to register the lease in the database, so that a holder that lost its lock can no
    /// longer commit.
    #[serde(default)]
    pub fenced: bool,
    #[serde(default)]
    #[schema(min_length = 1, max_length = 4096)]
    pub purpose: Option<String>,
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ReleaseLocks {
    #[schema(value_type = schema::LeaseId)]
    pub lease_id: LeaseId,
}
