//! How many requests this process serves at the same time, and how many of them one tenant may
//! hold. There is no queue: a request beyond the capacity is refused at once.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use ade_core::ids::TenantId;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// A tenant may hold this part of the capacity while others use it too.
const SHARE: usize = 4;

/// The places for one kind of request.
#[derive(Debug)]
pub struct Capacity {
    size: usize,
    free: Arc<Semaphore>,
    /// The requests in progress, by tenant.
    held: Mutex<BTreeMap<TenantId, usize>>,
}

/// A place that a tenant holds until its request is done.
#[derive(Debug)]
pub struct TenantPlace {
    capacity: Arc<Capacity>,
    tenant: TenantId,
}

impl Capacity {
    pub fn new(size: usize) -> Arc<Self> {
        Arc::new(Self { size, free: Arc::new(Semaphore::new(size)), held: Mutex::default() })
    }

    /// Takes a place for a request whose tenant is not known yet; `None` if all are taken.
    pub fn take(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.free).try_acquire_owned().ok()
    }

    /// Counts a request for its tenant. Returns `None` if the tenant holds its share and other
    /// tenants have requests in progress, or if it would take the last places that others need to
    /// begin with.
    pub fn admit(self: &Arc<Self>, tenant: TenantId) -> Option<TenantPlace> {
        let share = (self.size / SHARE).max(1);
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let own = held.get(&tenant).copied().unwrap_or_default();
        let all: usize = held.values().sum();
        let others = all - own;
        if own >= share && (others > 0 || all >= self.size - share) {
            return None;
        }
        held.insert(tenant, own + 1);
        Some(TenantPlace { capacity: Arc::clone(self), tenant })
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
        match held.get_mut(&self.tenant) {
            Some(count) if *count > 1 => *count -= 1,
            _ => {
                held.remove(&self.tenant);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tenant(number: u128) -> TenantId {
        TenantId::from_u128(number)
    }

    /// Admits requests of a tenant until one is refused.
    fn fill(capacity: &Arc<Capacity>, number: u128) -> Vec<TenantPlace> {
        std::iter::from_fn(|| capacity.admit(tenant(number))).collect()
    }

    #[test]
    fn tenant_alone_leaves_a_share_for_others() {
        let capacity = Capacity::new(16);
        let held = fill(&capacity, 1);
        assert_eq!(held.len(), 12);
        let others = fill(&capacity, 2);
        assert_eq!(others.len(), 4, "the other tenant gets its share");
        assert!(capacity.admit(tenant(1)).is_none());
    }

    #[test]
    fn tenant_beside_others_holds_its_share_only() {
        let capacity = Capacity::new(16);
        let other = capacity.admit(tenant(2)).unwrap();
        let held = fill(&capacity, 1);
        assert_eq!(held.len(), 4);
        drop(other);
        assert!(capacity.admit(tenant(1)).is_some(), "no other tenant has a request now");
    }

    #[test]
    fn tenant_place_is_free_again_after_the_request() {
        let capacity = Capacity::new(4);
        let held = fill(&capacity, 1);
        assert_eq!(held.len(), 3);
        drop(held);
        assert_eq!(capacity.held.lock().unwrap().len(), 0, "idle tenants take no memory");
        assert_eq!(fill(&capacity, 1).len(), 3);
    }

    #[test]
    fn capacity_of_one_serves_every_tenant() {
        let capacity = Capacity::new(1);
        for number in 1..3 {
            assert_eq!(fill(&capacity, number).len(), 1, "one at a time is always admitted");
        }
    }
}
