//! Matches approved tasks with the claimers that wait in this process. The task itself waits in the
//! lock queue, under a lease id that every process derives in the same way; once it has its locks,
//! it is offered to the first claimer that may run it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use ade_core::actor::Actor;
use ade_core::freeze::FreezeExtent;
use ade_core::ids::{AgentId, TaskId, TenantId};
use ade_core::limits::{CLAIM_PAGE, LOCK_PLACE_KEPT};
use ade_core::lock::{Arrival, LeaseStatus};
use ade_core::resource::ResourceRef;
use ade_core::time::Timestamp;
use ade_store::claimable::{self, Candidate};
use ade_store::tenant_config::TenantConfig;
use ade_store::{TenantLock, Tx, resources};

use super::{Taker, is_shared, request, slot};
use crate::app::App;
use crate::error::Error;
use crate::services::claim_queue::{ClaimMatch, PendingClaim};
use crate::services::locks::{LockQueue, LockQueueError as LockError};
use crate::services::rulebook_cache::covers;

/// Minimum size of the first page, which has one task per waiting claimer.
const CLAIM_PAGE_MIN: u32 = 8;
/// Pages of one round, so that blocked tasks do not hide those behind them.
const CLAIM_PAGES_MAX: usize = 32;

/// The waiting claimers that can be given a task, with the free slots of their agents.
struct ClaimQueue {
    waiting: Vec<(u64, PendingClaim)>,
    free: BTreeMap<AgentId, u32>,
}

impl ClaimQueue {
    /// Keeps the claimers whose agent has a free slot; nothing has to be read for the others.
    fn new(mut waiting: Vec<(u64, PendingClaim)>, free: BTreeMap<AgentId, u32>) -> Self {
        waiting.retain(|(_, wish)| free.contains_key(&wish.agent));
        Self { waiting, free }
    }

    /// Returns whether any claimer can still be given a task.
    fn wants_more(&self) -> bool {
        self.waiting.iter().any(|(_, wish)| self.free.get(&wish.agent).is_some_and(|of| *of > 0))
    }

    /// Takes the first claimer that may run the task.
    fn take(&mut self, book: &TenantConfig, candidate: &Candidate) -> Option<(u64, PendingClaim)> {
        let fits = |(_, wish): &(u64, PendingClaim)| {
            wish.task.is_none_or(|task| task == candidate.task)
                && self.free.get(&wish.agent).is_some_and(|free| *free > 0)
                && covers(book, wish.agent, &candidate.task_type)
        };
        let at = self.waiting.iter().position(fits)?;
        let (ticket, wish) = self.waiting.remove(at);
        if let Some(free) = self.free.get_mut(&wish.agent) {
            *free -= 1;
        }
        Some((ticket, wish))
    }

    /// Returns a claimer to the head of the queue, because it got nothing.
    fn give_back(&mut self, ticket: u64, wish: PendingClaim) {
        if let Some(free) = self.free.get_mut(&wish.agent) {
            *free += 1;
        }
        self.waiting.insert(0, (ticket, wish));
    }
}

/// Offers the tasks that can be offered now. Tasks that cannot be applied yet are skipped, up to
/// the limit of a round.
pub(crate) async fn round(app: &App, tenant: TenantId) -> Result<(), Error> {
    let mut seen = app.claims.aside(tenant);
    // The first page is small, which is enough if all tasks can be applied; then whole pages
    // follow.
    let mut least = CLAIM_PAGE_MIN;
    for _ in 0..CLAIM_PAGES_MAX {
        if !Box::pin(page(app, tenant, &mut seen, least)).await? {
            break;
        }
        least = CLAIM_PAGE;
    }
    Ok(())
}

/// Offers one page of tasks in their order, except those already seen. Returns whether the next
/// page is wanted.
async fn page(
    app: &App,
    tenant: TenantId,
    seen: &mut Vec<TaskId>,
    least: u32,
) -> Result<bool, Error> {
    let waiting = app.claims.waiting(tenant);
    let room = (CLAIM_PAGE as usize).saturating_sub(app.claims.in_hand(tenant));
    if waiting.is_empty() || room == 0 {
        // Releasing a reserved task wakes the tenant again.
        return Ok(false);
    }
    let actor = Actor::system("claim_matcher");
    let mut tx = Tx::begin(&app.pools.api, tenant, actor, TenantLock::None).await?;
    // Usually there is nothing to claim: then no claimer is checked.
    let mut types = claimable::types_now(&mut tx).await?;
    if types.is_empty() {
        tx.roll_back().await;
        return Ok(false);
    }
    let book = app.books.current(&mut tx).await?;
    types.retain(|kind| !app.executors.of(&book.tenant).runs(kind));
    if types.is_empty() {
        tx.roll_back().await;
        return Ok(false);
    }
    let free = free_slots(&mut tx, &book, &waiting).await?;
    let mut line = ClaimQueue::new(waiting, free);
    if !line.wants_more() {
        tx.roll_back().await;
        return Ok(false);
    }
    let limit = u32::try_from(line.waiting.len()).unwrap_or(u32::MAX).clamp(least, CLAIM_PAGE);
    let candidates = candidates(&mut tx, &book, &types, &line.waiting, seen, limit).await?;
    let named = candidates.iter().flat_map(|task| &task.resources).map(|(name, _)| name.clone());
    let named: Vec<_> = named.collect();
    let mut busy = match separate_queue(app) {
        // Busy resources are queued there.
        Some(_) => None,
        None => Some(claimable::busy(&mut tx, &named).await?),
    };
    let known = environments(&mut tx, &book, named).await?;
    let now = tx.now();
    tx.roll_back().await;
    let (is_full, mut offered) = (candidates.len() >= limit as usize, 0);
    for candidate in candidates {
        seen.push(candidate.task);
        if offered == room {
            return Ok(false);
        }
        let task = candidate.task;
        if is_frozen(&book, &candidate, &known, now) {
            continue;
        }
        if busy.as_ref().is_some_and(|busy| is_blocked(busy, &candidate)) {
            continue;
        }
        let Some((ticket, wish)) = line.take(&book, &candidate) else { continue };
        if let Some(busy) = &mut busy {
            busy.extend(candidate.resources.iter().map(|of| (of.0.clone(), is_shared(of))));
        }
        let taker = (Taker::Agent(wish.agent), wish.ttl);
        let Some(offer) = seat(app, tenant, candidate, taker).await? else {
            line.give_back(ticket, wish);
            continue;
        };
        // The task is reserved only now: releasing a reserved task wakes the queue, which would be
        // useless if it was never offered.
        let Some(in_hand) = app.claims.take(tenant, task) else {
            line.give_back(ticket, wish);
            continue;
        };
        // If the claimer has left, the task keeps its place: the next round finds it there.
        app.claims.offer(tenant, ticket, (offer, in_hand));
        offered += 1;
    }
    Ok(is_full && line.wants_more())
}

/// Returns whether a wanted resource is held in a conflicting mode. `busy` says of each held
/// resource whether it is shared.
fn is_blocked(busy: &BTreeMap<ResourceRef, bool>, candidate: &Candidate) -> bool {
    candidate.resources.iter().any(|wanted| {
        busy.get(&wanted.0).is_some_and(|all_share| !(*all_share && is_shared(wanted)))
    })
}

/// Returns the environments of these resources; empty if no freeze depends on an environment.
pub(super) async fn environments(
    tx: &mut Tx,
    book: &TenantConfig,
    named: Vec<ResourceRef>,
) -> Result<BTreeMap<ResourceRef, String>, Error> {
    if !book.freezes.iter().any(|freeze| matches!(freeze.scope, FreezeExtent::Environment(_))) {
        return Ok(BTreeMap::new());
    }
    let known = resources::facts(tx, &named).await?.into_iter();
    Ok(known.filter_map(|(name, entry)| Some((name, entry.environment?))).collect())
}

pub(super) fn is_frozen(
    book: &TenantConfig,
    candidate: &Candidate,
    known: &BTreeMap<ResourceRef, String>,
    now: Timestamp,
) -> bool {
    let named: BTreeSet<_> = candidate.resources.iter().map(|(name, _)| name.clone()).collect();
    let environments = named.iter().filter_map(|name| known.get(name).cloned()).collect();
    book.freezes.iter().any(|freeze| freeze.stops(&named, &environments, now))
}

async fn free_slots(
    tx: &mut Tx,
    book: &TenantConfig,
    waiting: &[(u64, PendingClaim)],
) -> Result<BTreeMap<AgentId, u32>, Error> {
    let agents: Vec<AgentId> = waiting.iter().map(|(_, wish)| wish.agent).collect();
    free_of(tx, book, &agents).await
}

/// Returns the number of free slots of these agents, without agents that take no work or have none.
pub(super) async fn free_of(
    tx: &mut Tx,
    book: &TenantConfig,
    agents: &[AgentId],
) -> Result<BTreeMap<AgentId, u32>, Error> {
    let mut free = BTreeMap::new();
    for agent in agents {
        let entry = book.agents.get(agent);
        if let Some(entry) = entry.filter(|entry| entry.is_taking_work()) {
            free.insert(*agent, entry.max_tasks);
        }
    }
    let slots = free.keys().map(|agent| slot(*agent)).collect::<Result<Vec<_>, Error>>()?;
    let held = claimable::held(tx, &slots).await?;
    for (agent, free) in &mut free {
        let slot = slot(*agent)?;
        let taken = held.iter().find(|(resource, _)| *resource == slot);
        *free = free.saturating_sub(taken.map_or(0, |(_, count)| *count));
    }
    free.retain(|_, free| *free > 0);
    Ok(free)
}

/// Returns the tasks that the waiting claimers could run, in the order in which they are to be run.
async fn candidates(
    tx: &mut Tx,
    book: &TenantConfig,
    types: &[String],
    waiting: &[(u64, PendingClaim)],
    seen: &[TaskId],
    limit: u32,
) -> Result<Vec<Candidate>, Error> {
    let any = || waiting.iter().filter(|(_, wish)| wish.task.is_none());
    let is_wanted = |kind: &&String| any().any(|(_, wish)| covers(book, wish.agent, kind));
    let of_any: Vec<String> = types.iter().filter(is_wanted).cloned().collect();
    let mut found = match of_any.as_slice() {
        [] => Vec::new(),
        wanted => claimable::next(tx, wanted, seen, limit).await?,
    };
    let mut single: Vec<TaskId> = waiting.iter().filter_map(|(_, wish)| wish.task).collect();
    single.retain(|task| !seen.contains(task) && !found.iter().any(|known| known.task == *task));
    if !single.is_empty() {
        found.extend(claimable::named(tx, types, &single, limit).await?);
    }
    Ok(found)
}

/// Returns the queue in which tasks wait for their resources; `None` if PostgreSQL is used instead.
fn separate_queue(app: &App) -> Option<&dyn LockQueue> {
    let queue = app.locks.as_ref().map(|keeper| keeper.queue.as_ref())?;
    queue.is_separate().then_some(queue)
}

/// Returns the task with its locks, or `None` if it has to wait for them. Without the queue,
/// PostgreSQL decides alone.
pub(super) async fn seat(
    app: &App,
    tenant: TenantId,
    candidate: Candidate,
    taker: (Taker, Duration),
) -> Result<Option<ClaimMatch>, Error> {
    let lease = app.pepper.lease(tenant, candidate.task, candidate.since);
    let Some(queue) = separate_queue(app) else {
        return Ok(Some(ClaimMatch { candidate, lease, token: None }));
    };
    let request = request(app, (&candidate, lease), taker, LOCK_PLACE_KEPT, None)?;
    let Some(asked) = queue.enqueue(tenant, &request, Arrival::New) else {
        return Ok(Some(ClaimMatch { candidate, lease, token: None }));
    };
    match asked.await {
        Ok(reply) => match reply.answer {
            LeaseStatus::Granted { token, .. } | LeaseStatus::Spent { token, .. } => {
                Ok(Some(ClaimMatch { candidate, lease, token: Some(token) }))
            }
            LeaseStatus::Waiting { .. } => {
                app.claims.keep_place(tenant, lease);
                Ok(None)
            }
            // The lease has just expired; its id can be used again when its tombstone is gone.
            LeaseStatus::Over { .. } | LeaseStatus::Delayed { .. } | LeaseStatus::Unknown => {
                Ok(None)
            }
        },
        Err(LockError::Refused(refusal)) => {
            tracing::debug!(task = %candidate.task, %refusal, "task not queued for its locks");
            Ok(None)
        }
        Err(error) => {
            tracing::debug!(%error, "lock queue unavailable; permit decided by the database");
            Ok(Some(ClaimMatch { candidate, lease, token: None }))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wish(agent: u128) -> PendingClaim {
        PendingClaim { agent: AgentId::from_u128(agent), task: None, ttl: Duration::from_secs(30) }
    }

    #[test]
    fn matching_for_agents_without_a_slot_reads_nothing() {
        let waiting = vec![(1, wish(1)), (2, wish(2))];
        let no_slots = ClaimQueue::new(waiting.clone(), BTreeMap::new());
        assert!(!no_slots.wants_more());
        let mut one = ClaimQueue::new(waiting, BTreeMap::from([(AgentId::from_u128(2), 1)]));
        assert_eq!(one.waiting, [(2, wish(2))]);
        assert!(one.wants_more());
        one.free.insert(AgentId::from_u128(2), 0);
        assert!(!one.wants_more(), "its last slot is taken");
    }
}
