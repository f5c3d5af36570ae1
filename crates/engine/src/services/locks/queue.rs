//! The interface of a lock queue. Use cases call this trait and do not know which queue an
//! installation has.

use std::fmt;
use std::pin::Pin;
use std::time::Duration;

use ade_coord::Fitness;
use ade_coord::hints::Hints;
use ade_coord::lock::{Seen, WaitGraph};
use ade_core::ids::{AgentId, LeaseId, TenantId};
use ade_core::lock::fence::RegisterRefusal;
use ade_core::lock::{
    Arrival, FencingToken, Lease, LeaseClass, LeaseStatus, LockEvent, LockRefusal, Request,
};
use ade_core::rate::Rate;
use ade_core::resource::ResourceRef;
use serde::{Deserialize, Serialize};
use thiserror::Error;

#[derive(Debug, Error)]
pub enum LockQueueError {
    #[error(transparent)]
    Refused(LockRefusal),
    #[error("the lock epoch changes faster than it can be read: retry later")]
    Unsettled,
    #[error(transparent)]
    Redis(#[from] ade_coord::CoordError),
    #[error(transparent)]
    Store(#[from] ade_store::StoreError),
}

/// An answer of the queue, with the lock events that led to it.
#[derive(Debug)]
pub struct QueueReply<T> {
    pub answer: T,
    pub events: Vec<LockEvent>,
}

/// How to go on after PostgreSQL has refused a registration, which must be rolled back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetryStep {
    /// The same grant under a new token: register again.
    Again(FencingToken),
    /// Queued again, or the current state: PostgreSQL knew a holder that the queue had lost.
    Stands(LeaseStatus),
    /// The queue cannot correct this: the session or the lease has ended, or its agent has reached
    /// its limit.
    Over,
}

/// Where a page of holds ended. A position of another backend starts the list again: it was issued
/// before the backend was changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HoldCursor {
    Name(ResourceRef),
    /// The cursor of a Redis scan.
    Scan(u64),
}

impl HoldCursor {
    pub(super) fn name(&self) -> Option<&ResourceRef> {
        match self {
            Self::Name(name) => Some(name),
            Self::Scan(_) => None,
        }
    }

    pub(super) fn scan(&self) -> Option<u64> {
        match self {
            Self::Name(_) => None,
            Self::Scan(place) => Some(*place),
        }
    }
}

/// A page of held resources, each with its number of holders and of waiters, and their leases.
#[derive(Debug)]
pub struct HoldPage {
    pub resources: Vec<(ResourceRef, usize, usize)>,
    pub leases: Vec<Lease>,
    pub next: Option<HoldCursor>,
}

pub type Asking<'a, T> = Pin<Box<dyn Future<Output = Result<T, LockQueueError>> + Send + 'a>>;

/// A queue of lock requests. Methods that only a queue outside PostgreSQL needs have a default
/// implementation, which the queue in PostgreSQL uses.
pub trait LockQueue: fmt::Debug + Send + Sync {
    /// Whether the queue is outside PostgreSQL, so that its grants must be registered there.
    fn is_separate(&self) -> bool;

    /// Counts a lock request of this agent. Returns how long the agent has to wait, or `None` if it
    /// may proceed.
    fn rate(&self, tenant: TenantId, agent: AgentId, limit: Rate) -> Asking<'_, Option<Duration>>;

    /// The class of a lease that need not be fenced.
    fn unfenced(&self) -> LeaseClass;

    /// Renews the leases that are still alive, and returns the status of each in the given order.
    fn renew<'a>(&'a self, tenant: TenantId, leases: &'a [LeaseId])
    -> Asking<'a, Vec<LeaseStatus>>;

    /// Returns the status of waiting requests, in the given order.
    fn poll<'a>(&'a self, tenant: TenantId, leases: &'a [LeaseId]) -> Asking<'a, Vec<LeaseStatus>>;

    /// The time between two calls of [`Self::poll`].
    fn poll_period(&self) -> Duration;

    /// Ends up to `limit` expired leases, and returns their number.
    fn sweep(&self, tenant: TenantId, limit: usize) -> Asking<'_, usize>;

    fn release(&self, tenant: TenantId, lease: LeaseId) -> Asking<'_, LeaseStatus>;

    /// Ends a lease without the consent of its holder.
    fn break_lease(&self, tenant: TenantId, lease: LeaseId) -> Asking<'_, LeaseStatus>;

    fn resource<'a>(
        &'a self,
        tenant: TenantId,
        resource: &'a ResourceRef,
        most: usize,
    ) -> Asking<'a, Seen>;

    fn leases<'a>(&'a self, tenant: TenantId, wanted: &'a [LeaseId]) -> Asking<'a, Vec<Lease>>;

    fn held<'a>(
        &'a self,
        tenant: TenantId,
        after: Option<&'a HoldCursor>,
        resources: usize,
        holders: usize,
    ) -> Asking<'a, HoldPage>;

    fn waiting(&self, tenant: TenantId, most: usize) -> Asking<'_, WaitGraph>;

    /// Whether the queue answers.
    fn ping(&self) -> Asking<'_, ()>;

    /// Checks the settings of the backend that locks depend on.
    fn fitness(&self) -> Asking<'_, Vec<Fitness>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    /// Adds a request to the queue. Returns `None` if the transaction that registers the lease
    /// decides instead.
    fn enqueue<'a>(
        &'a self,
        _tenant: TenantId,
        _request: &'a Request,
        _arrival: Arrival,
    ) -> Option<Asking<'a, QueueReply<LeaseStatus>>> {
        None
    }

    /// Adds leases that were registered while the queue was unavailable.
    fn adopt<'a>(&'a self, _tenant: TenantId, _leases: &'a [LeaseId]) -> Asking<'a, ()> {
        Box::pin(async { Ok(()) })
    }

    /// Marks a lease as registered after the commit; a lock delay follows its expiry from then on.
    fn registered(&self, _tenant: TenantId, _lease: LeaseId) -> Asking<'_, ()> {
        Box::pin(async { Ok(()) })
    }

    /// Keeps a registered lease alive in the queue.
    fn refresh(&self, _tenant: TenantId, _lease: LeaseId) -> Asking<'_, ()> {
        Box::pin(async { Ok(()) })
    }

    /// Corrects the queue after PostgreSQL has refused a registration.
    fn correct<'a>(
        &'a self,
        _tenant: TenantId,
        _lease: LeaseId,
        _refusal: &'a RegisterRefusal,
    ) -> Asking<'a, RetryStep> {
        Box::pin(async { Ok(RetryStep::Over) })
    }

    /// Whether the lease exists in the queue but not in PostgreSQL.
    fn is_unregistered(&self, _tenant: TenantId, _lease: LeaseId) -> Asking<'_, bool> {
        Box::pin(async { Ok(false) })
    }

    /// The master that serves a tenant; `None` if the backend has no masters.
    fn master(&self, _tenant: TenantId) -> Asking<'_, Option<String>> {
        Box::pin(async { Ok(None) })
    }

    /// Ends the epoch, and begins the next one with the registered leases.
    fn begin_epoch<'a>(&'a self, _tenant: TenantId, _reason: &'a str) -> Asking<'a, ()> {
        Box::pin(async { Ok(()) })
    }

    /// Hints between processes, if the queue supports them.
    fn hints(&self) -> Option<&Hints> {
        None
    }
}
