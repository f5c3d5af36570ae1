//! Live events: the one envelope, and what a stream or a socket says besides. Numbers are dense in
//! a tenant: what a listener may not see is passed over by a `skip`, and what cannot be told any
//! more by a `reset`.

use ade_core::ids::{EventId, TenantId};
use ade_core::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::schema;

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Event {
    /// The same wherever and however often it is delivered.
    #[schema(value_type = String, example = "evt_01k9xq3vb8f2n4s6t7w8y9z0ab")]
    pub id: EventId,
    /// Dense within the tenant.
    pub seq: u64,
    /// For example `task.approved`.
    pub r#type: String,
    #[schema(value_type = String, example = "ten_01k9xq3vb8f2n4s6t7w8y9z0ab")]
    pub tenant: TenantId,
    /// What it happened to, by its id.
    pub object: String,
    /// The version of the object that it made, if it has versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<i64>,
    /// Who did it: a person or an agent by its id, or one of the server's own workers by its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
    #[schema(value_type = schema::Timestamp)]
    pub at: Timestamp,
    /// What differs from one type to the next. Read the object for the whole.
    #[schema(value_type = Object)]
    pub data: Value,
}

/// What a socket says that is no event: it has a `frame` and no `id`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "frame", rename_all = "snake_case")]
pub enum Frame {
    /// The first: events follow that come after this number.
    Ready { seq: u64 },
    /// Up to this number there is nothing for you.
    Skip { seq: u64 },
    /// Some events cannot be told: read everything anew; events follow that come after this one.
    Reset { seq: u64 },
}

/// One server-sent event, as it is read from a stream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Message {
    /// For `Last-Event-ID`, to go on after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// What `data` is.
    pub event: String,
    /// JSON: an `Event`, a `LogLine` or an `Execution`, or only the `seq` of a frame.
    pub data: String,
}

/// Opens one socket, once and soon: `GET /v1/ws?ticket=…`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Ticket {
    pub ticket: String,
    #[schema(value_type = schema::Timestamp)]
    pub expires_at: Timestamp,
}
