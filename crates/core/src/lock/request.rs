//! What is asked of a space: a whole set of resources, each in a mode, for one owner. A
//! `Request` cannot be invalid once built; every rule behind it may rely on that.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use thiserror::Error;

use crate::ids::{AgentSessionId, IdError, LeaseId, SessionId, TaskId};
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
    /// Two that can never hold together. Counting modes never conflict as a pair: whether there
    /// is room is a question about everybody, asked by [`Mode::fits_beside`].
    pub fn conflicts_with(self, other: Self) -> bool {
        match (self, other) {
            (Self::Shared, Self::Shared) | (Self::Counting { .. }, Self::Counting { .. }) => false,
            (Self::Exclusive | Self::Counting { .. }, Self::Exclusive | Self::Shared)
            | (Self::Exclusive | Self::Shared, Self::Counting { .. })
            | (Self::Shared, Self::Exclusive) => true,
        }
    }

    /// Whether one more may hold beside all of `others`. Where capacities differ (somebody
    /// changed the setting meanwhile), the smallest that anyone involved was promised rules.
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

/// Resources in canonical order, each once: the order in which fence rows are locked.
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
        reason = "a set is never empty, so the question would have one answer"
    )]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether an agent that has taken so many resources already may take these too.
    pub fn fits_an_agent_with(&self, taken: usize) -> bool {
        taken.saturating_add(self.len()) <= LOCKS_PER_AGENT_MAX
    }
}

/// Who waits and holds, as the wait-for graph sees it: all leases of one owner stand and fall
/// by the same program. In the order of their texts, so that whoever knows only those agrees on
/// who comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Owner {
    /// An agent process that asks for itself.
    Agent(AgentSessionId),
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
pub enum Class {
    /// Registered in PostgreSQL before anything is done under it. After the expiry of a
    /// registered hold the resources rest for `lock_delay`, the time a step that cannot be
    /// fenced may overrun.
    Fenced { lock_delay: Duration },
    /// Known to the queue alone; never a reason to commit.
    Advisory,
}

impl Class {
    pub const fn lock_delay(self) -> Duration {
        match self {
            Self::Fenced { lock_delay } => lock_delay,
            Self::Advisory => Duration::ZERO,
        }
    }
}

/// What a caller fills in; [`Request::new`] checks it.
#[derive(Debug, Clone)]
pub struct RequestDraft {
    /// Made by the caller before it first sends: the same id again is the same request.
    pub lease: LeaseId,
    pub owner: Owner,
    /// The process to wake.
    pub node: String,
    /// When the owner came to be: of a deadlock, the youngest loses its wait.
    pub birth: Timestamp,
    pub class: Class,
    pub set: LockSet,
    pub ttl: Duration,
    /// How long the wait lives without a heartbeat; zero asks to be granted now or not at all.
    pub wait: Duration,
    pub boost: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RequestError {
    #[error("a lock request names no resource: name at least one")]
    NoResource,
    #[error("a lock request names more than {LOCK_SET_MAX} resources: split the task")]
    TooManyResources,
    #[error("`{resource}` is named twice: name it once, in the strongest mode needed")]
    Duplicate { resource: ResourceRef },
    #[error("`{resource}` has capacity {capacity}: it must be 1 to {LOCK_COUNTING_CAPACITY_MAX}")]
    BadCapacity { resource: ResourceRef, capacity: u32 },
    #[error("a ttl of {given:?} is out of range: more than zero, at most {LEASE_TTL_MAX:?}")]
    BadTtl { given: Duration },
    #[error("a wait of {given:?} is too long: at most {LOCK_WAIT_MAX:?}, then ask again")]
    BadWait { given: Duration },
    #[error("a lock delay of {given:?} is too long: at most {LOCK_DELAY_MAX:?}")]
    BadDelay { given: Duration },
    #[error("{given:?} is finer than the lock's clock: use whole milliseconds")]
    TooFine { given: Duration },
    #[error("a boost of {given} is too high: at most {LOCK_BOOST_MAX}")]
    BadBoost { given: u32 },
    #[error("`{given}` names no node: printable ASCII without blanks, 1 to {NAME_MAX_BYTES}")]
    BadNode { given: String },
}

/// Whom a lease belongs to, as its node says.
pub fn principal_of(node: &str) -> &str {
    node.split_once('@').map_or(node, |(principal, _)| principal)
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Request {
    lease: LeaseId,
    owner: Owner,
    node: String,
    birth: Timestamp,
    class: Class,
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

    /// Whom it belongs to, as its node says: `agt_…` of `agt_…@service`.
    pub fn principal(&self) -> &str {
        principal_of(&self.node)
    }

    /// The agent that asks for itself, whichever of its processes that is: one could open as many
    /// as it likes. What people and tasks ask for is bounded elsewhere.
    pub fn agent(&self) -> Option<&str> {
        match self.owner {
            Owner::Agent(_) => Some(self.principal()),
            Owner::User(_) | Owner::Task(_) => None,
        }
    }

    pub const fn birth(&self) -> Timestamp {
        self.birth
    }

    pub const fn class(&self) -> Class {
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

    /// What is kept of the moment of its grant. Of a fenced lease nothing: the record has it.
    pub(super) fn held_since(&self, granted: Timestamp) -> Option<Timestamp> {
        match self.class {
            Class::Advisory => Some(granted),
            Class::Fenced { .. } => None,
        }
    }

    /// Whether two sends of one lease id mean one acquisition. Patience and priority may differ
    /// between sends (and are not kept by a rebuild); who asks for what may not.
    pub fn asks_the_same_as(&self, other: &Self) -> bool {
        self.lease == other.lease && self.owner == other.owner && self.set == other.set
    }
}

#[cfg(test)]
#[path = "request_tests.rs"]
mod tests;
