//! The status of the server: liveness and readiness for probes, and degraded components for
//! people.

use ade_core::time::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::schema;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Readiness {
    /// The server accepts requests.
    Ready,
    /// The server finishes running requests and accepts no new ones.
    Draining,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Health {
    pub readiness: Readiness,
    /// Whether locks can be acquired. Everything else works without them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub locks: Option<bool>,
    /// Whether the whole installation is frozen: everything except permits still works.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frozen: Option<bool>,
}

/// A freeze of applies in all tenants, set by an operator of the server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct InstallationFreeze {
    /// A rising number.
    pub number: i64,
    pub reason: String,
    /// The local account name of the operator; not an account of your tenant.
    pub set_by: String,
    #[schema(value_type = schema::Timestamp)]
    pub since: Timestamp,
}

/// A degraded component and the consequences.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Degradation {
    /// The affected component, for example `replica`.
    pub part: String,
    pub detail: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Status {
    pub readiness: Readiness,
    /// The number of seconds since this process started listening.
    pub uptime_seconds: u64,
    /// Absent if no freeze is in force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub freeze: Option<InstallationFreeze>,
    /// Empty if everything works.
    pub degradations: Vec<Degradation>,
    /// One line for people: the worst problem and the number of others. Absent if everything works.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub banner: Option<String>,
    /// The last activation of each worker, in any process.
    pub workers: Vec<Worker>,
    /// How far live events lag behind; absent if the database does not respond.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub events: Option<EventsStatus>,
    /// The state of your tenant's read models in Redis; absent if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_models: Option<ReadModels>,
}

/// Read-only copies that are updated from events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ReadModels {
    /// The number of events that are not applied yet.
    pub behind: u64,
    /// The number of differences from the database that were repaired since the last rebuild.
    pub differences: u64,
}

/// Events that have not been published yet.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct EventsStatus {
    /// The number of events, counted up to ten thousand.
    pub waiting: u64,
    /// The age of the oldest of them in seconds.
    pub lag_seconds: f64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Worker {
    pub name: String,
    /// The shard of tenants, for a worker that is sharded.
    #[serde(default)]
    pub shard: i32,
    /// Whether a process currently holds the worker's lease.
    pub is_held: bool,
    #[schema(value_type = Option<schema::Timestamp>)]
    pub ran_at: Option<Timestamp>,
    pub runs: i64,
    /// The number of processed items.
    pub items: i64,
    /// The error of the last activation, if it failed.
    pub failure: Option<String>,
}

/// The entry point of the API: links to its descriptions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Index {
    /// The version of the server.
    pub version: String,
    /// The API reference for people.
    #[schema(format = "uri")]
    pub docs: String,
    /// The API description for programs, OpenAPI 3.1.
    #[schema(format = "uri")]
    pub openapi: String,
    /// The part of the description that an agent needs.
    #[schema(format = "uri")]
    pub agent_openapi: String,
    /// A short description for language models.
    #[schema(format = "uri")]
    pub llms: String,
    /// The state of the server and its components.
    #[schema(format = "uri")]
    pub status: String,
    /// The account that a token belongs to.
    #[schema(format = "uri")]
    pub me: String,
}
