//! Claims of approved tasks. A claim returns a permit, with the lease that every later call of the
//! attempt names and a signed receipt for the target system; or everything that prevents it.

use ade_core::ids::{ExecutionId, LeaseId, ProcessId};
use ade_core::resource::ResourceRef;
use ade_core::task::GateCode;
use ade_core::task_ref::TaskRef;
use ade_core::time::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::problem::NextAction;
use crate::schema;
use crate::seconds::Seconds;
use crate::tasks::{Mode, Plan, Task};

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// The claiming process, kept alive by heartbeats; defaults to a process of this attempt only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::ProcessId>)]
    pub process_id: Option<ProcessId>,
    /// Claim only this task; defaults to the next one in the queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::TaskRef>)]
    pub task_id: Option<TaskRef>,
    /// How long the attempt lives without a heartbeat: defaults to 30, at most 300.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Seconds>)]
    pub ttl_seconds: Option<Seconds>,
    /// The target system that the receipt is for; defaults to the installation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 256)]
    pub audience: Option<String>,
}

/// A claim of one task by the calling agent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ClaimTask {
    /// Begin the attempt at once: only the caller knows from then on what has happened.
    #[serde(default)]
    pub begin: bool,
    /// How many seconds to wait for the permit, at most 55; defaults to no wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Seconds>)]
    pub wait: Option<Seconds>,
    /// What a preview made under the lock shows, as for the beginning of an attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<Plan>,
    /// The claiming process; defaults to a process of this attempt only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::ProcessId>)]
    pub process_id: Option<ProcessId>,
    /// How long the attempt lives without a heartbeat: defaults to 30, at most 300.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Seconds>)]
    pub ttl_seconds: Option<Seconds>,
    /// The target system that the receipt is for; defaults to the installation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 256)]
    pub audience: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Claimed {
    /// The permit; null if none could be granted yet, which is not an error.
    pub permit: Option<Permit>,
    /// The request waited, and its time ran out.
    pub timed_out: bool,
    /// Everything that prevents a permit; empty if there is one.
    pub blocked_by: Vec<BlockedBy>,
    /// The advised pause before the next claim.
    pub retry_after_ms: Option<u64>,
}

impl Claimed {
    pub fn granted(permit: Permit) -> Self {
        let (blocked_by, retry_after_ms) = (Vec::new(), None);
        Self { permit: Some(permit), timed_out: false, blocked_by, retry_after_ms }
    }
}

/// A closed gate between a task and its permit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BlockedBy {
    /// The gate, as in the explanation of a task; `agent` and `queue` are those of a claim.
    pub gate: String,
    #[schema(value_type = schema::GateCode)]
    pub code: GateCode,
    pub reason: String,
    /// When the gate opens without any action, if that is known.
    #[schema(value_type = Option<schema::Timestamp>)]
    pub until: Option<Timestamp>,
    /// What opens the gate.
    pub next_action: NextAction,
}

/// The permission for one attempt. The lease is a secret of its holder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Permit {
    #[schema(value_type = schema::ExecutionId)]
    pub execution_id: ExecutionId,
    pub task: Task,
    /// The number of the attempt, starting at 1.
    pub attempt: u32,
    #[schema(value_type = schema::LeaseId)]
    pub lease_id: LeaseId,
    /// The fencing token. It rises with every grant of a resource: pass it to the system that you
    /// change.
    pub fence: u64,
    pub resources: Vec<FencedResource>,
    /// The time of expiry unless a heartbeat arrives earlier. Count from the time at which you sent
    /// the request.
    #[schema(value_type = schema::Timestamp)]
    pub expires_at: Timestamp,
    /// The number of seconds that each heartbeat extends the lease by.
    pub ttl_seconds: u64,
    /// Begin before this time, or the task returns to the queue.
    #[schema(value_type = schema::Timestamp)]
    pub begin_before: Timestamp,
    /// When the attempt began; null if it has not begun.
    #[schema(value_type = Option<schema::Timestamp>)]
    pub begun_at: Option<Timestamp>,
    /// The maximum time to apply, counted from begin; a longer apply is asked to stop.
    pub timeout_seconds: u32,
    /// A compact JWS; verify it with the keys at `/.well-known/jwks.json`.
    pub receipt: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FencedResource {
    #[schema(value_type = schema::ResourceName)]
    pub resource: ResourceRef,
    pub mode: Mode,
    pub fence: u64,
}
