//! The configurations of agents, by version.

use ade_core::ids::{AgentId, UserId};
use ade_core::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::policies::FieldChange;
use crate::schema;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewAgentConfig {
    /// The configuration of the agent as free-form JSON, up to 64 KiB. It must not contain secrets.
    #[schema(value_type = Object)]
    pub config: Map<String, Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 4096)]
    pub reason: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AgentConfig {
    #[schema(value_type = schema::AgentId)]
    pub agent_id: AgentId,
    /// The version for `If-Match`; 0 if no configuration has been set.
    pub version: u32,
    #[schema(value_type = Object)]
    pub config: Value,
    #[schema(value_type = Option<schema::UserId>)]
    pub set_by: Option<UserId>,
    pub reason: Option<String>,
    #[schema(value_type = Option<schema::Timestamp>)]
    pub set_at: Option<Timestamp>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AgentConfigVersions {
    /// The last 200 versions, newest first.
    pub items: Vec<AgentConfigVersion>,
}

/// A version without its content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AgentConfigVersion {
    pub version: u32,
    #[schema(value_type = schema::UserId)]
    pub set_by: UserId,
    pub reason: Option<String>,
    #[schema(value_type = schema::Timestamp)]
    pub set_at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AgentConfigDifference {
    pub version: u32,
    /// The version compared with; 0 is the empty initial configuration.
    pub against: u32,
    /// The differences of `version` from `against`, by field.
    pub changes: Vec<FieldChange>,
}

/// The earlier version to restore, as a new version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentConfigRollback {
    #[schema(minimum = 1)]
    pub to: u32,
    #[schema(min_length = 1, max_length = 4096)]
    pub reason: String,
}
