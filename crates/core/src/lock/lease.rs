//! The record of one acquisition, what its holder may be told of it, and what a space says
//! when it refuses or when something happened. No rule is here.

use thiserror::Error;

use super::request::Request;
use super::token::{Epoch, Order, Token};
use crate::ids::LeaseId;
use crate::limits::LOCKS_PER_AGENT_MAX;
use crate::resource::ResourceRef;
use crate::time::Timestamp;

/// Waiting → Granted → Released, Expired or Broken; Waiting → Released, `TimedOut` or Victim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    Waiting,
    Granted,
    /// Expired, but still in the way: its holder may be in the middle of a step.
    Delayed,
    Released,
    Expired,
    Broken,
    TimedOut,
    Victim,
}

impl State {
    /// A tombstone: it blocks nobody and only refuses to come back.
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
    pub state: State,
    pub token: Option<Token>,
    /// Its place in line; kept after the grant, in case it must go back (see `adopt`).
    pub order: Option<Order>,
    /// Of the state: the lease, the wait, the delay or the tombstone ends here.
    pub deadline: Timestamp,
    /// When it was granted, if only the queue knows it: how long it is held is then judged here.
    pub held_since: Option<Timestamp>,
    /// PostgreSQL knows it: only then is there a holder who may be in the middle of a step.
    pub registered: bool,
}

/// What the owner of a lease id is told, by every command about that lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    Granted {
        token: Token,
        deadline: Timestamp,
    },
    /// Granted, and kept for as long as it may be: no heartbeat gives it more.
    Spent {
        token: Token,
        deadline: Timestamp,
    },
    Waiting {
        /// One more than are ahead in the longest of the lines it stands in.
        position: usize,
        order: Order,
        deadline: Timestamp,
    },
    Delayed {
        until: Timestamp,
    },
    Over {
        state: State,
    },
    Unknown,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Refusal {
    #[error("the space is in epoch {stored}: read the epoch again, then repeat the call")]
    StaleEpoch { stored: Epoch },
    #[error("the space holds {stored:?}, not this epoch: rebuild it from the registered holds")]
    Rebuild { stored: Option<Epoch> },
    #[error("advisory leases are not granted before {until}: older ones may still be held")]
    Unsure { until: Timestamp },
    #[error("`{resource}` is taken: ask again later, or with a wait")]
    Busy { resource: ResourceRef },
    #[error("the queue of `{resource}` is full: ask again later")]
    QueueFull { resource: ResourceRef },
    #[error(
        "the agent holds or waits for {taken} resources, and may for {LOCKS_PER_AGENT_MAX}: give \
         some back first"
    )]
    TooMany { taken: usize },
    #[error("the owner already holds `{resource}`: it would wait for itself; release it first")]
    SelfConflict { resource: ResourceRef },
    #[error("the owner already waits: one wait at a time, cancel it first")]
    AlreadyWaiting { lease: LeaseId },
    #[error("this lease id names another request: make a fresh id for each request")]
    OtherRequest,
    #[error("this lease is registered: a new token would disown its own hold")]
    AlreadyRegistered,
    #[error("this lease is advisory: it cannot be registered; ask for a fenced one")]
    NotFenced,
}

/// What the world is told. A hint only: whoever misses one learns it from the next heartbeat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    Acquired {
        lease: LeaseId,
        token: Token,
    },
    Queued {
        lease: LeaseId,
        position: usize,
    },
    Promoted {
        lease: LeaseId,
        token: Token,
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
    /// Back in line: PostgreSQL knows a holder that this space had forgotten.
    Displaced {
        lease: LeaseId,
    },
    /// `cycle` names the waits, each for the next and the last for the first.
    Deadlock {
        victim: LeaseId,
        cycle: Vec<LeaseId>,
    },
}

/// A refused call may still have swept, so events come beside the answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply<T> {
    pub answer: Result<T, Refusal>,
    pub events: Vec<Event>,
}
