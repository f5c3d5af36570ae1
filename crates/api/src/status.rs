//! What the server tells about itself: to probes whether it is alive and takes requests, to
//! people what is degraded.

use ade_core::time::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::schema;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Readiness {
    /// Takes requests.
    Ready,
    /// Ends what it has begun and takes nothing new.
    Draining,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Health {
    pub readiness: Readiness,
    /// Whether locks can be had. Everything else is taken also while they cannot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub locks: Option<bool>,
    /// Whether the whole installation is frozen: everything but permits is given meanwhile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frozen: Option<bool>,
}

/// A stop of applies in all tenants, by whoever runs the server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct InstallationFreeze {
    /// Counts up.
    pub number: i64,
    pub reason: String,
    /// What they are called where they sat; no account of your tenant.
    pub set_by: String,
    #[schema(value_type = schema::Timestamp)]
    pub since: Timestamp,
}

/// Something that works less well than it should, and what follows from it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Degradation {
    /// What is affected, for example `replica`.
    pub part: String,
    pub detail: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Status {
    pub readiness: Readiness,
    /// Seconds since this process began to listen.
    pub uptime_s: u64,
    /// Nothing if none is in force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub freeze: Option<InstallationFreeze>,
    /// Empty if all is well.
    pub degradations: Vec<Degradation>,
    /// One line for people: the worst of it, and how much more there is. Absent if all is well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub banner: Option<String>,
    /// What each worker did last, in whichever process it ran.
    pub workers: Vec<Worker>,
    /// How far live events are behind what happened; nothing if the record does not answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub events: Option<EventsStatus>,
    /// How the copies of your tenant in Redis stand; nothing where there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_models: Option<ReadModels>,
}

/// Copies for reading, which are written behind the events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ReadModels {
    /// Events that they have yet to see.
    pub behind: u64,
    /// Found unlike the record and written anew, since they were last lost.
    pub differences: u64,
}

/// Events that happened and of which nobody has been told yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EventsStatus {
    /// Counted up to ten thousand.
    pub waiting: u64,
    /// Milliseconds since the oldest of them.
    pub lag_ms: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Worker {
    pub name: String,
    /// Which part of the tenants, of a worker that serves them in parts.
    #[serde(default)]
    pub shard: i32,
    /// Some process holds its lease now.
    pub is_held: bool,
    #[schema(value_type = Option<schema::Timestamp>)]
    pub ran_at: Option<Timestamp>,
    pub runs: i64,
    /// Taken up so far.
    pub items: i64,
    /// Why the last activation failed, if it did.
    pub failure: Option<String>,
}
