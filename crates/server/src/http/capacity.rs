//! How many requests this process serves at the same time, and how many of them one tenant may
//! hold. There is no queue: a request beyond the capacity is refused at once.

use std::sync::{Arc, Mutex, PoisonError};

use ade_core::ids::TenantId;
use ade_core::share::Shares;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The places for one kind of request.
#[derive(Debug)]
pub struct Capacity {
    size: usize,
    free: Arc<Semaphore>,
    /// The requests in progress, by tenant.
    held: Mutex<Shares>,
}

/// A place that a tenant holds until its request is done.
#[derive(Debug)]
pub struct TenantPlace {
    capacity: Arc<Capacity>,
    tenant: TenantId,
}

impl Capacity {
    pub fn new(size: usize) -> Arc<Self> {
        Arc::new(Self {
            size,
            free: Arc::new(Semaphore::new(size)),
            held: Mutex::new(Shares::new(size)),
        })
    }

    /// Takes a place for a request whose tenant is not known yet; `None` if all are taken.
    pub fn take(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.free).try_acquire_owned().ok()
    }

    /// Counts a request for its tenant. Returns `None` if the tenant holds its share and other
    /// tenants have requests in progress, or if it would take the last places that others need to
    /// begin with.
    pub fn admit(self: &Arc<Self>, tenant: TenantId) -> Option<TenantPlace> {
        let is_taken = self.held.lock().unwrap_or_else(PoisonError::into_inner).take(tenant);
        is_taken.then(|| TenantPlace { capacity: Arc::clone(self), tenant })
    }

    /// Resolves when no request is in progress.
    pub async fn emptied(&self) {
        let all = u32::try_from(self.size).unwrap_or(u32::MAX);
        // The semaphore is never closed.
        let _ = self.free.acquire_many(all).await;
    }
}

impl Drop for TenantPlace {
    fn drop(&mut self) {
        let mut held = self.capacity.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.give_back(self.tenant);
    }
}
