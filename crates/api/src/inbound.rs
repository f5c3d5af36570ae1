//! Sources of drafts: other systems that send signed events, and the template by which each event
//! becomes a draft. A secret is in one answer only: the one that made it.

use ade_core::ids::{AgentId, InboundId, UserId};
use ade_core::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::schema;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewInboundSource {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 128)]
    pub label: Option<String>,
    /// Who proposes what comes in, with the rights of the person it acts for.
    #[schema(value_type = schema::AgentId)]
    pub agent: AgentId,
    /// A task as `POST /v1/tasks` takes it. In its texts, `{{/a/b}}` stands for what the event has
    /// there; its `type` is fixed.
    #[schema(value_type = Object)]
    pub template: Value,
}

/// What is left out stays as it is.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(min_properties = 1)]
pub struct InboundSourceChange {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 128)]
    pub label: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::AgentId>)]
    pub agent: Option<AgentId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub template: Option<Value>,
    /// Nothing is taken from one that is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active: Option<bool>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct InboundSource {
    #[schema(value_type = schema::InboundId)]
    pub id: InboundId,
    /// Where it sends to.
    #[schema(
        example = "/v1/inbound/ten_01k9xq3vb8f2n4s6t7w8y9z0ab/inb_01k9xq3vb8f2n4s6t7w8y9z0ab"
    )]
    pub path: String,
    pub label: Option<String>,
    #[schema(value_type = schema::AgentId)]
    pub agent: AgentId,
    #[schema(value_type = Object)]
    pub template: Value,
    pub active: bool,
    /// Until then the secret before the last change is good too.
    #[schema(value_type = Option<schema::Timestamp>)]
    pub old_secret_until: Option<Timestamp>,
    /// Made under the pepper before: rotate the secret before that one goes.
    pub secret_is_old: bool,
    /// For `If-Match`.
    pub version: u64,
    #[schema(value_type = schema::UserId)]
    pub created_by: UserId,
    #[schema(value_type = schema::Timestamp)]
    pub created_at: Timestamp,
    #[schema(value_type = schema::Timestamp)]
    pub changed_at: Timestamp,
}

/// Shown once: the server keeps no copy.
#[derive(Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct InboundSecret {
    #[serde(flatten)]
    pub about: InboundSource,
    /// As libraries for Standard Webhooks take it. Absent if the same request was answered before.
    pub secret: Option<String>,
}

/// The secret stays out of logs.
impl std::fmt::Debug for InboundSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("InboundSecret").field("about", &self.about).finish_non_exhaustive()
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct InboundRotation {
    /// How long the old secret is good beside the new one; 0 if it is known to somebody.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(maximum = 168, default = 24)]
    pub overlap_hours: Option<u32>,
}
