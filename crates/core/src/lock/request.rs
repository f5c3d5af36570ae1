//! A lock request: a whole set of resources, each in a mode, for one owner. A `Request` is always
//! valid once built, and all rules rely on that.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use thiserror::Error;

use crate::ids::{IdError, LeaseId, ProcessId, SessionId, TaskId};
use crate::limits::{
    LEASE_TTL_MAX, LOCK_BOOST_MAX, LOCK_COUNTING_CAPACITY_MAX, LOCK_DELAY_MAX, LOCK_SET_MAX,
    LOCK_WAIT_MAX, LOCKS_PER_AGENT_MAX, NAME_MAX_BYTES,
};
use crate::resource::ResourceRef;
use crate::time::Timestamp;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mode {
    Exclusive,
    Shared,
    /// At most `capacity` holders at once, for agent slots and "at most three deploys".
    Counting {
        capacity: u32,
    },
}

impl Mode {
    /// Returns whether two holders in these modes exclude each other. Counting modes never conflict
    /// as a pair: whether there is room depends on all holders; see [`Mode::fits_beside`].
    pub fn conflicts_with(self, other: Self) -> bool {
        match (self, other) {
            (Self::Shared, Self::Shared) | (Self::Counting { .. }, Self::Counting { .. }) => false,
            (Self::Exclusive | Self::Counting { .. }, Self::Exclusive | Self::Shared)
            | (Self::Exclusive | Self::Shared, Self::Counting { .. })
            | (Self::Shared, Self::Exclusive) => true,
        }
    }

    /// Returns whether one more holder fits next to all of `others`. If capacities differ because
    /// the setting changed, the smallest one applies.
    pub fn fits_beside(self, others: impl IntoIterator<Item = Self>) -> bool {
        let mut count: u32 = 1;
        let mut room = self.capacity();
        for other in others {
            if self.conflicts_with(other) {
                return false;
            }
            count = count.saturating_add(1);
            room = room.min(other.capacity());
        }
        count <= room
    }

    fn capacity(self) -> u32 {
        match self {
            Self::Exclusive => 1,
            Self::Shared => u32::MAX,
            Self::Counting { capacity } => capacity,
        }
    }
}

/// Resources in canonical order, each once. Fence rows are locked in this order.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct LockSet(BTreeMap<ResourceRef, Mode>);

impl LockSet {
    pub fn new(
        wanted: impl IntoIterator<Item = (ResourceRef, Mode)>,
    ) -> Result<Self, RequestError> {
        let mut set = BTreeMap::new();
        for (resource, mode) in wanted {
            if let Mode::Counting { capacity } = mode
                && !(1..=LOCK_COUNTING_CAPACITY_MAX).contains(&capacity)
            {
                return Err(RequestError::BadCapacity { resource, capacity });
            }
            if set.contains_key(&resource) {
                return Err(RequestError::Duplicate { resource });
            }
            set.insert(resource, mode);
            if set.len() > LOCK_SET_MAX {
                return Err(RequestError::TooManyResources);
            }
        }
        if set.is_empty() {
            return Err(RequestError::NoResource);
        }
        Ok(Self(set))
    }

    pub fn iter(&self) -> impl Iterator<Item = (&ResourceRef, Mode)> {
        self.0.iter().map(|(resource, mode)| (resource, *mode))
    }

    pub fn resources(&self) -> impl Iterator<Item = &ResourceRef> {
        self.0.keys()
    }

    pub fn mode_of(&self, resource: &ResourceRef) -> Option<Mode> {
        self.0.get(resource).copied()
    }

    #[expect(
        clippy::len_without_is_empty,
        reason = "a set is never empty, so `is_empty` would always return false"
    )]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns whether an agent that uses `taken` resources already may take these too.
    pub fn fits_an_agent_with(&self, taken: usize) -> bool {
        taken.saturating_add(self.len()) <= LOCKS_PER_AGENT_MAX
    }
}

/// The owner of waits and holds in the wait graph: all leases of one owner depend on the same
/// program. Owners are ordered by text, so that both sides agree on the order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Owner {
    /// An agent process that acquires locks for itself.
    Agent(ProcessId),
    /// A person at a terminal or a dashboard.
    User(SessionId),
    Task(TaskId),
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Task(id) => fmt::Display::fmt(id, f),
            Self::Agent(id) => fmt::Display::fmt(id, f),
            Self::User(id) => fmt::Display::fmt(id, f),
        }
    }
}

impl FromStr for Owner {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        let agent = || text.parse().map(Self::Agent);
        let user = || text.parse().map(Self::User);
        agent().or_else(|_| user()).or_else(|_| text.parse().map(Self::Task))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LeaseClass {
    /// The hold is registered in PostgreSQL before anything is done under it. After the expiry of a
    /// registered hold its resources stay locked for `lock_delay`, the time by which a step that
    /// cannot be fenced may overrun.
    Fenced { lock_delay: Duration },
    /// Only the queue knows the lease; it is never a reason to commit.
    Advisory,
}

impl LeaseClass {
    pub const fn lock_delay(self) -> Duration {
        match self {
            Self::Fenced { lock_delay } => lock_delay,
            Self::Advisory => Duration::ZERO,
        }
    }
}

/// The fields of a request; [`Request::new`] validates them.
#[derive(Debug, Clone)]
pub struct RequestDraft {
    /// Chosen by the caller before the first send: the same id again is the same request.
    pub lease: LeaseId,
    pub owner: Owner,
    /// The process to wake.
    pub node: String,
    /// When the owner was created. The youngest owner in a deadlock loses its wait.
    pub birth: Timestamp,
    pub class: LeaseClass,
    pub set: LockSet,
    pub ttl: Duration,
    /// How long the wait lives without a heartbeat. Zero means that the request is granted at once
    /// or refused.
    pub wait: Duration,
    pub boost: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RequestError {
    #[error("the lock request lists no resource: list at least one")]
    NoResource,
    #[error("the lock request lists more than {LOCK_SET_MAX} resources: split the task")]
    TooManyResources,
    #[error("`{resource}` is listed twice: list it once, in the strongest mode needed")]
    Duplicate { resource: ResourceRef },
    #[error("`{resource}` has capacity {capacity}: it must be 1 to {LOCK_COUNTING_CAPACITY_MAX}")]
    BadCapacity { resource: ResourceRef, capacity: u32 },
    #[error(
        "a TTL of {given:?} is out of range: it must be more than zero and at most \
             {LEASE_TTL_MAX:?}"
    )]
    BadTtl { given: Duration },
    #[error("a wait of {given:?} is too long: wait at most {LOCK_WAIT_MAX:?}, then retry")]
    BadWait { given: Duration },
    #[error("a lock delay of {given:?} is too long: at most {LOCK_DELAY_MAX:?}")]
    BadDelay { given: Duration },
    #[error("{given:?} is finer than the lock clock: use whole milliseconds")]
    TooFine { given: Duration },
    #[error("a boost of {given} is too high: at most {LOCK_BOOST_MAX}")]
    BadBoost { given: u32 },
    #[error(
        "`{given}` is not a node name: use printable ASCII without spaces, 1 to {NAME_MAX_BYTES}"
    )]
    BadNode { given: String },
}

/// Returns the principal of a lease from the name of its node.
pub fn principal_of(node: &str) -> &str {
    node.split_once('@').map_or(node, |(principal, _)| principal)
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Request {
    lease: LeaseId,
    owner: Owner,
    node: String,
    birth: Timestamp,
    class: LeaseClass,
    set: LockSet,
    ttl: Duration,
    wait: Duration,
    boost: u32,
}

impl Request {
    pub fn new(draft: RequestDraft) -> Result<Self, RequestError> {
        let RequestDraft { lease, owner, node, birth, class, set, ttl, wait, boost } = draft;
        if ttl.is_zero() || ttl > LEASE_TTL_MAX {
            return Err(RequestError::BadTtl { given: ttl });
        }
        if wait > LOCK_WAIT_MAX {
            return Err(RequestError::BadWait { given: wait });
        }
        let lock_delay = class.lock_delay();
        if lock_delay > LOCK_DELAY_MAX {
            return Err(RequestError::BadDelay { given: lock_delay });
        }
        for given in [ttl, wait, lock_delay] {
            if given.subsec_nanos() % 1_000_000 != 0 {
                return Err(RequestError::TooFine { given });
            }
        }
        if boost > LOCK_BOOST_MAX {
            return Err(RequestError::BadBoost { given: boost });
        }
        let node_holds = (1..=NAME_MAX_BYTES).contains(&node.len())
            && node.bytes().all(|b| b.is_ascii_graphic());
        if !node_holds {
            return Err(RequestError::BadNode { given: node });
        }
        Ok(Self { lease, owner, node, birth, class, set, ttl, wait, boost })
    }

    pub const fn lease(&self) -> LeaseId {
        self.lease
    }

    pub const fn owner(&self) -> Owner {
        self.owner
    }

    pub fn node(&self) -> &str {
        &self.node
    }

    /// Returns the principal of the request from the name of its node: `agt_…` of `agt_…@service`.
    pub fn principal(&self) -> &str {
        principal_of(&self.node)
    }

    /// Returns the agent that acquires locks for itself, regardless of its process, because it
    /// could start any number of processes. Locks of people and tasks are bounded elsewhere.
    pub fn agent(&self) -> Option<&str> {
        match self.owner {
            Owner::Agent(_) => Some(self.principal()),
            Owner::User(_) | Owner::Task(_) => None,
        }
    }

    pub const fn birth(&self) -> Timestamp {
        self.birth
    }

    pub const fn class(&self) -> LeaseClass {
        self.class
    }

    pub const fn set(&self) -> &LockSet {
        &self.set
    }

    pub const fn ttl(&self) -> Duration {
        self.ttl
    }

    pub const fn wait(&self) -> Duration {
        self.wait
    }

    pub const fn boost(&self) -> u32 {
        self.boost
    }

    /// Returns whether both requests are the same acquisition: equal lease id, owner and set. Wait
    /// and boost may differ between retries, and a rebuild does not keep them.
    pub fn asks_the_same_as(&self, other: &Self) -> bool {
        self.lease == other.lease && self.owner == other.owner && self.set == other.set
    }
}

#[cfg(test)]
#[path = "request_tests.rs"]
mod tests;
