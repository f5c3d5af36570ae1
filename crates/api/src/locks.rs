//! Locks: sets of resources held for a time by one acquisition. A lease id is the secret of its
//! holder: it is told to whoever asked for it, and to everybody else only as its hash.

use ade_core::change::Digest;
use ade_core::ids::{AgentId, AgentSessionId, LeaseId, TaskId, UserId};
use ade_core::resource::ResourceRef;
use ade_core::time::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::code::Code;
use crate::schema;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum LockMode {
    /// Alone.
    #[default]
    Exclusive,
    /// Beside others who share.
    Shared,
    /// At most `capacity` at once.
    Counting,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WantedLock {
    #[serde(rename = "type")]
    #[schema(pattern = "^[a-z0-9-][a-z0-9_-]{0,63}$", example = "database")]
    pub kind: String,
    #[schema(pattern = "^[!-~]{1,256}$", example = "orders")]
    pub id: String,
    #[serde(default)]
    pub mode: LockMode,
    /// For `counting`, and only for it.
    #[serde(default)]
    #[schema(minimum = 1, maximum = 10_000)]
    pub capacity: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewLease {
    /// Made by the caller from 128 random bits before it first sends: the same id again is the
    /// same request, whatever happened to the first answer. Made here if left out.
    #[serde(default)]
    #[schema(value_type = Option<schema::LeaseId>)]
    pub lease: Option<LeaseId>,
    /// The life of the asking process: leases of one session wait for each other's end, so a
    /// deadlock between sessions is found. A life of its own if left out.
    #[serde(default)]
    #[schema(value_type = Option<schema::AgentSessionId>)]
    pub session: Option<AgentSessionId>,
    /// All of them or none.
    #[schema(min_items = 1, max_items = 66)]
    pub resources: Vec<WantedLock>,
    /// How long the lease lives without a heartbeat: `30s` if left out, `300s` at most.
    #[serde(default)]
    #[schema(pattern = "^[0-9]{1,6}(s|ms)$", example = "30s")]
    pub ttl: Option<String>,
    /// How long to stand in line, `55s` at most; now or not at all if left out.
    #[serde(default)]
    #[schema(pattern = "^[0-9]{1,5}(s|ms)$", example = "20s")]
    pub wait: Option<String>,
    /// Overtakes at most so many who came before.
    #[serde(default)]
    #[schema(minimum = 0, maximum = 100)]
    pub priority: u32,
    /// Registered in the record: whoever is overtaken by it cannot commit any more.
    #[serde(default)]
    pub fenced: bool,
    /// What for; kept with a fenced lease.
    #[serde(default)]
    #[schema(min_length = 1, max_length = 4096)]
    pub purpose: Option<String>,
    /// The token of an advisory lease whose queue was lost: claims it again before newcomers.
    #[serde(default)]
    pub held_token: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum LeaseState {
    Granted,
    Waiting,
    /// Run out, and its resources rest until its holder must have stopped.
    Delayed,
    Released,
    Expired,
    Broken,
    TimedOut,
    /// Its wait would have closed a circle.
    Victim,
    /// No such lease, or the queue has lost it.
    Unknown,
    /// The queue cannot be reached: keep to the deadline that you know.
    Unsure,
}

impl LeaseState {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Granted => "granted",
            Self::Waiting => "waiting",
            Self::Delayed => "delayed",
            Self::Released => "released",
            Self::Expired => "expired",
            Self::Broken => "broken",
            Self::TimedOut => "timed_out",
            Self::Victim => "victim",
            Self::Unknown => "unknown",
            Self::Unsure => "unsure",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Lease {
    #[schema(value_type = schema::LeaseId)]
    pub lease: LeaseId,
    #[schema(value_type = schema::Digest)]
    pub lease_hash: Digest,
    #[schema(value_type = schema::AgentSessionId)]
    pub session: AgentSessionId,
    pub fenced: bool,
    /// Rises with every grant of a resource: show it to whatever you change.
    pub token: u64,
    #[schema(value_type = Vec<schema::ResourceName>)]
    pub resources: Vec<ResourceRef>,
    /// Unless a heartbeat comes before. Count from the moment you sent the request.
    #[schema(value_type = schema::Timestamp)]
    pub expires_at: Timestamp,
    /// Milliseconds that each heartbeat gives it.
    pub ttl_ms: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Heartbeat {
    /// Kept alive, and begun if it is new.
    #[serde(default)]
    #[schema(value_type = Option<schema::AgentSessionId>)]
    pub session: Option<AgentSessionId>,
    #[serde(default)]
    #[schema(value_type = Vec<schema::LeaseId>, max_items = 1000)]
    pub leases: Vec<LeaseId>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Beat {
    #[schema(value_type = schema::LeaseId)]
    pub lease: LeaseId,
    pub state: LeaseState,
    pub token: Option<u64>,
    /// Of the lease, or of the place in line.
    #[schema(value_type = Option<schema::Timestamp>)]
    pub expires_at: Option<Timestamp>,
    /// In line; 1 is next.
    pub position: Option<usize>,
    /// Why the heartbeat gave it nothing: `lease_held_too_long`, once it was kept for as long as it
    /// may be. It then ends at `expires_at`, whatever is sent until then.
    #[serde(default)]
    pub refused: Option<Code>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Beats {
    /// The session lives until then without another heartbeat.
    #[schema(value_type = Option<schema::Timestamp>)]
    pub session_until: Option<Timestamp>,
    /// In the order they were named.
    pub leases: Vec<Beat>,
}

/// A lease as others see it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LeaseView {
    #[schema(value_type = schema::Digest)]
    pub lease_hash: Digest,
    pub state: LeaseState,
    pub fenced: bool,
    #[schema(value_type = Option<schema::AgentId>)]
    pub agent: Option<AgentId>,
    #[schema(value_type = Option<schema::UserId>)]
    pub user: Option<UserId>,
    #[schema(value_type = Option<schema::TaskId>)]
    pub task: Option<TaskId>,
    /// What all leases of one process have in common.
    #[schema(value_type = schema::Digest)]
    pub owner_hash: Digest,
    pub resources: Vec<HeldLock>,
    pub priority: u32,
    pub token: Option<u64>,
    /// When its owner began.
    #[schema(value_type = schema::Timestamp)]
    pub since: Timestamp,
    #[schema(value_type = schema::Timestamp)]
    pub expires_at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct HeldLock {
    #[schema(value_type = schema::ResourceName)]
    pub resource: ResourceRef,
    pub mode: LockMode,
    pub capacity: Option<u32>,
}

/// One resource, with the first of those who hold it and of those who wait.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Lock {
    #[schema(value_type = schema::ResourceName)]
    pub resource: ResourceRef,
    pub holding: usize,
    pub waiting: usize,
    pub holders: Vec<LeaseView>,
    /// In the order in which they will be served.
    pub queue: Vec<LeaseView>,
}

/// Who waits for whom. Owners are processes or tasks, by the hash of their id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LockGraph {
    pub edges: Vec<LockEdge>,
    /// Those at whom all waiting ends, most blocking first.
    pub root_blockers: Vec<RootBlocker>,
    /// Everybody the edges are drawn between.
    pub leases: Vec<LeaseView>,
    /// There are more waits than were looked at.
    pub has_more: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LockEdge {
    #[schema(value_type = schema::Digest)]
    pub waiter: Digest,
    #[schema(value_type = schema::Digest)]
    pub waits_for: Digest,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RootBlocker {
    #[schema(value_type = schema::Digest)]
    pub owner_hash: Digest,
    /// So many cannot go on before it does.
    pub blocked: usize,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Deadlock {
    #[schema(value_type = schema::Timestamp)]
    pub at: Timestamp,
    /// The lease whose wait was ended.
    #[schema(value_type = schema::Digest)]
    pub victim: Digest,
    /// From the victim on, each waiting for the next and the last for the victim.
    pub cycle: Vec<LeaseView>,
}

/// Newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Deadlocks {
    pub items: Vec<Deadlock>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Breaking {
    #[schema(min_length = 1, max_length = 4096)]
    pub reason: String,
    /// Only this holder; all of them if left out.
    #[serde(default)]
    #[schema(value_type = Option<schema::Digest>)]
    pub lease_hash: Option<Digest>,
}

/// What was taken from its holders. They cannot commit any more; whether they have stopped is
/// another question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Broken {
    #[schema(value_type = schema::ResourceName)]
    pub resource: ResourceRef,
    pub leases: Vec<LeaseView>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewIncident {
    /// Each alone, all or none.
    #[schema(value_type = Vec<schema::ResourceName>, min_items = 1, max_items = 66)]
    pub resources: Vec<ResourceRef>,
    #[schema(min_length = 1, max_length = 4096)]
    pub reason: String,
    /// Within a day.
    #[schema(value_type = schema::Timestamp)]
    pub ends_at: Timestamp,
}

/// Resources that an operator keeps from everybody. Broken like any other lock when it is over
/// before its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Incident {
    #[schema(value_type = schema::Digest)]
    pub lease_hash: Digest,
    #[schema(value_type = Vec<schema::ResourceName>)]
    pub resources: Vec<ResourceRef>,
    pub reason: String,
    #[schema(value_type = schema::UserId)]
    pub set_by: UserId,
    #[schema(value_type = schema::Timestamp)]
    pub ends_at: Timestamp,
}
