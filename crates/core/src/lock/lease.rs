//! The data of one acquisition, the replies to its holder, and the refusals and events of a
//! namespace. This module has no rules.

use thiserror::Error;

use super::request::Request;
use super::token::{Epoch, FencingToken, Order};
use crate::ids::LeaseId;
use crate::limits::LOCKS_PER_AGENT_MAX;
use crate::resource::ResourceRef;
use crate::time::Timestamp;

/// The state of a lease: Waiting → Granted → Released, Expired or Broken; Waiting → Released,
/// `TimedOut` or Victim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LeasePhase {
    Waiting,
    Granted,
    /// Expired but still blocking: its holder may be in the middle of a step.
    Delayed,
    Released,
    Expired,
    Broken,
    TimedOut,
    Victim,
}

impl LeasePhase {
    /// Returns whether only a tombstone is left: it blocks no request and only refuses to be
    /// revived.
    pub const fn is_over(self) -> bool {
        match self {
            Self::Waiting | Self::Granted | Self::Delayed => false,
            Self::Released | Self::Expired | Self::Broken | Self::TimedOut | Self::Victim => true,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Lease {
    pub request: Request,
    pub state: LeasePhase,
    pub token: Option<FencingToken>,
    /// Its place in the queue. It is kept after the grant, in case the lease must return to the
    /// queue (see `adopt`).
    pub order: Option<Order>,
    /// The end of the current state: of the lease, the wait, the delay or the tombstone.
    pub deadline: Timestamp,
    /// When it was granted, for leases that only the queue knows. Their maximum age is checked
    /// here.
    pub held_since: Option<Timestamp>,
    /// Whether PostgreSQL has registered it. Only then can its holder be in the middle of a step.
    pub registered: bool,
}

impl Lease {
    /// Returns whether the deadline has passed. A lease is due at its deadline already, so that
    /// holder and successor never overlap.
    pub fn is_due(&self, now: Timestamp) -> bool {
        self.deadline <= now
    }
}

/// A hold that PostgreSQL has registered, neither fenced nor released.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct LiveHold {
    pub request: Request,
    pub token: FencingToken,
    pub deadline: Timestamp,
}

impl LiveHold {
    /// Returns the lease at `now`. Past its deadline it is delayed and still blocks others.
    pub fn seen_at(self, now: Timestamp) -> Lease {
        let state = if self.deadline > now { LeasePhase::Granted } else { LeasePhase::Delayed };
        Lease { state, ..self.into_lease() }
    }

    /// Returns the lease as PostgreSQL registered it.
    pub fn into_lease(self) -> Lease {
        Lease {
            request: self.request,
            state: LeasePhase::Granted,
            token: Some(self.token),
            order: None,
            deadline: self.deadline,
            held_since: None,
            registered: true,
        }
    }
}

/// Whether a request is new, or was waiting or held before a rebuild.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Arrival {
    New,
    /// The request waited in an earlier epoch and keeps its place.
    Waited(Order),
    /// The request held an advisory lease in an earlier epoch and claims it again.
    Held(FencingToken),
}

/// The reply to the owner of a lease id, for every command about that lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeaseStatus {
    Granted {
        token: FencingToken,
        deadline: Timestamp,
    },
    /// Granted, but at its maximum age: no heartbeat extends it.
    Spent {
        token: FencingToken,
        deadline: Timestamp,
    },
    Waiting {
        /// One more than the number of waiters ahead in the longest of its queues.
        position: usize,
        order: Order,
        deadline: Timestamp,
    },
    Delayed {
        until: Timestamp,
    },
    Over {
        state: LeasePhase,
    },
    Unknown,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum LockRefusal {
    #[error("the lock namespace is in epoch {stored}: read the epoch again, then repeat the call")]
    StaleEpoch { stored: Epoch },
    #[error(
        "the lock namespace has epoch {stored:?}, not this one: rebuild it from the \
             registered holds"
    )]
    Rebuild { stored: Option<Epoch> },
    #[error("advisory leases are not granted before {until}: older ones may still be held")]
    Unsure { until: Timestamp },
    #[error("`{resource}` is locked: retry later, or acquire with a wait")]
    Busy { resource: ResourceRef },
    #[error("the queue of `{resource}` is full: retry later")]
    QueueFull { resource: ResourceRef },
    #[error(
        "the agent holds or waits for {taken} resources, the limit is {LOCKS_PER_AGENT_MAX}: \
         release some first"
    )]
    TooMany { taken: usize },
    #[error("the owner already holds `{resource}` and would wait for itself: release it first")]
    SelfConflict { resource: ResourceRef },
    #[error("the owner is already waiting: only one wait at a time, cancel it first")]
    AlreadyWaiting { lease: LeaseId },
    #[error("the lease id belongs to another request: use a new id for each request")]
    OtherRequest,
    #[error("the lease is registered: a new token would invalidate its own hold")]
    AlreadyRegistered,
    #[error("the lease is advisory and cannot be registered: request a fenced lease")]
    NotFenced,
}

/// An event for other processes. It is only a hint: the next heartbeat makes up for a lost one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LockEvent {
    Acquired {
        lease: LeaseId,
        token: FencingToken,
    },
    Queued {
        lease: LeaseId,
        position: usize,
    },
    Promoted {
        lease: LeaseId,
        token: FencingToken,
    },
    Released {
        lease: LeaseId,
    },
    Expired {
        lease: LeaseId,
    },
    TimedOut {
        lease: LeaseId,
    },
    Broken {
        lease: LeaseId,
    },
    /// The lease is queued again: PostgreSQL has registered a holder that this space had lost.
    Displaced {
        lease: LeaseId,
    },
    /// `cycle` lists the waits; each waits for the next and the last for the first.
    Deadlock {
        victim: LeaseId,
        cycle: Vec<LeaseId>,
    },
}

/// The result of a command with its events. A refused call may still have swept, so it can have
/// events too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply<T> {
    pub answer: Result<T, LockRefusal>,
    pub events: Vec<LockEvent>,
}
