//! Registered programs. An agent always acts for its owner and never decides.

use std::collections::BTreeSet;

use ade_core::agent::AgentStatus;
use ade_core::ids::{AgentId, LeaseId, ProcessId, UserId};
use ade_core::time::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::locks::Beat;
use crate::schema;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewAgent {
    #[schema(min_length = 1, max_length = 128, example = "infra-bot")]
    pub name: String,
    /// The person whom the agent acts for and who is responsible for it.
    #[schema(value_type = schema::UserId)]
    pub owner_id: UserId,
    /// The task types that the agent can apply; `*` matches any text without a dot.
    #[serde(default)]
    #[schema(max_items = 64)]
    pub capabilities: BTreeSet<String>,
    /// The maximum number of tasks that the agent applies at once.
    #[serde(default = "default_max_tasks")]
    #[schema(minimum = 1, maximum = 10000, default = 4)]
    pub max_tasks: u32,
}

fn default_max_tasks() -> u32 {
    ade_core::limits::AGENT_TASKS_DEFAULT
}

/// Omitted fields stay unchanged.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(min_properties = 1)]
pub struct AgentChange {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 128)]
    pub name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_items = 64)]
    pub capabilities: Option<BTreeSet<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 10000)]
    pub max_tasks: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Agent {
    #[schema(value_type = schema::AgentId)]
    pub id: AgentId,
    pub name: String,
    #[schema(value_type = schema::UserId)]
    pub owner_id: UserId,
    /// An order (drain, pause) takes precedence; otherwise the status follows from the last
    /// heartbeat: late after 30 s, offline after 90 s.
    #[schema(value_type = schema::AgentStatus)]
    pub status: AgentStatus,
    /// The time of the last heartbeat.
    #[schema(value_type = Option<schema::Timestamp>)]
    pub seen_at: Option<Timestamp>,
    /// The number of running tasks that the agent last reported.
    pub load: Option<u32>,
    /// The version of the configuration; 0 if the agent has no configuration.
    pub config_version: u32,
    pub capabilities: BTreeSet<String>,
    pub max_tasks: u32,
    #[schema(value_type = schema::Timestamp)]
    pub registered_at: Timestamp,
    #[schema(value_type = Option<schema::Timestamp>)]
    pub revoked_at: Option<Timestamp>,
}

/// The reason for draining, pausing or resuming an agent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentDirective {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 4096)]
    pub reason: Option<String>,
}

/// A heartbeat of a process and of everything that it holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentHeartbeat {
    /// The process; it is registered with its first heartbeat.
    #[schema(value_type = schema::ProcessId)]
    pub process_id: ProcessId,
    /// The leases to keep, including waiting requests.
    #[serde(default)]
    #[schema(value_type = Vec<schema::LeaseId>, max_items = 1000)]
    pub lease_ids: Vec<LeaseId>,
    /// The number of running tasks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(maximum = 10000)]
    pub load: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AgentBeats {
    /// The time at which the process expires without another heartbeat.
    #[schema(value_type = schema::Timestamp)]
    pub process_expires_at: Timestamp,
    pub leases: Vec<Beat>,
    pub directives: AgentDirectives,
    /// The version of the agent's configuration; reload it when this changes.
    pub config_version: u32,
    /// The number of seconds until the next heartbeat.
    pub heartbeat_every_seconds: u64,
}

/// The directives given by people. In both cases the agent gets no new task and finishes its
/// running tasks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AgentDirectives {
    /// Exit once all running tasks are finished.
    pub is_draining: bool,
    /// Keep running and wait until resumed.
    pub is_paused: bool,
    /// The reason that was given for draining or pausing the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}
