//! Webhooks: endpoints that receive events, and their deliveries. A secret is returned only once,
//! when it is created.

use ade_core::ids::{DeliveryId, UserId, WebhookId};
use ade_core::time::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::schema;
use crate::seconds::Seconds;

/// The signature scheme, by its Standard Webhooks name.
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
    /// An `https` URL with a public address.
    #[schema(min_length = 1, max_length = 2048, examples("https://hooks.example.com/ade"))]
    pub url: String,
    /// The event types; `*` matches any text.
    #[schema(min_items = 1, max_items = 64, examples(json!(["task.*", "approval.voted"])))]
    pub events: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 128)]
    pub label: Option<String>,
    #[serde(default)]
    pub scheme: WebhookScheme,
}

/// Omitted fields stay unchanged.
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
    /// A disabled webhook receives no new events; its pending deliveries are kept.
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
    /// The key that verifies its signatures, for `v1a`.
    pub public_key: Option<String>,
    /// The time until which the previous secret also signs.
    #[schema(value_type = Option<schema::Timestamp>)]
    pub old_secret_until: Option<Timestamp>,
    /// True if the secret was made under the previous pepper: rotate it before that pepper is
    /// removed.
    pub secret_is_old: bool,
    pub active: bool,
    pub disabled_because: Option<String>,
    /// The number of consecutive failures; after several of them, sending pauses for a while.
    pub failures: u32,
    /// The time until which sending is paused.
    #[schema(value_type = Option<schema::Timestamp>)]
    pub resting_until: Option<Timestamp>,
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
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WebhookSecret {
    #[serde(flatten)]
    pub about: Webhook,
    /// The secret for `v1`, in the format of Standard Webhooks libraries. Absent in the response to
    /// a repeated request.
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
    /// How long the old secret also signs: defaults to a day, at most a week; use 0 if the
    /// secret has leaked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Seconds>)]
    pub overlap_seconds: Option<Seconds>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum DeliveryState {
    /// The delivery waits for an earlier event of the same object.
    Waiting,
    Pending,
    Delivered,
    /// The delivery was given up; it can be sent again.
    Dead,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Delivery {
    #[schema(value_type = schema::DeliveryId)]
    pub id: DeliveryId,
    /// The value of the header `webhook-id`, the same in every attempt.
    pub event_id: String,
    /// The sequence number of the event; absent for a ping.
    pub seq: Option<i64>,
    #[serde(rename = "type")]
    pub kind: String,
    pub object: Option<String>,
    pub state: DeliveryState,
    pub tries: u32,
    /// The time of the next attempt, if there is one.
    #[schema(value_type = Option<schema::Timestamp>)]
    pub next_at: Option<Timestamp>,
    /// The status of the last response.
    pub status: Option<u16>,
    /// The beginning of the response, on one line.
    pub excerpt: Option<String>,
    pub problem: Option<String>,
    #[schema(value_type = schema::Timestamp)]
    pub created_at: Timestamp,
    #[schema(value_type = Option<schema::Timestamp>)]
    pub tried_at: Option<Timestamp>,
    #[schema(value_type = Option<schema::Timestamp>)]
    pub ended_at: Option<Timestamp>,
}

/// Either deliveries by their ids, or all dead ones since a time.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Redelivery {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<schema::DeliveryId>>, min_items = 1, max_items = 1000)]
    pub delivery_ids: Option<Vec<DeliveryId>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Timestamp>)]
    pub dead_since: Option<Timestamp>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Redelivered {
    /// The number of deliveries that will be sent again; pending ones do not count.
    pub count: u64,
    /// True if the limit of one call was reached; call again for the rest.
    pub has_more: bool,
}
