//! Who of this process stands in line. One poll per tenant and round serves all of them, hints
//! end a round early, and whoever misses a hint is found by the next poll. Nothing is kept per
//! waiter but its entry here.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use ade_coord::hints::Heard;
use ade_core::ids::{LeaseId, TenantId};
use ade_core::lock::Standing;
use tokio::sync::{Notify, watch};

type Told = Option<Standing>;
type Line = HashMap<LeaseId, watch::Sender<Told>>;

#[derive(Debug, Default)]
pub struct Waiters {
    waiting: Mutex<BTreeMap<TenantId, Line>>,
    hinted: Mutex<BTreeSet<(TenantId, LeaseId)>>,
    /// Tenants in which another process has something to apply.
    work: Mutex<BTreeSet<TenantId>>,
    /// Something was hinted at.
    pub woken: Notify,
    /// A subscription has ended, or a new one is needed.
    pub unfollowed: Notify,
}

impl Waiters {
    /// How this lease stands, from now on. Whoever drops the last of these is forgotten.
    pub fn follow(&self, tenant: TenantId, lease: LeaseId) -> watch::Receiver<Told> {
        let mut waiting = lock(&self.waiting);
        let line = waiting.entry(tenant).or_default();
        if line.is_empty() {
            self.unfollowed.notify_one();
        }
        line.entry(lease).or_insert_with(|| watch::channel(None).0).subscribe()
    }

    /// Called from the connection: it only notes what was said.
    pub fn hear(&self, heard: Heard) {
        match heard {
            Heard::Lease(lease) => {
                let waiting = lock(&self.waiting);
                let at = waiting.iter().find(|(_, line)| line.contains_key(&lease));
                if let Some((tenant, _)) = at {
                    lock(&self.hinted).insert((*tenant, lease));
                    self.woken.notify_one();
                }
            }
            Heard::Work(tenant) => {
                lock(&self.work).insert(tenant);
                self.woken.notify_one();
            }
            Heard::Silence => self.unfollowed.notify_one(),
        }
    }

    /// Somebody of this tenant has given something back in this process.
    pub fn stir(&self, tenant: TenantId) {
        let waiting = lock(&self.waiting);
        let line = waiting.get(&tenant).into_iter().flat_map(Line::keys);
        lock(&self.hinted).extend(line.map(|lease| (tenant, *lease)));
        self.woken.notify_one();
    }

    pub fn tell(&self, tenant: TenantId, lease: LeaseId, standing: Standing) {
        let waiting = lock(&self.waiting);
        if let Some(sender) = waiting.get(&tenant).and_then(|line| line.get(&lease)) {
            sender.send_if_modified(|told| {
                // Whoever has to act and could not is told again; a place in line is not.
                let is_wait = matches!(standing, Standing::Waiting { .. });
                let is_news = !is_wait || *told != Some(standing);
                *told = Some(standing);
                is_news
            });
        }
    }

    /// Everybody who still waits, by tenant.
    pub fn wanted(&self) -> BTreeMap<TenantId, Vec<LeaseId>> {
        let mut waiting = lock(&self.waiting);
        waiting.retain(|_, line| {
            line.retain(|_, sender| sender.receiver_count() > 0);
            !line.is_empty()
        });
        let lines = waiting.iter();
        lines.map(|(tenant, line)| (*tenant, line.keys().copied().collect())).collect()
    }

    /// Where hints said that there is work, since the last time.
    pub fn work(&self) -> BTreeSet<TenantId> {
        std::mem::take(&mut *lock(&self.work))
    }

    /// Those that a hint named since the last time.
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
    use ade_core::lock::{Order, State};
    use ade_core::time::Timestamp;

    use super::*;

    #[test]
    fn a_place_in_line_is_news_once_and_anything_else_until_it_is_acted_on() {
        let waiters = Waiters::default();
        let (tenant, lease) = (TenantId::from_u128(1), LeaseId::from_u128(2));
        let mut waiting = waiters.follow(tenant, lease);
        let order = Order::from_numbers(1 << 33, 1 << 33).unwrap();
        let deadline = Timestamp::from_micros(9);
        for (standing, is_told_again) in [
            (Standing::Waiting { position: 1, order, deadline }, false),
            (Standing::Unknown, true),
            (Standing::Over { state: State::Released }, true),
        ] {
            waiters.tell(tenant, lease, standing);
            assert_eq!(*waiting.borrow_and_update(), Some(standing));
            waiters.tell(tenant, lease, standing);
            assert_eq!(waiting.has_changed().unwrap(), is_told_again, "{standing:?}");
            waiting.mark_unchanged();
        }
        assert_eq!(waiters.wanted()[&tenant], [lease]);
        drop(waiting);
        assert!(waiters.wanted().is_empty());
    }

    #[test]
    fn hints_about_leases_of_others_are_not_kept() {
        let waiters = Waiters::default();
        let (tenant, lease) = (TenantId::from_u128(1), LeaseId::from_u128(2));
        let _waiting = waiters.follow(tenant, lease);
        waiters.hear(Heard::Lease(LeaseId::from_u128(3)));
        assert!(waiters.hinted().is_empty());
        waiters.hear(Heard::Lease(lease));
        assert_eq!(waiters.hinted()[&tenant], [lease]);
        assert!(waiters.hinted().is_empty(), "taken");
        waiters.stir(tenant);
        assert_eq!(waiters.hinted()[&tenant], [lease]);
    }
}
