//! Brings approved tasks and those who wait for work in this process together. A task stands in
//! line for its resources itself, under a lease that every process knows alike; once it has them
//! it is offered to the first who may run it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use ade_core::actor::Actor;
use ade_core::freeze::Scope;
use ade_core::ids::{AgentId, TaskId, TenantId};
use ade_core::limits::{CLAIM_PAGE, CLAIM_PAGE_MIN, CLAIM_PAGES_MAX, LOCK_PLACE_KEPT};
use ade_core::lock::{Arrival, Standing};
use ade_core::resource::ResourceRef;
use ade_core::time::Timestamp;
use ade_store::claimable::{self, Candidate};
use ade_store::rulebook::Rulebook;
use ade_store::{Gate, Tx, resources};

use super::{Taker, is_shared, request, slot};
use crate::app::App;
use crate::book::covers;
use crate::claims::{Offer, Wish};
use crate::error::Error;
use crate::locks::{Error as LockError, Queue};

/// Those who wait and can be given something, with what is left of their agent's slots.
struct Line {
    waiting: Vec<(u64, Wish)>,
    free: BTreeMap<AgentId, u32>,
}

impl Line {
    /// Those whose agent has a slot: for the others nothing need be read.
    fn new(mut waiting: Vec<(u64, Wish)>, free: BTreeMap<AgentId, u32>) -> Self {
        waiting.retain(|(_, wish)| free.contains_key(&wish.agent));
        Self { waiting, free }
    }

    /// Whether anybody could still be given something.
    fn wants_more(&self) -> bool {
        self.waiting.iter().any(|(_, wish)| self.free.get(&wish.agent).is_some_and(|of| *of > 0))
    }

    /// The first who may run it; asked again, the next.
    fn take(&mut self, book: &Rulebook, candidate: &Candidate) -> Option<(u64, Wish)> {
        let fits = |(_, wish): &(u64, Wish)| {
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

    /// At the head again: it got nothing.
    fn give_back(&mut self, ticket: u64, wish: Wish) {
        if let Some(free) = self.free.get_mut(&wish.agent) {
            *free += 1;
        }
        self.waiting.insert(0, (ticket, wish));
    }
}

/// Offers what can be offered now. What cannot be applied yet is passed over for what comes after
/// it, however much of it there is, up to the bound of a round.
pub(crate) async fn round(app: &App, tenant: TenantId) -> Result<(), Error> {
    let mut seen = app.claims.aside(tenant);
    // One for each who waits is enough where all can be applied; else whole pages follow.
    let mut least = CLAIM_PAGE_MIN;
    for _ in 0..CLAIM_PAGES_MAX {
        if !Box::pin(page(app, tenant, &mut seen, least)).await? {
            break;
        }
        least = CLAIM_PAGE;
    }
    Ok(())
}

/// One page of tasks in their order, save those that were seen. Says whether the next is wanted.
async fn page(
    app: &App,
    tenant: TenantId,
    seen: &mut Vec<TaskId>,
    least: u32,
) -> Result<bool, Error> {
    let waiting = app.claims.waiting(tenant);
    let room = (CLAIM_PAGE as usize).saturating_sub(app.claims.in_hand(tenant));
    if waiting.is_empty() || room == 0 {
        // Whoever lets a task go has the tenant looked at again.
        return Ok(false);
    }
    let actor = Actor::system("claim_matcher");
    let mut tx = Tx::begin(&app.pools.api, tenant, actor, Gate::Unasked).await?;
    // Mostly there is nothing: then nobody who waits is looked at.
    let mut types = claimable::types_now(&mut tx).await?;
    types.retain(|kind| !app.executors.runs(kind));
    if types.is_empty() {
        tx.roll_back().await;
        return Ok(false);
    }
    let book = app.books.current(&mut tx).await?;
    let free = free_slots(&mut tx, &book, &waiting).await?;
    let mut line = Line::new(waiting, free);
    if !line.wants_more() {
        tx.roll_back().await;
        return Ok(false);
    }
    let limit = u32::try_from(line.waiting.len()).unwrap_or(u32::MAX).clamp(least, CLAIM_PAGE);
    let candidates = candidates(&mut tx, &book, &types, &line.waiting, seen, limit).await?;
    let named = candidates.iter().flat_map(|task| &task.resources).map(|(name, _)| name.clone());
    let named: Vec<_> = named.collect();
    let mut busy = match app.locks.as_ref().map(|keeper| &keeper.queue) {
        // What is busy stands in line there.
        Some(Queue::Redis(_)) => None,
        Some(Queue::Postgres(_)) | None => Some(claimable::busy(&mut tx, &named).await?),
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
        // Only now: whoever lets a task go stirs the line, and has stirred it for nothing if it
        // was never offered.
        let Some(in_hand) = app.claims.take(tenant, task) else {
            line.give_back(ticket, wish);
            continue;
        };
        // Whoever has left lets the task stand where it is: the next round finds it there.
        app.claims.offer(tenant, ticket, (offer, in_hand));
        offered += 1;
    }
    Ok(is_full && line.wants_more())
}

/// Whether somebody holds what it wants; of each that is held it is known whether it is shared.
fn is_blocked(busy: &BTreeMap<ResourceRef, bool>, candidate: &Candidate) -> bool {
    candidate.resources.iter().any(|wanted| {
        busy.get(&wanted.0).is_some_and(|all_share| !(*all_share && is_shared(wanted)))
    })
}

/// Of those of these resources that belong to one, where that decides anything.
pub(super) async fn environments(
    tx: &mut Tx,
    book: &Rulebook,
    named: Vec<ResourceRef>,
) -> Result<BTreeMap<ResourceRef, String>, Error> {
    if !book.freezes.iter().any(|freeze| matches!(freeze.scope, Scope::Environment(_))) {
        return Ok(BTreeMap::new());
    }
    let known = resources::facts(tx, &named).await?.into_iter();
    Ok(known.filter_map(|(name, entry)| Some((name, entry.environment?))).collect())
}

pub(super) fn is_frozen(
    book: &Rulebook,
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
    book: &Rulebook,
    waiting: &[(u64, Wish)],
) -> Result<BTreeMap<AgentId, u32>, Error> {
    let agents: Vec<AgentId> = waiting.iter().map(|(_, wish)| wish.agent).collect();
    free_of(tx, book, &agents).await
}

/// What is left of the slots of those of these agents that take work and have one.
pub(super) async fn free_of(
    tx: &mut Tx,
    book: &Rulebook,
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

/// What those who wait could run, in the order in which it is to be run.
async fn candidates(
    tx: &mut Tx,
    book: &Rulebook,
    types: &[String],
    waiting: &[(u64, Wish)],
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

/// The task with its resources, or nothing if it has to wait for them. Without the queue the
/// record decides alone.
pub(super) async fn seat(
    app: &App,
    tenant: TenantId,
    candidate: Candidate,
    taker: (Taker, Duration),
) -> Result<Option<Offer>, Error> {
    let lease = app.pepper.lease(tenant, candidate.task, candidate.since);
    let redis = match app.locks.as_ref().map(|keeper| &keeper.queue) {
        Some(Queue::Redis(redis)) => redis,
        Some(Queue::Postgres(_)) | None => {
            return Ok(Some(Offer { candidate, lease, token: None }));
        }
    };
    let request = request(app, (&candidate, lease), taker, LOCK_PLACE_KEPT, None)?;
    match redis.desk.acquire(tenant, &request, Arrival::New).await {
        Ok(said) => match said.answer {
            Standing::Granted { token, .. } | Standing::Spent { token, .. } => {
                Ok(Some(Offer { candidate, lease, token: Some(token) }))
            }
            Standing::Waiting { .. } => {
                app.claims.keep_place(tenant, lease);
                Ok(None)
            }
            // Run out a moment ago; its id is free again when its tombstone is gone.
            Standing::Over { .. } | Standing::Delayed { .. } | Standing::Unknown => Ok(None),
        },
        Err(LockError::Refused(refusal)) => {
            tracing::debug!(task = %candidate.task, %refusal, "cannot stand in line now");
            Ok(None)
        }
        Err(error) => {
            tracing::debug!(%error, "the record decides without the queue");
            Ok(Some(Offer { candidate, lease, token: None }))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wish(agent: u128) -> Wish {
        Wish { agent: AgentId::from_u128(agent), task: None, ttl: Duration::from_secs(30) }
    }

    #[test]
    fn for_agents_without_a_slot_nothing_is_read() {
        let waiting = vec![(1, wish(1)), (2, wish(2))];
        let nobody = Line::new(waiting.clone(), BTreeMap::new());
        assert!(!nobody.wants_more());
        let mut one = Line::new(waiting, BTreeMap::from([(AgentId::from_u128(2), 1)]));
        assert_eq!(one.waiting, [(2, wish(2))]);
        assert!(one.wants_more());
        one.free.insert(AgentId::from_u128(2), 0);
        assert!(!one.wants_more(), "its last slot was given away");
    }
}
