//! Sources of drafts: other systems that send signed events, and the template that turns each event
//! into a draft. A secret is returned only once, when it is created.

use ade_core::ids::{AgentId, InboundId, UserId};
use ade_core::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::schema;
use crate::seconds::Seconds;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewInboundSource {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 128)]
    pub label: Option<String>,
    /// The agent that proposes the drafts, with the permissions of the person it acts for.
    #[schema(value_type = schema::AgentId)]
    pub agent_id: AgentId,
    /// A task in the format of `POST /v1/tasks`. In its strings, `{{/a/b}}` is replaced by the
    /// value of the event at that JSON pointer; `type` must be fixed.
    #[schema(value_type = Object)]
    pub template: Value,
}

/// Omitted fields stay unchanged.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(min_properties = 1)]
pub struct InboundSourceChange {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 128)]
    pub label: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::AgentId>)]
    pub agent_id: Option<AgentId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub template: Option<Value>,
    /// Messages from an inactive source are refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active: Option<bool>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct InboundSource {
    #[schema(value_type = schema::InboundId)]
    pub id: InboundId,
    /// The path to send messages to.
    #[schema(
        example = "/v1/inbound/ten_01k9xq3vb8f2n4s6t7w8y9z0ab/inb_01k9xq3vb8f2n4s6t7w8y9z0ab"
    )]
    pub path: String,
    pub label: Option<String>,
    #[schema(value_type = schema::AgentId)]
    pub agent_id: AgentId,
    #[schema(value_type = Object)]
    pub template: Value,
    pub active: bool,
    /// The time until which the previous secret is still accepted.
    #[schema(value_type = Option<schema::Timestamp>)]
    pub old_secret_until: Option<Timestamp>,
    /// True if the secret was made under the previous pepper: rotate it before that pepper is
    /// removed.
    pub secret_is_old: bool,
    /// The version for `If-Match`.
    pub version: u64,
    #[schema(value_type = schema::UserId)]
    pub created_by: UserId,
    #[schema(value_type = schema::Timestamp)]
    pub created_at: Timestamp,
    #[schema(value_type = schema::Timestamp)]
    pub changed_at: Timestamp,
}

/// Shown once: the server stores no copy.
#[derive(Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct InboundSecret {
    #[serde(flatten)]
    pub about: InboundSource,
    /// The secret in the format of Standard Webhooks libraries. Absent in the response to a
    /// repeated request.
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
    /// How long the old secret stays valid: defaults to a day, at most a week; use 0 if the
    /// secret has leaked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Seconds>)]
    pub overlap_seconds: Option<Seconds>,
}
