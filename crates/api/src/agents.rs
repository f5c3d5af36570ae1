//! Registered programs. An agent always acts for its owner and never decides.

use std::collections::BTreeSet;

use ade_core::ids::{AgentId, UserId};
use ade_core::time::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

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
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Agent {
    #[schema(value_type = schema::AgentId)]
    pub id: AgentId,
    pub name: String,
    #[schema(value_type = schema::UserId)]
    pub owner: UserId,
    pub status: String,
    pub capabilities: BTreeSet<String>,
    #[schema(value_type = schema::Timestamp)]
    pub registered_at: Timestamp,
    #[schema(value_type = Option<schema::Timestamp>)]
    pub revoked_at: Option<Timestamp>,
}
