//! The lock waiters of this process. One poll per tenant and round serves all of them, hints end a
//! round early, and the next poll makes up for a missed hint. Each waiter costs one entry.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use ade_coord::hints::Hint;
use ade_core::ids::{LeaseId, TenantId};
use ade_core::lock::LeaseStatus;
use tokio::sync::{Notify, watch};

type Latest = Option<LeaseStatus>;
type WaiterMap = HashMap<LeaseId, watch::Sender<Latest>>;

#[derive(Debug, Default)]
pub struct Waiters {
    waiting: Mutex<BTreeMap<TenantId, WaiterMap>>,
    hinted: Mutex<BTreeSet<(TenantId, LeaseId)>>,
    /// Tenants for which another process has announced work.
    work: Mutex<BTreeSet<TenantId>>,
    /// Notified when a hint has arrived.
    pub woken: Notify,
    /// Notified when a subscription has ended, or when a new one is needed.
    pub unfollowed: Notify,
}

impl Waiters {
    /// Follows the state of this lease. When the last follower is dropped, the lease is forgotten.
    pub fn follow(&self, tenant: TenantId, lease: LeaseId) -> watch::Receiver<Latest> {
        let mut waiting = lock(&self.waiting);
        let line = waiting.entry(tenant).or_default();
        if line.is_empty() {
            self.unfollowed.notify_one();
        }
        line.entry(lease).or_insert_with(|| watch::channel(None).0).subscribe()
    }

    /// Records a hint. It is called from the connection and does nothing else.
    pub fn hear(&self, heard: Hint) {
        match heard {
            Hint::Lease(lease) => {
                let waiting = lock(&self.waiting);
                let at = waiting.iter().find(|(_, line)| line.contains_key(&lease));
                if let Some((tenant, _)) = at {
                    lock(&self.hinted).insert((*tenant, lease));
                    self.woken.notify_one();
                }
            }
            Hint::Work(tenant) => {
                lock(&self.work).insert(tenant);
                self.woken.notify_one();
            }
            Hint::Silence => self.unfollowed.notify_one(),
        }
    }

    /// Wakes the waiters of a tenant: one of its locks was released in this process.
    pub fn stir(&self, tenant: TenantId) {
        let waiting = lock(&self.waiting);
        let line = waiting.get(&tenant).into_iter().flat_map(WaiterMap::keys);
        lock(&self.hinted).extend(line.map(|lease| (tenant, *lease)));
        self.woken.notify_one();
    }

    pub fn tell(&self, tenant: TenantId, lease: LeaseId, status: LeaseStatus) {
        let waiting = lock(&self.waiting);
        if let Some(sender) = waiting.get(&tenant).and_then(|line| line.get(&lease)) {
            sender.send_if_modified(|latest| {
                // A state that requires action is reported again; a queue place is not.
                let is_wait = matches!(status, LeaseStatus::Waiting { .. });
                let is_news = !is_wait || *latest != Some(status);
                *latest = Some(status);
                is_news
            });
        }
    }

    /// Returns the leases that are still waited for, by tenant, and forgets the others.
    pub fn wanted(&self) -> BTreeMap<TenantId, Vec<LeaseId>> {
        let mut waiting = lock(&self.waiting);
        waiting.retain(|_, line| {
            line.retain(|_, sender| sender.receiver_count() > 0);
            !line.is_empty()
        });
        let lines = waiting.iter();
        lines.map(|(tenant, line)| (*tenant, line.keys().copied().collect())).collect()
    }

    /// Takes the tenants for which hints have announced work.
    pub fn work(&self) -> BTreeSet<TenantId> {
        std::mem::take(&mut *lock(&self.work))
    }

    /// Takes the leases that hints have named.
    pub fn hinted(&self) -> BTreeMap<TenantId, Vec<LeaseId>> {
        let hinted = std::mem::take(&mut *lock(&self.hinted));
        let mut by_tenant: BTreeMap<TenantId, Vec<LeaseId>> = BTreeMap::new();
        for (tenant, lease) in hinted {
            by_tenant.entry(tenant).or_default().push(lease);
        }
        by_tenant
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use ade_core::lock::{LeasePhase, Order};
    use ade_core::time::Timestamp;

    use super::*;

    #[test]
    fn lock_waiter_is_notified_once_per_queue_position() {
        let waiters = Waiters::default();
        let (tenant, lease) = (TenantId::from_u128(1), LeaseId::from_u128(2));
        let mut waiting = waiters.follow(tenant, lease);
        let order = Order::from_numbers(1 << 33, 1 << 33).unwrap();
        let deadline = Timestamp::from_micros(9);
        for (standing, is_reported_again) in [
            (LeaseStatus::Waiting { position: 1, order, deadline }, false),
            (LeaseStatus::Unknown, true),
            (LeaseStatus::Over { state: LeasePhase::Released }, true),
        ] {
            waiters.tell(tenant, lease, standing);
            assert_eq!(*waiting.borrow_and_update(), Some(standing));
            waiters.tell(tenant, lease, standing);
            assert_eq!(waiting.has_changed().unwrap(), is_reported_again, "{standing:?}");
            waiting.mark_unchanged();
        }
        assert_eq!(waiters.wanted()[&tenant], [lease]);
        drop(waiting);
        assert!(waiters.wanted().is_empty());
    }

    #[test]
    fn lock_hints_about_other_leases_are_dropped() {
        let waiters = Waiters::default();
        let (tenant, lease) = (TenantId::from_u128(1), LeaseId::from_u128(2));
        let _waiting = waiters.follow(tenant, lease);
        waiters.hear(Hint::Lease(LeaseId::from_u128(3)));
        assert!(waiters.hinted().is_empty());
        waiters.hear(Hint::Lease(lease));
        assert_eq!(waiters.hinted()[&tenant], [lease]);
        assert!(waiters.hinted().is_empty(), "taken");
        waiters.stir(tenant);
        assert_eq!(waiters.hinted()[&tenant], [lease]);
    }
}
