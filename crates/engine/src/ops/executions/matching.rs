//! Brings approved tasks and those who wait for work in this process together. A task stands in
//! line for its resources itself, under a lease that every process knows alike; once it has them
//! it is offered to the first who may run it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use ade_core::actor::Actor;
use ade_core::ids::{AgentId, TenantId};
use ade_core::limits::{CLAIM_ROUND_MAX, LOCK_PLACE_KEPT};
use ade_core::lock::{Arrival, Standing};
use ade_core::time::Timestamp;
use ade_store::claimable::{self, Candidate};
use ade_store::rulebook::Rulebook;
use ade_store::{Gate, Tx};

use super::{Taker, request, slot};
use crate::app::App;
use crate::book::covers;
use crate::claims::{Offer, Wish};
use crate::error::Error;
use crate::locks::{Error as LockError, Queue};

/// Everybody who waits, with what is left of their agent's slots.
struct Line {
    waiting: Vec<(u64, Wish)>,
    free: BTreeMap<AgentId, u32>,
}

impl Line {
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

/// Offers what can be offered now.
pub(crate) async fn round(app: &App, tenant: TenantId) -> Result<(), Error> {
    let waiting = app.claims.waiting(tenant);
    if waiting.is_empty() {
        return Ok(());
    }
    let actor = Actor::system("claim_matcher");
    let mut tx = Tx::begin(&app.pools.api, tenant, actor, Gate::Unasked).await?;
    // Mostly there is nothing: then nobody who waits is looked at.
    let mut types = claimable::types(&mut tx).await?;
    types.retain(|kind| !app.executors.runs(kind));
    if types.is_empty() {
        tx.roll_back().await;
        return Ok(());
    }
    let book = app.books.current(&mut tx).await?;
    let free = free_slots(&mut tx, &book, &waiting).await?;
    let mut line = Line { waiting, free };
    let candidates = candidates(&mut tx, &book, &types, &line.waiting).await?;
    let now = tx.now();
    tx.roll_back().await;
    for candidate in candidates {
        if is_frozen(&book, &candidate, now) {
            continue;
        }
        let Some((ticket, wish)) = line.take(&book, &candidate) else { continue };
        let taker = (Taker::Agent(wish.agent), wish.ttl);
        let Some(offer) = seat(app, tenant, candidate, taker).await? else {
            line.give_back(ticket, wish);
            continue;
        };
        // Whoever has left lets the task stand where it is: the next round finds it there.
        app.claims.offer(tenant, ticket, offer);
    }
    Ok(())
}

/// Which environment a resource belongs to is asked by the permit.
pub(super) fn is_frozen(book: &Rulebook, candidate: &Candidate, now: Timestamp) -> bool {
    let named: BTreeSet<_> = candidate.resources.iter().map(|(name, _)| name.clone()).collect();
    book.freezes.iter().any(|freeze| freeze.stops(&named, &BTreeSet::new(), now))
}

async fn free_slots(
    tx: &mut Tx,
    book: &Rulebook,
    waiting: &[(u64, Wish)],
) -> Result<BTreeMap<AgentId, u32>, Error> {
    let mut free = BTreeMap::new();
    for (_, wish) in waiting {
        let entry = book.agents.get(&wish.agent);
        if let Some(entry) = entry.filter(|entry| entry.is_taking_work()) {
            free.insert(wish.agent, entry.max_tasks);
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
) -> Result<Vec<Candidate>, Error> {
    let is_wanted =
        |kind: &String, wishes: &[&Wish]| wishes.iter().any(|wish| covers(book, wish.agent, kind));
    let wish = |is_one: bool| {
        let wishes = waiting.iter().map(|(_, wish)| wish);
        wishes.filter(move |wish| wish.task.is_some() == is_one).collect::<Vec<_>>()
    };
    let (any, single) = (wish(false), wish(true));
    let of_any: Vec<String> = types.iter().filter(|kind| is_wanted(kind, &any)).cloned().collect();
    let mut found = match of_any.as_slice() {
        [] => Vec::new(),
        wanted => claimable::next(tx, wanted, None, CLAIM_ROUND_MAX).await?,
    };
    for wish in single {
        if !found.iter().any(|known| Some(known.task) == wish.task) {
            found.extend(claimable::next(tx, types, wish.task, 1).await?);
        }
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
            Standing::Granted { token, .. } => {
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
