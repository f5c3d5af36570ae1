//! The slots of a pool and the callers that wait for one. Who is next is decided by [`FairQueue`];
//! here, a caller that gives up leaves the queue, and a slot that it was given is free again.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ade_core::ids::TenantId;
use ade_core::limits::DATABASE_WAITING_MAX;
use ade_core::share::{FairQueue, Ticket};
use tokio::sync::oneshot;

/// The slots of one pool.
#[derive(Debug)]
pub(super) struct Room {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    queue: FairQueue<oneshot::Sender<()>>,
    is_closed: bool,
    /// The callers that were not served: refused at once, or tired of waiting.
    refused: u64,
}

/// Why a caller gets no slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoSlot {
    Closed,
    /// Too many callers are waiting.
    Full,
}

/// How much of a pool is in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PoolUse {
    pub lent: usize,
    pub waiting: usize,
    /// The callers that got no connection, since the process started.
    pub refused: u64,
}

/// A slot in the pool. It becomes free when it is dropped.
#[derive(Debug)]
pub(super) struct Slot {
    room: Arc<Room>,
    tenant: Option<TenantId>,
}

impl Room {
    pub fn new(size: usize) -> Arc<Self> {
        let queue = FairQueue::new(size, DATABASE_WAITING_MAX);
        Arc::new(Self { state: Mutex::new(State { queue, is_closed: false, refused: 0 }) })
    }

    /// Waits for a slot. A caller without a tenant has no share of its own to observe.
    pub async fn enter(self: &Arc<Self>, tenant: Option<TenantId>) -> Result<Slot, NoSlot> {
        let (place, granted) = {
            let mut state = self.state();
            if state.is_closed {
                return Err(NoSlot::Closed);
            }
            if state.queue.take(tenant) {
                return Ok(Slot { room: Arc::clone(self), tenant });
            }
            let (grant, granted) = oneshot::channel();
            let Some(ticket) = state.queue.wait(tenant, grant) else {
                state.refused += 1;
                return Err(NoSlot::Full);
            };
            (WaitingPlace { room: Arc::clone(self), tenant, ticket, is_served: false }, granted)
        };
        place.served(granted).await
    }

    pub fn close(&self) {
        let mut state = self.state();
        state.is_closed = true;
        // Dropping their senders wakes the waiting callers.
        state.queue.clear();
    }

    pub fn is_closed(&self) -> bool {
        self.state().is_closed
    }

    pub fn usage(&self) -> PoolUse {
        let state = self.state();
        let (lent, waiting) = (state.queue.lent(), state.queue.waiting());
        PoolUse { lent, waiting, refused: state.refused }
    }

    fn give_back(&self, tenant: Option<TenantId>) {
        let granted = self.state().queue.give_back(tenant);
        for grant in granted {
            // A caller that gave up in this moment returns the slot when its place is dropped.
            let _ = grant.send(());
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.room.give_back(self.tenant);
    }
}

/// A place in the queue. If it is dropped before the caller is served, the caller has given up.
struct WaitingPlace {
    room: Arc<Room>,
    tenant: Option<TenantId>,
    ticket: Ticket,
    is_served: bool,
}

impl WaitingPlace {
    async fn served(mut self, granted: oneshot::Receiver<()>) -> Result<Slot, NoSlot> {
        let outcome = granted.await;
        self.is_served = true;
        outcome.map_err(|_| NoSlot::Closed)?;
        Ok(Slot { room: Arc::clone(&self.room), tenant: self.tenant })
    }
}

impl Drop for WaitingPlace {
    fn drop(&mut self) {
        if self.is_served {
            return;
        }
        let mut state = self.room.state();
        state.refused += 1;
        let has_slot = !state.queue.leave(self.tenant, self.ticket) && !state.is_closed;
        drop(state);
        if has_slot {
            self.room.give_back(self.tenant);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use futures_util::FutureExt as _;

    use super::*;

    #[expect(clippy::unnecessary_wraps, reason = "callers may have no tenant")]
    fn tenant(number: u128) -> Option<TenantId> {
        Some(TenantId::from_u128(number))
    }

    fn usage(room: &Room) -> (usize, usize, u64) {
        let PoolUse { lent, waiting, refused } = room.usage();
        (lent, waiting, refused)
    }

    #[tokio::test]
    async fn slot_of_a_caller_that_gave_up_is_free_again() {
        let room = Room::new(1);
        let held = room.enter(tenant(1)).await.unwrap();
        {
            let mut early = pin!(room.enter(tenant(2)));
            assert!(early.as_mut().now_or_never().is_none());
            assert_eq!(usage(&room), (1, 1, 0));
        }
        assert_eq!(usage(&room), (1, 0, 1), "it gave up while it waited");
        {
            let mut late = pin!(room.enter(tenant(2)));
            assert!(late.as_mut().now_or_never().is_none());
            drop(held);
            assert_eq!(usage(&room), (1, 0, 1), "it has a slot and does not know it");
        }
        assert_eq!(usage(&room), (0, 0, 2));
    }

    #[tokio::test]
    async fn slot_that_becomes_free_serves_the_next_caller() {
        let room = Room::new(1);
        let held = room.enter(None).await.unwrap();
        let mut next = pin!(room.enter(tenant(1)));
        assert!(next.as_mut().now_or_never().is_none());
        drop(held);
        let held = next.await.unwrap();
        assert_eq!(usage(&room), (1, 0, 0));
        drop(held);
        assert_eq!(usage(&room), (0, 0, 0));
    }

    #[tokio::test]
    async fn slots_of_a_closed_pool_are_refused_to_all() {
        let room = Room::new(1);
        let held = room.enter(None).await.unwrap();
        let mut waiting = pin!(room.enter(tenant(1)));
        assert!(waiting.as_mut().now_or_never().is_none());
        room.close();
        assert_eq!(waiting.await.unwrap_err(), NoSlot::Closed);
        assert_eq!(room.enter(None).await.unwrap_err(), NoSlot::Closed);
        drop(held);
        assert!(room.is_closed());
    }
}
