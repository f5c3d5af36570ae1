//! Slots for previews. Agents request previews before anyone has approved anything, and a preview
//! may run for a minute, so a target and a tenant have few slots each. A short queue in front of
//! them absorbs what arrives together; everything beyond it is refused at once.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use ade_core::ids::TenantId;
use ade_core::limits::{PREVIEW_SLOT_WAIT, PREVIEWS_WAITING_MAX};
use thiserror::Error;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// The slots of one process.
#[derive(Debug)]
pub struct PreviewSlots {
    per_target: usize,
    per_tenant: usize,
    /// Only pools in use; the last slot removes its pools.
    pools: Mutex<BTreeMap<Pool, Arc<Semaphore>>>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Pool {
    Target(String),
    Tenant(TenantId),
    /// The running and waiting previews of a tenant.
    Queue(TenantId),
}

/// All slots of the tenant or of the target are taken, and so are the places of the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("too many previews are in progress")]
pub struct TooManyPreviews;

/// The right to run one preview, until it is dropped.
#[derive(Debug)]
pub struct PreviewSlot<'a> {
    slots: &'a PreviewSlots,
    permits: Vec<OwnedSemaphorePermit>,
}

impl PreviewSlots {
    pub fn new(per_target: usize, per_tenant: usize) -> Self {
        Self { per_target, per_tenant, pools: Mutex::default() }
    }

    /// Waits for a slot of the tenant and one of the target. A tenant that waits for a busy target
    /// keeps its own slot, and takes none of another tenant.
    pub async fn enter(
        &self,
        tenant: TenantId,
        target: String,
    ) -> Result<PreviewSlot<'_>, TooManyPreviews> {
        let mut slot = PreviewSlot { slots: self, permits: Vec::new() };
        let queued = self.pool(Pool::Queue(tenant)).try_acquire_owned();
        slot.permits.push(queued.map_err(|_| full())?);
        let (tenant, target) = (self.pool(Pool::Tenant(tenant)), self.pool(Pool::Target(target)));
        let both = async { [tenant.acquire_owned().await, target.acquire_owned().await] };
        let permits = timeout(PREVIEW_SLOT_WAIT, both).await.map_err(|_| full())?;
        for permit in permits {
            slot.permits.push(permit.map_err(|_| full())?);
        }
        Ok(slot)
    }

    fn pool(&self, pool: Pool) -> Arc<Semaphore> {
        let size = match pool {
            Pool::Target(_) => self.per_target,
            Pool::Tenant(_) => self.per_tenant,
            Pool::Queue(_) => self.per_tenant + PREVIEWS_WAITING_MAX,
        };
        let mut pools = self.pools.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(pools.entry(pool).or_insert_with(|| Arc::new(Semaphore::new(size))))
    }
}

impl Drop for PreviewSlot<'_> {
    fn drop(&mut self) {
        self.permits.clear();
        let mut pools = self.slots.pools.lock().unwrap_or_else(PoisonError::into_inner);
        pools.retain(|_, pool| Arc::strong_count(pool) > 1);
    }
}

fn full() -> TooManyPreviews {
    metrics::counter!("ade_previews_refused_total").increment(1);
    TooManyPreviews
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn tenant(number: u128) -> TenantId {
        TenantId::from_u128(number)
    }

    async fn enter(slots: &PreviewSlots, number: u128, target: &str) -> bool {
        slots.enter(tenant(number), target.to_owned()).await.is_ok()
    }

    #[tokio::test(start_paused = true)]
    async fn previews_of_one_tenant_leave_room_for_another() {
        let slots = PreviewSlots::new(4, 2);
        let mut held = Vec::new();
        for _ in 0..2 {
            held.push(slots.enter(tenant(1), "main".to_owned()).await.unwrap());
        }
        assert!(!enter(&slots, 1, "main").await, "the tenant has two slots");
        assert!(!enter(&slots, 1, "other").await, "for all targets together");
        assert!(enter(&slots, 2, "main").await, "the other tenant is not affected");
        held.pop();
        assert!(enter(&slots, 1, "main").await, "a slot is free again");
    }

    #[tokio::test(start_paused = true)]
    async fn previews_on_one_target_are_bounded_for_all_tenants() {
        let slots = PreviewSlots::new(2, 2);
        let first = slots.enter(tenant(1), "main".to_owned()).await.unwrap();
        let second = slots.enter(tenant(2), "main".to_owned()).await.unwrap();
        assert!(!enter(&slots, 3, "main").await);
        assert!(enter(&slots, 3, "other").await);
        drop((first, second));
        assert!(enter(&slots, 3, "main").await);
    }

    #[tokio::test(start_paused = true)]
    async fn preview_waits_a_while_for_a_slot() {
        let slots = PreviewSlots::new(4, 1);
        let held = slots.enter(tenant(1), "main".to_owned()).await.unwrap();
        let begun = tokio::time::Instant::now();
        let freed = async {
            tokio::time::sleep(PREVIEW_SLOT_WAIT / 2).await;
            drop(held);
        };
        let (is_in, ()) = tokio::join!(enter(&slots, 1, "main"), freed);
        assert!(is_in);
        assert_eq!(begun.elapsed(), PREVIEW_SLOT_WAIT / 2);
    }

    #[tokio::test(start_paused = true)]
    async fn preview_beyond_the_queue_is_refused_at_once() {
        let slots = PreviewSlots::new(4, 1);
        let _held = slots.enter(tenant(1), "main".to_owned()).await.unwrap();
        let waiting: Vec<_> = (0..PREVIEWS_WAITING_MAX).map(|_| enter(&slots, 1, "main")).collect();
        let begun = tokio::time::Instant::now();
        let beyond = async {
            // The waiting calls are polled first.
            tokio::task::yield_now().await;
            let is_in = enter(&slots, 1, "main").await;
            (is_in, begun.elapsed())
        };
        let (waited, (is_in, after)) =
            tokio::join!(futures_util::future::join_all(waiting), beyond);
        assert!(!is_in);
        assert_eq!(after, Duration::ZERO);
        assert!(waited.iter().all(|is_in| !is_in), "the slot stays taken");
    }

    #[tokio::test(start_paused = true)]
    async fn preview_slots_in_no_use_take_no_memory() {
        let slots = PreviewSlots::new(4, 1);
        let held = slots.enter(tenant(1), "main".to_owned()).await.unwrap();
        assert!(!enter(&slots, 1, "main").await);
        assert!(enter(&slots, 2, "other").await);
        drop(held);
        assert_eq!(slots.pools.lock().unwrap().len(), 0);
    }
}
