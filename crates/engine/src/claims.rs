//! Who of this process waits for work. A stirred tenant gets one round of matching at a time,
//! however many wait in it; an idle claimer is an entry here and nothing else. What one of them
//! has in hand is offered to no other here; between processes the record decides.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ade_core::ids::{AgentId, LeaseId, TaskId, TenantId};
use ade_core::limits::CLAIM_REST;
use ade_core::lock::Token;
use ade_store::claimable::Candidate;
use tokio::sync::{Notify, oneshot};
use tokio::time::Instant;

/// A task whose resources are free for it now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    pub candidate: Candidate,
    pub lease: LeaseId,
    /// Of the queue; without one the record makes it.
    pub token: Option<Token>,
}

/// What somebody waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wish {
    pub agent: AgentId,
    /// Only this one.
    pub task: Option<TaskId>,
    pub ttl: Duration,
}

#[derive(Debug)]
struct Waiting {
    ticket: u64,
    wish: Wish,
    answer: oneshot::Sender<(Offer, InHand)>,
}

/// Why a task is offered to nobody here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Aside {
    InHand,
    /// It could not be applied a moment ago.
    RestsUntil(Instant),
}

/// A task that one of this process takes up. While this lives nobody else here is offered it;
/// afterwards those who still wait are looked at again.
#[derive(Debug)]
pub struct InHand {
    claims: Arc<Claims>,
    tenant: TenantId,
    task: TaskId,
    /// Whether it is to rest when this ends.
    is_tired: bool,
}

impl InHand {
    /// Nobody could take it up now: the next in order are tried before it is tried again.
    pub fn rest(mut self) {
        self.is_tired = true;
    }
}

impl Drop for InHand {
    fn drop(&mut self) {
        let mut tasks = lock(&self.claims.aside);
        let of_tenant = tasks.entry(self.tenant).or_default();
        if self.is_tired {
            of_tenant.insert(self.task, Aside::RestsUntil(Instant::now() + CLAIM_REST));
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
    lines: Mutex<BTreeMap<TenantId, VecDeque<Waiting>>>,
    stirred: Mutex<BTreeSet<TenantId>>,
    aside: Mutex<BTreeMap<TenantId, BTreeMap<TaskId, Aside>>>,
    /// Tasks of which this process keeps the place in line.
    kept: Mutex<BTreeSet<(TenantId, LeaseId)>>,
    new: Mutex<Vec<(TenantId, LeaseId)>>,
    tickets: AtomicU64,
    /// Tenants whose claimers in other processes are to be told of work.
    announced: Mutex<BTreeSet<TenantId>>,
    /// There is something to announce.
    pub announcing: Notify,
    /// Somebody waits where nobody waited.
    pub first: Notify,
    /// A tenant was stirred, or a place is to be kept.
    pub woken: Notify,
}

impl Claims {
    /// At the end of the line. Whoever drops this has left it.
    pub fn join(&self, tenant: TenantId, wish: Wish) -> oneshot::Receiver<(Offer, InHand)> {
        let (answer, offer) = oneshot::channel();
        let ticket = self.tickets.fetch_add(1, Ordering::Relaxed);
        let mut lines = lock(&self.lines);
        let line = lines.entry(tenant).or_default();
        if line.is_empty() {
            self.first.notify_one();
        }
        line.push_back(Waiting { ticket, wish, answer });
        drop(lines);
        self.stir(tenant);
        offer
    }

    /// Somebody may get something there who waits.
    pub fn stir(&self, tenant: TenantId) {
        if lock(&self.lines).contains_key(&tenant) {
            lock(&self.stirred).insert(tenant);
            self.woken.notify_one();
        }
    }

    /// Something has become possible there: a task was approved, resources or a slot are free.
    pub fn renew(&self, tenant: TenantId) {
        if let Some(tasks) = lock(&self.aside).get_mut(&tenant) {
            tasks.retain(|_, why| *why == Aside::InHand);
        }
        self.stir(tenant);
    }

    /// There is work, for whoever waits in any process.
    pub fn announce(&self, tenant: TenantId) {
        self.renew(tenant);
        lock(&self.announced).insert(tenant);
        self.announcing.notify_one();
    }

    pub fn announced(&self) -> BTreeSet<TenantId> {
        std::mem::take(&mut *lock(&self.announced))
    }

    /// Takes those that were stirred, save the ones that have a round.
    pub fn stirred(&self, busy: &BTreeSet<TenantId>) -> Vec<TenantId> {
        let mut stirred = lock(&self.stirred);
        let (later, now): (BTreeSet<TenantId>, BTreeSet<TenantId>) =
            stirred.iter().copied().partition(|tenant| busy.contains(tenant));
        *stirred = later;
        now.into_iter().collect()
    }

    /// Takes a task for one of those who wait, unless somebody here has it or it rests.
    pub fn take(self: &Arc<Self>, tenant: TenantId, task: TaskId) -> Option<InHand> {
        let mut tasks = lock(&self.aside);
        let (of_tenant, now) = (tasks.entry(tenant).or_default(), Instant::now());
        of_tenant.retain(|_, why| !matches!(why, Aside::RestsUntil(end) if *end <= now));
        if of_tenant.contains_key(&task) {
            return None;
        }
        of_tenant.insert(task, Aside::InHand);
        drop(tasks);
        Some(InHand { claims: Arc::clone(self), tenant, task, is_tired: false })
    }

    /// What need not be looked at in a round: in hand, or at rest.
    pub fn aside(&self, tenant: TenantId) -> Vec<TaskId> {
        let (tasks, now) = (lock(&self.aside), Instant::now());
        let of_tenant = tasks.get(&tenant).into_iter().flatten();
        let aside = of_tenant.filter(|(_, why)| match why {
            Aside::InHand => true,
            Aside::RestsUntil(end) => now < *end,
        });
        aside.map(|(task, _)| *task).collect()
    }

    /// How many tasks those of one tenant have in hand here.
    pub fn in_hand(&self, tenant: TenantId) -> usize {
        let tasks = lock(&self.aside);
        let of_tenant = tasks.get(&tenant).into_iter().flat_map(BTreeMap::values);
        of_tenant.filter(|why| **why == Aside::InHand).count()
    }

    /// A task stands in line, and its place is to be kept from here.
    pub fn keep_place(&self, tenant: TenantId, lease: LeaseId) {
        if lock(&self.kept).insert((tenant, lease)) {
            lock(&self.new).push((tenant, lease));
            self.woken.notify_one();
        }
    }

    /// Takes the places that nobody keeps yet.
    pub fn new_places(&self) -> Vec<(TenantId, LeaseId)> {
        std::mem::take(&mut *lock(&self.new))
    }

    pub fn leave_place(&self, tenant: TenantId, lease: LeaseId) {
        lock(&self.kept).remove(&(tenant, lease));
    }

    /// Those who have somebody waiting.
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

    /// In the order in which they came.
    pub fn waiting(&self, tenant: TenantId) -> Vec<(u64, Wish)> {
        let mut lines = lock(&self.lines);
        let Some(line) = lines.get_mut(&tenant) else { return Vec::new() };
        line.retain(|waiting| !waiting.answer.is_closed());
        let waiting = line.iter().map(|waiting| (waiting.ticket, waiting.wish)).collect();
        if line.is_empty() {
            lines.remove(&tenant);
        }
        waiting
    }

    /// Whether it was taken; whoever has left by now takes nothing.
    pub fn offer(&self, tenant: TenantId, ticket: u64, offer: (Offer, InHand)) -> bool {
        let mut lines = lock(&self.lines);
        let Some(line) = lines.get_mut(&tenant) else { return false };
        let at = line.iter().position(|waiting| waiting.ticket == ticket);
        let found = at.and_then(|at| line.remove(at));
        if line.is_empty() {
            lines.remove(&tenant);
        }
        // What nobody takes stirs the line when it is dropped.
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

    fn wish(agent: u128) -> Wish {
        Wish { agent: AgentId::from_u128(agent), task: None, ttl: Duration::from_secs(30) }
    }

    fn offer() -> Offer {
        let candidate = Candidate {
            task: TaskId::from_u128(7),
            since: Timestamp::from_micros(1),
            task_type: "sql.change".to_owned(),
            priority: 50,
            resources: Vec::new(),
        };
        Offer { candidate, lease: LeaseId::from_u128(8), token: None }
    }

    #[test]
    fn an_offer_reaches_whom_it_is_made_to_and_nobody_who_has_left() {
        let claims = Arc::new(Claims::default());
        let in_hand = |task| claims.take(TENANT, TaskId::from_u128(task)).unwrap();
        let mut first = claims.join(TENANT, wish(1));
        let second = claims.join(TENANT, wish(2));
        let waiting = claims.waiting(TENANT);
        assert_eq!(waiting.iter().map(|(_, wish)| *wish).collect::<Vec<_>>(), [wish(1), wish(2)]);
        drop(second);
        assert!(!claims.offer(TENANT, waiting[1].0, (offer(), in_hand(7))), "it has left");
        assert!(claims.offer(TENANT, waiting[0].0, (offer(), in_hand(7))));
        assert_eq!(first.try_recv().unwrap().0, offer());
        assert!(!claims.is_waited_in(TENANT));
        assert!(claims.tenants().is_empty());
    }

    #[test]
    fn a_tenant_is_stirred_once_and_not_while_it_has_a_round() {
        let claims = Claims::default();
        claims.stir(TENANT);
        assert!(claims.stirred(&BTreeSet::new()).is_empty(), "nobody waits there");
        let _waiting = claims.join(TENANT, wish(1));
        claims.stir(TENANT);
        assert!(claims.stirred(&BTreeSet::from([TENANT])).is_empty(), "it has a round");
        assert_eq!(claims.stirred(&BTreeSet::new()), [TENANT], "and is not forgotten");
        assert!(claims.stirred(&BTreeSet::new()).is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_task_in_hand_is_offered_to_nobody_else_until_it_was_let_go() {
        let claims = Arc::new(Claims::default());
        let task = TaskId::from_u128(7);
        let first = claims.take(TENANT, task).unwrap();
        assert!(claims.take(TENANT, task).is_none());
        assert!(claims.take(TenantId::from_u128(2), task).is_some(), "that is another's");
        assert_eq!(claims.in_hand(TENANT), 1);
        let _waiting = claims.join(TENANT, wish(1));
        assert_eq!(claims.stirred(&BTreeSet::new()), [TENANT]);
        drop(first);
        assert_eq!(claims.stirred(&BTreeSet::new()), [TENANT], "those who wait are looked at");
        assert_eq!(claims.in_hand(TENANT), 0);

        claims.take(TENANT, task).unwrap().rest();
        assert_eq!(claims.in_hand(TENANT), 0);
        assert!(claims.take(TENANT, task).is_none(), "it rests");
        tokio::time::advance(CLAIM_REST).await;
        claims.take(TENANT, task).expect("it has rested").rest();
        claims.renew(TENANT);
        assert!(claims.take(TENANT, task).is_some(), "something may have become possible");
    }

    #[test]
    fn an_offer_that_nobody_looks_at_any_more_lets_its_task_go() {
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
