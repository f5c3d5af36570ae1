//! What each tool takes. Unknown members are refused: a model that guesses learns it at once.

use ade_api::executions::{FailureKind, Left};
use ade_api::locks::WantedLock;
use ade_api::schema;
use ade_api::tasks::{Amendment, NewTask};
use ade_core::ids::{AgentSessionId, ExecutionId, LeaseId, TaskId};
use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ProposeTask {
    pub task: NewTask,
    /// Names this proposal, up to 200 visible ASCII characters. Sent again with the same task it
    /// is the same proposal, whatever became of the first answer.
    #[serde(default)]
    #[schema(pattern = "^[!-~]{1,200}$")]
    pub repeat_key: Option<String>,
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct OneTask {
    #[schema(value_type = schema::TaskId)]
    pub task: TaskId,
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WaitForTask {
    #[schema(value_type = schema::TaskId)]
    pub task: TaskId,
    /// How long to wait; 55 if left out.
    #[serde(default)]
    #[schema(minimum = 1, maximum = 55)]
    pub seconds: Option<u64>,
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AmendTask {
    #[schema(value_type = schema::TaskId)]
    pub task: TaskId,
    /// The version that you have read.
    pub version: u64,
    /// What becomes different; left out, a draft is only submitted.
    #[serde(default)]
    pub changes: Option<Amendment>,
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CancelTask {
    #[schema(value_type = schema::TaskId)]
    pub task: TaskId,
    /// The version that you have read.
    pub version: u64,
    #[serde(default)]
    #[schema(max_length = 4096)]
    pub reason: Option<String>,
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AcquireLocks {
    /// All of them or none.
    #[schema(min_items = 1, max_items = 66)]
    pub resources: Vec<WantedLock>,
    /// How long to stand in line; now or not at all if left out.
    #[serde(default)]
    #[schema(minimum = 0, maximum = 55)]
    pub seconds: u64,
    /// From an earlier answer: the same lease again is the same request, and keeps its place.
    #[serde(default)]
    #[schema(value_type = Option<schema::LeaseId>)]
    pub lease: Option<LeaseId>,
    #[serde(default)]
    #[schema(value_type = Option<schema::AgentSessionId>)]
    pub session: Option<AgentSessionId>,
    /// How long the lease lives without a heartbeat: `30s` if left out, `300s` at most.
    #[serde(default)]
    #[schema(pattern = "^[0-9]{1,6}(s|ms)$", example = "30s")]
    pub ttl: Option<String>,
    /// Registered in the record: whoever is overtaken by it cannot commit any more.
    #[serde(default)]
    pub fenced: bool,
    #[serde(default)]
    #[schema(min_length = 1, max_length = 4096)]
    pub purpose: Option<String>,
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Heartbeat {
    #[schema(value_type = Vec<schema::LeaseId>, min_items = 1, max_items = 1000)]
    pub leases: Vec<LeaseId>,
    /// The attempt whose lease it is, alone, if it came from `claim_permit`.
    #[serde(default)]
    #[schema(value_type = Option<schema::ExecutionId>)]
    pub execution: Option<ExecutionId>,
    #[serde(default)]
    #[schema(value_type = Option<schema::AgentSessionId>)]
    pub session: Option<AgentSessionId>,
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ReleaseLocks {
    #[schema(value_type = schema::LeaseId)]
    pub lease: LeaseId,
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ClaimPermit {
    /// Only this task; whatever comes next if left out.
    #[serde(default)]
    #[schema(value_type = Option<schema::TaskId>)]
    pub task: Option<TaskId>,
    /// How long to wait for one; only what is there now if left out.
    #[serde(default)]
    #[schema(minimum = 0, maximum = 55)]
    pub seconds: u64,
    /// How long the attempt lives without a heartbeat: `30s` if left out, `300s` at most.
    #[serde(default)]
    #[schema(pattern = "^[0-9]{1,6}(s|ms)$", example = "60s")]
    pub ttl: Option<String>,
    /// The target that the receipt is for; the installation's own if left out.
    #[serde(default)]
    #[schema(min_length = 1, max_length = 256)]
    pub audience: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Applied, all of it.
    Finished,
    Failed,
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ReportResult {
    #[schema(value_type = schema::ExecutionId)]
    pub execution: ExecutionId,
    #[schema(value_type = schema::LeaseId)]
    pub lease: LeaseId,
    pub outcome: Outcome,
    /// What was printed, as far as somebody may want to read it.
    #[serde(default)]
    pub output: Option<String>,
    /// Whatever a program may want to read later.
    #[serde(default)]
    #[schema(value_type = Option<Object>)]
    pub details: Option<Value>,
    /// For `failed`: what went wrong.
    #[serde(default)]
    #[schema(min_length = 1, max_length = 4096)]
    pub error: Option<String>,
    /// For `failed`: what is left behind.
    #[serde(default)]
    pub left: Option<Left>,
    /// For `failed`: `failure` if left out.
    #[serde(default)]
    pub kind: Option<FailureKind>,
}
