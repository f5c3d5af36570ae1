//! What agents are set up with, version by version.

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
    /// Whatever the agent understands; up to 64 KiB. No place for secrets.
    #[schema(value_type = Object)]
    pub config: Map<String, Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 4096)]
    pub reason: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AgentConfig {
    #[schema(value_type = schema::AgentId)]
    pub agent: AgentId,
    /// 0 while nobody has set anything; for `If-Match`.
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
    /// Newest first, the last 200 of them.
    pub items: Vec<AgentConfigVersion>,
}

/// A version without what it says.
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
    /// 0 is the empty configuration that every agent begins with.
    pub against: u32,
    /// What `version` says otherwise than `against`, field by field.
    pub changes: Vec<FieldChange>,
}

/// Which earlier version is to come back, as a new one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentConfigRollback {
    #[schema(minimum = 1)]
    pub to: u32,
    #[schema(min_length = 1, max_length = 4096)]
    pub reason: String,
}
