//! Registered programs. An agent always acts for its owner and never decides.

use std::collections::BTreeSet;

use ade_core::agent::Status;
use ade_core::ids::{AgentId, AgentSessionId, LeaseId, UserId};
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
    /// The person it acts for, who answers for it.
    #[schema(value_type = schema::UserId)]
    pub owner: UserId,
    /// Task types it may apply; `*` stands for any text without a dot.
    #[serde(default)]
    #[schema(max_items = 64)]
    pub capabilities: BTreeSet<String>,
    /// How many tasks it applies at once.
    #[serde(default = "default_max_tasks")]
    #[schema(minimum = 1, maximum = 10000, default = 4)]
    pub max_tasks: u32,
}

fn default_max_tasks() -> u32 {
    ade_core::limits::AGENT_TASKS_DEFAULT
}

/// What is left out stays as it is.
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
    pub owner: UserId,
    /// An order comes first; without one it follows from the last heartbeat: late after 30 s,
    /// offline after 90 s.
    #[schema(value_type = schema::AgentStatus)]
    pub status: Status,
    /// Its last heartbeat.
    #[schema(value_type = Option<schema::Timestamp>)]
    pub seen_at: Option<Timestamp>,
    /// Tasks it had in hand then, as it said itself.
    pub load: Option<u32>,
    /// 0 while it has no configuration.
    pub config_version: u32,
    pub capabilities: BTreeSet<String>,
    pub max_tasks: u32,
    #[schema(value_type = schema::Timestamp)]
    pub registered_at: Timestamp,
    #[schema(value_type = Option<schema::Timestamp>)]
    pub revoked_at: Option<Timestamp>,
}

/// Why an agent is told to drain, to pause or to resume.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentOrder {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 4096)]
    pub reason: Option<String>,
}

/// One call for a process and everything it holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentHeartbeat {
    /// The life of the process; begun by its first heartbeat.
    #[schema(value_type = schema::AgentSessionId)]
    pub session: AgentSessionId,
    /// Also of requests in line.
    #[serde(default)]
    #[schema(value_type = Vec<schema::LeaseId>, max_items = 1000)]
    pub leases: Vec<LeaseId>,
    /// Tasks it has in hand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(maximum = 10000)]
    pub load: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AgentBeats {
    /// Until then the session lives without another heartbeat.
    #[schema(value_type = schema::Timestamp)]
    pub session_until: Timestamp,
    pub leases: Vec<Beat>,
    pub orders: Orders,
    /// Of its configuration: read it again when this has changed.
    pub config_version: u32,
    /// Milliseconds until the next heartbeat is to come.
    pub heartbeat_every_ms: u64,
}

/// What people have told it. Either way it gets nothing new and finishes what it has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Orders {
    /// End when nothing is left to do.
    pub is_draining: bool,
    /// Stay, and wait to be resumed.
    pub is_paused: bool,
}
