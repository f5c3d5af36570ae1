//! Locks: sets of resources held for a time by one acquisition. A lease id is the secret of its
//! holder: only the requester sees it, everyone else sees its hash.

use ade_core::change::Digest;
use ade_core::ids::{AgentId, LeaseId, ProcessId, TaskId, UserId};
use ade_core::resource::ResourceRef;
use ade_core::time::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::cause::Cause;
use crate::code::Code;
use crate::resource_input;
use crate::schema;
use crate::seconds::Seconds;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum LockMode {
    /// No other holder.
    #[default]
    Exclusive,
    /// Together with other shared holders.
    Shared,
    /// At most `capacity` holders at once.
    Counting,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WantedLock {
    #[schema(value_type = schema::ResourceName)]
    pub resource: ResourceRef,
    #[serde(default)]
    pub mode: LockMode,
    /// Required for `counting`, and only allowed there.
    #[serde(default)]
    #[schema(minimum = 1, maximum = 10_000)]
    pub capacity: Option<u32>,
}

impl From<ResourceRef> for WantedLock {
    fn from(resource: ResourceRef) -> Self {
        Self { resource, mode: LockMode::Exclusive, capacity: None }
    }
}

/// A resource to lock: its name, or an object with the lock mode.
#[derive(Debug, ToSchema)]
#[serde(untagged)]
pub enum WantedLockInput {
    Name(schema::ResourceName),
    Lock(WantedLock),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewLease {
    /// The lease id, chosen by the caller from 128 random bits before the first send: the same id
    /// is the same request, whatever happened to the first response. Generated if omitted.
    #[serde(default)]
    #[schema(value_type = Option<schema::LeaseId>)]
    pub lease_id: Option<LeaseId>,
    /// The requesting process. Leases of one process wait together, so that deadlocks between
    /// processes are detected. Defaults to a process of its own.
    #[serde(default)]
    #[schema(value_type = Option<schema::ProcessId>)]
    pub process_id: Option<ProcessId>,
    /// All resources are locked, or none.
    #[serde(deserialize_with = "resource_input::list")]
    #[schema(value_type = Vec<WantedLockInput>, min_items = 1, max_items = 66)]
    pub resources: Vec<WantedLock>,
    /// How long the lease lives without a heartbeat: defaults to 30, at most 300.
    #[serde(default)]
    #[schema(value_type = Option<schema::Seconds>)]
    pub ttl_seconds: Option<Seconds>,
    /// How many seconds to wait in the queue, at most 55; defaults to no wait.
    #[serde(default)]
    #[schema(value_type = Option<schema::Seconds>)]
    pub wait: Option<Seconds>,
    /// The maximum number of earlier requests that this request overtakes.
    #[serde(default)]
    #[schema(minimum = 0, maximum = 100)]
    pub priority: u32,
    /// Whether to register the lease in the database, so that a holder that lost its lock can no
    /// longer commit.
    #[serde(default)]
    pub fenced: bool,
    /// The purpose, stored with a fenced lease.
    #[serde(default)]
    #[schema(min_length = 1, max_length = 4096)]
    pub purpose: Option<String>,
    /// The token of an advisory lease whose queue was lost: reclaims it before new requests.
    #[serde(default)]
    pub held_fence: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum LeaseState {
    Granted,
    Waiting,
    /// The lease has expired; its resources stay blocked until its holder must have stopped.
    Delayed,
    Released,
    Expired,
    Broken,
    TimedOut,
    /// The wait was ended because it would have caused a deadlock.
    Deadlocked,
    /// There is no such lease, or the queue has lost it.
    Unknown,
    /// The queue is unavailable: rely on the last known deadline.
    Uncertain,
}

impl LeaseState {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Granted => "GRANTED",
            Self::Waiting => "WAITING",
            Self::Delayed => "DELAYED",
            Self::Released => "RELEASED",
            Self::Expired => "EXPIRED",
            Self::Broken => "BROKEN",
            Self::TimedOut => "TIMED_OUT",
            Self::Deadlocked => "DEADLOCKED",
            Self::Unknown => "UNKNOWN",
            Self::Uncertain => "UNCERTAIN",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Lease {
    #[schema(value_type = schema::LeaseId)]
    pub lease_id: LeaseId,
    #[schema(value_type = schema::Digest)]
    pub lease_hash: Digest,
    #[schema(value_type = schema::ProcessId)]
    pub process_id: ProcessId,
    pub fenced: bool,
    /// The fencing token. It rises with every grant of a resource: pass it to the system that you
    /// change.
    pub fence: u64,
    #[schema(value_type = Vec<schema::ResourceName>)]
    pub resources: Vec<ResourceRef>,
    /// The time of expiry unless a heartbeat arrives earlier. Count from the time at which you sent
    /// the request.
    #[schema(value_type = schema::Timestamp)]
    pub expires_at: Timestamp,
    /// The number of seconds that each heartbeat extends the lease by.
    pub ttl_seconds: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Heartbeat {
    /// The process to keep alive; registered if it is new.
    #[serde(default)]
    #[schema(value_type = Option<schema::ProcessId>)]
    pub process_id: Option<ProcessId>,
    #[serde(default)]
    #[schema(value_type = Vec<schema::LeaseId>, max_items = 1000)]
    pub lease_ids: Vec<LeaseId>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Beat {
    #[schema(value_type = schema::LeaseId)]
    pub lease_id: LeaseId,
    pub state: LeaseState,
    pub fence: Option<u64>,
    /// The expiry of the lease, or of the place in the queue.
    #[schema(value_type = Option<schema::Timestamp>)]
    pub expires_at: Option<Timestamp>,
    /// The position in the queue; 1 is next.
    pub position: Option<usize>,
    /// Why the heartbeat did not extend the lease: `lease_held_too_long` once the maximum lease age
    /// is reached. The lease then ends at `expires_at`.
    #[serde(default)]
    pub refused: Option<Code>,
    /// Who broke the lease and why, if its state is `BROKEN`.
    #[serde(default)]
    pub broken: Option<Cause>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Beats {
    /// The time at which the process expires without another heartbeat.
    #[schema(value_type = Option<schema::Timestamp>)]
    pub process_expires_at: Option<Timestamp>,
    /// The leases in the order of the request.
    pub leases: Vec<Beat>,
}

/// A lease without its resources, as others see it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LeaseSummary {
    #[schema(value_type = schema::Digest)]
    pub lease_hash: Digest,
    pub state: LeaseState,
    pub fenced: bool,
    #[schema(value_type = Option<schema::AgentId>)]
    pub agent_id: Option<AgentId>,
    #[schema(value_type = Option<schema::UserId>)]
    pub user_id: Option<UserId>,
    #[schema(value_type = Option<schema::TaskId>)]
    pub task_id: Option<TaskId>,
    /// A value that all leases of one process share.
    #[schema(value_type = schema::Digest)]
    pub owner_hash: Digest,
    pub priority: u32,
    pub fence: Option<u64>,
    /// The time at which the owner started.
    #[schema(value_type = schema::Timestamp)]
    pub since: Timestamp,
    #[schema(value_type = schema::Timestamp)]
    pub expires_at: Timestamp,
}

/// A lease with all its resources, as others see it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LeaseView {
    #[serde(flatten)]
    pub summary: LeaseSummary,
    pub resources: Vec<HeldLock>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct HeldLock {
    #[schema(value_type = schema::ResourceName)]
    pub resource: ResourceRef,
    pub mode: LockMode,
    pub capacity: Option<u32>,
}

/// A lease that holds or waits for one lock, with the mode in which it does. The other resources of
/// the lease are in `GET /v1/leases` under the same `lease_hash`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LockEntry {
    #[serde(flatten)]
    pub summary: LeaseSummary,
    pub mode: LockMode,
    pub capacity: Option<u32>,
}

/// A resource with its first holders and waiters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Lock {
    #[schema(value_type = schema::ResourceName)]
    pub resource: ResourceRef,
    pub holding: usize,
    pub waiting: usize,
    pub holders: Vec<LockEntry>,
    /// The waiters in the order in which they will be served.
    pub queue: Vec<LockEntry>,
}

/// The wait graph. Owners are processes or tasks, identified by the hash of their id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LockGraph {
    pub edges: Vec<LockEdge>,
    /// The holders at the root of all waits, most blocking first.
    pub root_blockers: Vec<RootBlocker>,
    /// The leases that the edges connect.
    pub leases: Vec<LeaseView>,
    /// True if there are more waits than were examined.
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
    /// The number of requests that this holder blocks.
    pub blocked: usize,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Deadlock {
    #[schema(value_type = schema::Timestamp)]
    pub at: Timestamp,
    /// The lease whose wait was ended.
    #[schema(value_type = schema::Digest)]
    pub victim: Digest,
    /// The cycle, starting at the victim: each lease waits for the next, and the last one for the
    /// victim.
    pub cycle: Vec<LeaseView>,
}

/// The deadlocks, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Deadlocks {
    pub items: Vec<Deadlock>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Breaking {
    #[schema(min_length = 1, max_length = 4096)]
    pub reason: String,
    /// Only this holder; defaults to all holders.
    #[serde(default)]
    #[schema(value_type = Option<schema::Digest>)]
    pub lease_hash: Option<Digest>,
}

/// The locks that were taken from their holders. The holders can no longer commit; they may still
/// be running.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Broken {
    #[schema(value_type = schema::ResourceName)]
    pub resource: ResourceRef,
    pub leases: Vec<LeaseView>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewIncident {
    /// The resources, each locked exclusively, all or none.
    #[schema(value_type = Vec<schema::ResourceName>, min_items = 1, max_items = 66)]
    pub resources: Vec<ResourceRef>,
    #[schema(min_length = 1, max_length = 4096)]
    pub reason: String,
    /// The end, within a day from now.
    #[schema(value_type = schema::Timestamp)]
    pub ends_at: Timestamp,
}

/// Resources that an operator has locked for everyone. To end the incident early, break the lock.
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
