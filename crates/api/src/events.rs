//! Live events: the common envelope, and the other messages of a stream or a socket. Sequence
//! numbers have no gaps within a tenant: events that a listener may not see are covered by a
//! `skip`, and events that are no longer available by a `reset`.

use ade_core::ids::{EventId, TenantId};
use ade_core::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::schema;

/// An event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Event {
    /// The same in every delivery of the event.
    #[schema(value_type = String, example = "evt_01k9xq3vb8f2n4s6t7w8y9z0ab")]
    pub id: EventId,
    /// The sequence number, without gaps within the tenant.
    pub seq: u64,
    /// The event type, for example `task.approved`.
    pub r#type: String,
    #[schema(value_type = String, example = "ten_01k9xq3vb8f2n4s6t7w8y9z0ab")]
    pub tenant_id: TenantId,
    /// The id of the object that the event is about.
    pub object: String,
    /// The version of the object after the event, if the object has versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<i64>,
    /// Who caused the event: the id of a person or an agent, or the name of a background worker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
    #[schema(value_type = schema::Timestamp)]
    pub at: Timestamp,
    /// Data that depends on the type. Read the object for its full state.
    #[schema(value_type = Object)]
    pub data: Value,
}

/// A socket message that is not an event: it has a `frame` and no `id`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "frame", rename_all = "snake_case")]
pub enum Frame {
    /// The first message: events after this sequence number follow.
    Ready { seq: u64 },
    /// There are no events for you up to this sequence number.
    Skip { seq: u64 },
    /// Some events cannot be delivered: reload everything; events after this sequence number
    /// follow.
    Reset { seq: u64 },
}

/// A server-sent event, as read from a stream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Message {
    /// Send it as `Last-Event-ID` to continue after this event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The type of `data`.
    pub event: String,
    /// JSON: an `Event`, a `LogLine` or an `Execution`, or only the `seq` of a frame.
    pub data: String,
}

/// A single-use, short-lived ticket for a socket: `GET /v1/ws?ticket=…`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Ticket {
    pub ticket: String,
    #[schema(value_type = schema::Timestamp)]
    pub expires_at: Timestamp,
}
