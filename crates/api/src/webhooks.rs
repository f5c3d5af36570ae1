//! Webhooks: addresses that are told of events, and what is on its way to them. A secret is in one
//! answer only: the one that made it.

use ade_core::ids::{DeliveryId, UserId, WebhookId};
use ade_core::time::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::schema;

/// How requests are signed, by the names that Standard Webhooks gives it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum WebhookScheme {
    /// HMAC-SHA-256 with a secret that both sides know.
    #[default]
    V1,
    /// Ed25519: the receiver needs the public key only.
    V1a,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewWebhook {
    /// With `https`, to an address of the open network.
    #[schema(min_length = 1, max_length = 2048, examples("https://hooks.example.com/ade"))]
    pub url: String,
    /// Types of events; `*` stands for any text.
    #[schema(min_items = 1, max_items = 64, examples(json!(["task.*", "approval.voted"])))]
    pub events: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 128)]
    pub label: Option<String>,
    #[serde(default)]
    pub scheme: WebhookScheme,
}

/// What is left out stays as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WebhookChange {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 2048)]
    pub url: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_items = 1, max_items = 64)]
    pub events: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 128)]
    pub label: Option<String>,
    /// A disabled one hears of nothing; what waited for it waits on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active: Option<bool>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Webhook {
    #[schema(value_type = schema::WebhookId)]
    pub id: WebhookId,
    pub url: String,
    pub events: Vec<String>,
    pub label: Option<String>,
    pub scheme: WebhookScheme,
    /// What verifies its signatures, for `v1a`.
    pub public_key: Option<String>,
    /// Until then the secret before the last change signs too.
    #[schema(value_type = Option<schema::Timestamp>)]
    pub old_secret_until: Option<Timestamp>,
    /// Made under the pepper before: rotate the secret before that one goes.
    pub secret_is_old: bool,
    pub active: bool,
    pub disabled_because: Option<String>,
    /// Failures in a row; past some of them it is left alone for a while.
    pub failures: u32,
    /// Nothing is sent before then.
    #[schema(value_type = Option<schema::Timestamp>)]
    pub resting_until: Option<Timestamp>,
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
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WebhookSecret {
    #[serde(flatten)]
    pub about: Webhook,
    /// For `v1`, as libraries for Standard Webhooks take it. Absent if the same request was
    /// answered before.
    pub secret: Option<String>,
}

/// The secret stays out of logs.
impl std::fmt::Debug for WebhookSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WebhookSecret").field("about", &self.about).finish_non_exhaustive()
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WebhookRotation {
    /// How long the old secret signs beside the new one; 0 if it is known to somebody.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(maximum = 168, default = 24)]
    pub overlap_hours: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum DeliveryState {
    /// Behind an earlier event of the same object.
    Waiting,
    Pending,
    Delivered,
    /// Given up; it can be sent again.
    Dead,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Delivery {
    #[schema(value_type = schema::DeliveryId)]
    pub id: DeliveryId,
    /// In the header `webhook-id`, the same in every try.
    pub event: String,
    /// Of the event; absent for a ping.
    pub seq: Option<i64>,
    #[serde(rename = "type")]
    pub kind: String,
    pub object: Option<String>,
    pub state: DeliveryState,
    pub tries: u32,
    /// When it is tried next, if it is.
    #[schema(value_type = Option<schema::Timestamp>)]
    pub next_at: Option<Timestamp>,
    /// Of the last answer.
    pub status: Option<u16>,
    /// How it began, on one line.
    pub excerpt: Option<String>,
    pub problem: Option<String>,
    #[schema(value_type = schema::Timestamp)]
    pub created_at: Timestamp,
    #[schema(value_type = Option<schema::Timestamp>)]
    pub tried_at: Option<Timestamp>,
    #[schema(value_type = Option<schema::Timestamp>)]
    pub ended_at: Option<Timestamp>,
}

/// Either some by their id, or all dead letters since a moment.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Redelivery {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<schema::DeliveryId>>, min_items = 1, max_items = 1000)]
    pub deliveries: Option<Vec<DeliveryId>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Timestamp>)]
    pub dead_since: Option<Timestamp>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Redelivered {
    /// How many go out again; those that were still on their way do not count.
    pub count: u64,
    /// As many as one call takes: ask once more.
    pub has_more: bool,
}
