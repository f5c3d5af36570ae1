//! The claimers that wait in this process. A woken tenant gets one round of matching at a time,
//! regardless of how many claimers wait; an idle claimer costs only an entry here. A task reserved
//! by one claimer is not offered to others in this process; between processes the database decides.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ade_core::ids::{AgentId, LeaseId, TaskId, TenantId};
use ade_core::lock::FencingToken;
use ade_store::claimable::Candidate;
use tokio::sync::{Notify, oneshot};
use tokio::time::Instant;

/// How long a task that could not be applied is skipped, unless a resource was released.
const CLAIM_COOLDOWN: Duration = Duration::from_millis(500);

/// A task whose resources can be locked now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimMatch {
    pub candidate: Candidate,
    pub lease: LeaseId,
    /// The fencing token from the lock queue; `None` if the database issues it.
    pub token: Option<FencingToken>,
}

/// What a claimer waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PendingClaim {
    pub agent: AgentId,
    /// The only task that the claimer accepts; any task if `None`.
    pub task: Option<TaskId>,
    pub ttl: Duration,
}

#[derive(Debug)]
struct WaitingClaim {
    ticket: u64,
    wish: PendingClaim,
    answer: oneshot::Sender<(ClaimMatch, Reservation)>,
}

/// Why a task is not offered in this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Skipped {
    Reserved,
    /// The task could not be applied a moment ago.
    CoolingDownUntil(Instant),
}

/// A task reserved by one claimer of this process. While the reservation exists, the task is not
/// offered to other claimers here; when it is dropped, the waiting claimers are checked again.
#[derive(Debug)]
pub struct Reservation {
    claims: Arc<Claims>,
    tenant: TenantId,
    task: TaskId,
    /// Whether the task enters its cooldown when this is dropped.
    starts_cooldown: bool,
}

impl Reservation {
    /// Ends the reservation and starts the task's cooldown: other tasks are tried first.
    pub fn rest(mut self) {
        self.starts_cooldown = true;
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let mut tasks = lock(&self.claims.aside);
        let of_tenant = tasks.entry(self.tenant).or_default();
        if self.starts_cooldown {
            of_tenant.insert(self.task, Skipped::CoolingDownUntil(Instant::now() + CLAIM_COOLDOWN));
        } else {
            of_tenant.remove(&self.task);
        }
        if of_tenant.is_empty() {
            tasks.remove(&self.tenant);
        }
        drop(tasks);
        self.claims.stir(self.tenant);
    }
}

#[derive(Debug, Default)]
pub struct Claims {
    lines: Mutex<BTreeMap<TenantId, VecDeque<WaitingClaim>>>,
    stirred: Mutex<BTreeSet<TenantId>>,
    aside: Mutex<BTreeMap<TenantId, BTreeMap<TaskId, Skipped>>>,
    /// Leases of tasks whose queue place this process keeps alive.
    kept: Mutex<BTreeSet<(TenantId, LeaseId)>>,
    new: Mutex<Vec<(TenantId, LeaseId)>>,
    tickets: AtomicU64,
    /// Tenants whose claimers in other processes must be notified of work.
    announced: Mutex<BTreeSet<TenantId>>,
    /// Notified when there is work to announce.
    pub announcing: Notify,
    /// Notified when the first claimer of a tenant starts to wait.
    pub first: Notify,
    /// Notified when a tenant was woken, or when a queue place must be kept alive.
    pub woken: Notify,
}

impl Claims {
    /// Joins the end of the queue. Dropping the returned receiver leaves the queue.
    pub fn join(
        &self,
        tenant: TenantId,
        wish: PendingClaim,
    ) -> oneshot::Receiver<(ClaimMatch, Reservation)> {
        let (answer, offer) = oneshot::channel();
        let ticket = self.tickets.fetch_add(1, Ordering::Relaxed);
        let mut lines = lock(&self.lines);
        let line = lines.entry(tenant).or_default();
        if line.is_empty() {
            self.first.notify_one();
        }
        line.push_back(WaitingClaim { ticket, wish, answer });
        drop(lines);
        self.stir(tenant);
        offer
    }

    /// Requests a round of matching for a tenant, if any claimer waits there.
    pub fn stir(&self, tenant: TenantId) {
        if lock(&self.lines).contains_key(&tenant) {
            lock(&self.stirred).insert(tenant);
            self.woken.notify_one();
        }
    }

    /// Ends all cooldowns of the tenant and wakes it: a task was approved, or resources or a slot
    /// are free.
    pub fn renew(&self, tenant: TenantId) {
        if let Some(tasks) = lock(&self.aside).get_mut(&tenant) {
            tasks.retain(|_, why| *why == Skipped::Reserved);
        }
        self.stir(tenant);
    }

    /// Announces work to the waiting claimers of all processes.
    pub fn announce(&self, tenant: TenantId) {
        self.renew(tenant);
        lock(&self.announced).insert(tenant);
        self.announcing.notify_one();
    }

    pub fn announced(&self) -> BTreeSet<TenantId> {
        std::mem::take(&mut *lock(&self.announced))
    }

    /// Takes the woken tenants, except those whose round is still running.
    pub fn stirred(&self, busy: &BTreeSet<TenantId>) -> Vec<TenantId> {
        let mut stirred = lock(&self.stirred);
        let (later, now): (BTreeSet<TenantId>, BTreeSet<TenantId>) =
            stirred.iter().copied().partition(|tenant| busy.contains(tenant));
        *stirred = later;
        now.into_iter().collect()
    }

    /// Reserves a task for a waiting claimer, unless it is reserved here or in its cooldown.
    pub fn take(self: &Arc<Self>, tenant: TenantId, task: TaskId) -> Option<Reservation> {
        let mut tasks = lock(&self.aside);
        let (of_tenant, now) = (tasks.entry(tenant).or_default(), Instant::now());
        of_tenant.retain(|_, why| !matches!(why, Skipped::CoolingDownUntil(end) if *end <= now));
        if of_tenant.contains_key(&task) {
            return None;
        }
        of_tenant.insert(task, Skipped::Reserved);
        drop(tasks);
        Some(Reservation { claims: Arc::clone(self), tenant, task, starts_cooldown: false })
    }

    /// Returns the tasks that a round skips: those that are reserved or in their cooldown.
    pub fn aside(&self, tenant: TenantId) -> Vec<TaskId> {
        let (tasks, now) = (lock(&self.aside), Instant::now());
        let of_tenant = tasks.get(&tenant).into_iter().flatten();
        let aside = of_tenant.filter(|(_, why)| match why {
            Skipped::Reserved => true,
            Skipped::CoolingDownUntil(end) => now < *end,
        });
        aside.map(|(task, _)| *task).collect()
    }

    /// Returns the number of tasks that claimers of this tenant have reserved in this process.
    pub fn in_hand(&self, tenant: TenantId) -> usize {
        let tasks = lock(&self.aside);
        let of_tenant = tasks.get(&tenant).into_iter().flat_map(BTreeMap::values);
        of_tenant.filter(|why| **why == Skipped::Reserved).count()
    }

    /// Keeps the place of a task in the lock queue alive from this process.
    pub fn keep_place(&self, tenant: TenantId, lease: LeaseId) {
        if lock(&self.kept).insert((tenant, lease)) {
            lock(&self.new).push((tenant, lease));
            self.woken.notify_one();
        }
    }

    /// Takes the places that are not kept alive yet.
    pub fn new_places(&self) -> Vec<(TenantId, LeaseId)> {
        std::mem::take(&mut *lock(&self.new))
    }

    pub fn leave_place(&self, tenant: TenantId, lease: LeaseId) {
        lock(&self.kept).remove(&(tenant, lease));
    }

    /// Returns the tenants with waiting claimers.
    pub fn tenants(&self) -> BTreeSet<TenantId> {
        let mut lines = lock(&self.lines);
        lines.retain(|_, line| {
            line.retain(|waiting| !waiting.answer.is_closed());
            !line.is_empty()
        });
        lines.keys().copied().collect()
    }

    pub fn is_waited_in(&self, tenant: TenantId) -> bool {
        let lines = lock(&self.lines);
        let mut line = lines.get(&tenant).into_iter().flatten();
        line.any(|waiting| !waiting.answer.is_closed())
    }

    /// Returns the waiting claimers of a tenant, in order of arrival.
    pub fn waiting(&self, tenant: TenantId) -> Vec<(u64, PendingClaim)> {
        let mut lines = lock(&self.lines);
        let Some(line) = lines.get_mut(&tenant) else { return Vec::new() };
        line.retain(|waiting| !waiting.answer.is_closed());
        let waiting = line.iter().map(|waiting| (waiting.ticket, waiting.wish)).collect();
        if line.is_empty() {
            lines.remove(&tenant);
        }
        waiting
    }

    /// Offers a task to a claimer. Returns `false` if the claimer has left.
    pub fn offer(&self, tenant: TenantId, ticket: u64, offer: (ClaimMatch, Reservation)) -> bool {
        let mut lines = lock(&self.lines);
        let Some(line) = lines.get_mut(&tenant) else { return false };
        let at = line.iter().position(|waiting| waiting.ticket == ticket);
        let found = at.and_then(|at| line.remove(at));
        if line.is_empty() {
            lines.remove(&tenant);
        }
        // An offer that is not taken wakes the queue when it is dropped.
        drop(lines);
        found.is_some_and(|waiting| waiting.answer.send(offer).is_ok())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use ade_core::time::Timestamp;

    use super::*;

    const TENANT: TenantId = TenantId::from_u128(1);

    fn wish(agent: u128) -> PendingClaim {
        PendingClaim { agent: AgentId::from_u128(agent), task: None, ttl: Duration::from_secs(30) }
    }

    fn offer() -> ClaimMatch {
        let candidate = Candidate {
            task: TaskId::from_u128(7),
            since: Timestamp::from_micros(1),
            task_type: "sql.change".to_owned(),
            priority: 50,
            resources: Vec::new(),
        };
        ClaimMatch { candidate, lease: LeaseId::from_u128(8), token: None }
    }

    #[test]
    fn claim_offer_reaches_its_waiter_and_no_waiter_that_left() {
        let claims = Arc::new(Claims::default());
        let in_hand = |task| claims.take(TENANT, TaskId::from_u128(task)).unwrap();
        let mut first = claims.join(TENANT, wish(1));
        let second = claims.join(TENANT, wish(2));
        let waiting = claims.waiting(TENANT);
        assert_eq!(waiting.iter().map(|(_, wish)| *wish).collect::<Vec<_>>(), [wish(1), wish(2)]);
        drop(second);
        assert!(!claims.offer(TENANT, waiting[1].0, (offer(), in_hand(7))), "the claimer has left");
        assert!(claims.offer(TENANT, waiting[0].0, (offer(), in_hand(7))));
        assert_eq!(first.try_recv().unwrap().0, offer());
        assert!(!claims.is_waited_in(TENANT));
        assert!(claims.tenants().is_empty());
    }

    #[test]
    fn claim_round_runs_once_per_wake_and_never_twice_at_a_time() {
        let claims = Claims::default();
        claims.stir(TENANT);
        assert!(claims.stirred(&BTreeSet::new()).is_empty(), "no claimer waits");
        let _waiting = claims.join(TENANT, wish(1));
        claims.stir(TENANT);
        assert!(claims.stirred(&BTreeSet::from([TENANT])).is_empty(), "a round is running");
        assert_eq!(claims.stirred(&BTreeSet::new()), [TENANT], "the wake-up is kept");
        assert!(claims.stirred(&BTreeSet::new()).is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn claim_reserved_task_is_not_offered_until_released() {
        let claims = Arc::new(Claims::default());
        let task = TaskId::from_u128(7);
        let first = claims.take(TENANT, task).unwrap();
        assert!(claims.take(TENANT, task).is_none());
        assert!(claims.take(TenantId::from_u128(2), task).is_some(), "another tenant");
        assert_eq!(claims.in_hand(TENANT), 1);
        let _waiting = claims.join(TENANT, wish(1));
        assert_eq!(claims.stirred(&BTreeSet::new()), [TENANT]);
        drop(first);
        assert_eq!(claims.stirred(&BTreeSet::new()), [TENANT], "the waiting claimers are checked");
        assert_eq!(claims.in_hand(TENANT), 0);

        claims.take(TENANT, task).unwrap().rest();
        assert_eq!(claims.in_hand(TENANT), 0);
        assert!(claims.take(TENANT, task).is_none(), "in its cooldown");
        tokio::time::advance(CLAIM_COOLDOWN).await;
        claims.take(TENANT, task).expect("its cooldown is over").rest();
        claims.renew(TENANT);
        assert!(claims.take(TENANT, task).is_some(), "the cooldown was ended");
    }

    #[test]
    fn claim_offer_dropped_by_its_waiter_releases_the_task() {
        let claims = Arc::new(Claims::default());
        let answer = claims.join(TENANT, wish(1));
        let ticket = claims.waiting(TENANT)[0].0;
        let in_hand = claims.take(TENANT, TaskId::from_u128(7)).unwrap();
        assert!(claims.offer(TENANT, ticket, (offer(), in_hand)));
        assert_eq!(claims.in_hand(TENANT), 1);
        drop(answer);
        assert_eq!(claims.in_hand(TENANT), 0);
    }
}
