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
    /// Empty if all is well.
    pub degradations: Vec<Degradation>,
    /// What each worker did last, in whichever process it ran.
    pub workers: Vec<Worker>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Worker {
    pub name: String,
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
