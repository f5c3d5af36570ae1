//! An acquisition without Redis: one transaction decides the request, and registers or queues it. A
//! queued request calls again when it may proceed.

use ade_core::limits::LOCK_QUEUE_DEPTH_MAX;
use ade_core::lock::fence::RegisterRefusal;
use ade_core::lock::line::{QueueSnapshot, next_place};
use ade_core::lock::wait_for::WaitFor;
use ade_core::lock::{Lease, LeasePhase, LeaseStatus, LockEvent, LockRefusal, Order, Request};
use ade_core::resource::ResourceRef;
use ade_core::time::Timestamp;
use ade_store::locks::line::{self, Entered};
use ade_store::locks::{self, many};
use ade_store::{TenantLock, Tx};

use super::register::{GrantContext, put};
use crate::app::App;
use crate::caller::Caller;
use crate::command::permission::begin;
use crate::error::Error;
use crate::services::locks::{LockQueueError as LockError, QueueReply, resources};

pub async fn acquire(
    app: &App,
    caller: &Caller,
    request: &Request,
    beside: GrantContext<'_>,
) -> Result<QueueReply<LeaseStatus>, Error> {
    let mut tx = begin(&app.pools.api, caller, TenantLock::None).await?;
    let entered = line::enter(&mut tx).await?;
    let reply = |answer| Ok(QueueReply { answer, events: Vec::new() });
    if let Some(status) = registered(&mut tx, request).await? {
        return reply(status);
    }
    let own = own_wait(&mut tx, request, entered.now).await?;
    if let Some(own) = own.as_ref().filter(|own| own.state != LeasePhase::Waiting) {
        return reply(LeaseStatus::Over { state: own.state });
    }
    let waiting = line::waiting(&mut tx).await?;
    if own.is_none() {
        refuse_too_many(&mut tx, request, &waiting).await?;
    }
    let mut wanted = resources(&waiting);
    wanted.extend(request.set().resources().cloned());
    let holding = line::holding(&mut tx, &wanted).await?;
    let picture = QueueSnapshot { holding: &holding, waiting: &waiting };
    let order = own.as_ref().and_then(|own| own.order);
    let order = order.or_else(|| next_place(entered.epoch, entered.arrivals, request.boost()));
    let order = order.ok_or(LockError::Unsettled)?;
    let Some(blocked) = picture.blocked_on(request, order) else {
        // A request that overtakes others counts as an arrival as well; otherwise others could
        // starve.
        if own.is_none() && request.boost() > 0 {
            line::count(&mut tx).await?;
        }
        return reply(grant(tx, caller, request, beside, entered).await?);
    };
    let events = match own {
        Some(_) => Vec::new(),
        None => join(&mut tx, &picture, request, order, blocked, entered.now).await?,
    };
    let is_victim = events.iter().any(|event| match event {
        LockEvent::Deadlock { victim, .. } => *victim == request.lease(),
        _ => false,
    });
    let answer = if is_victim {
        LeaseStatus::Over { state: LeasePhase::Victim }
    } else {
        let deadline = entered.now.plus(request.wait());
        LeaseStatus::Waiting { position: picture.position(request, order), order, deadline }
    };
    tx.commit().await?;
    Ok(QueueReply { answer, events })
}

/// Moves a request from the queue to a registered hold.
async fn grant(
    mut tx: Tx,
    caller: &Caller,
    request: &Request,
    beside: GrantContext<'_>,
    entered: Entered,
) -> Result<LeaseStatus, Error> {
    let token = locks::next_token(&mut tx, entered.epoch, request.set()).await?;
    line::leave(&mut tx, request.lease()).await?;
    match put(&mut tx, caller, request, beside, token).await? {
        Ok(()) => {
            tx.commit().await?;
            Ok(LeaseStatus::Granted { token, deadline: entered.now.plus(request.ttl()) })
        }
        Err(refusal) => {
            tx.roll_back().await;
            match refusal {
                RegisterRefusal::SessionDead => Err(Error::ProcessExpired),
                RegisterRefusal::TooMany { taken } => Err(refused(LockRefusal::TooMany { taken })),
                _ => Err(LockError::Unsettled.into()),
            }
        }
    }
}

/// Returns the request's own place in the queue, if it has one. An owner has at most one wait.
async fn own_wait(tx: &mut Tx, request: &Request, now: Timestamp) -> Result<Option<Lease>, Error> {
    let own = line::find(tx, &[request.lease()]).await?.pop();
    if let Some(own) = own.filter(|own| own.deadline > now) {
        if !own.request.asks_the_same_as(request) {
            return Err(refused(LockRefusal::OtherRequest));
        }
        return Ok(Some(own));
    }
    let waiting = line::waiting(tx).await?;
    let other = waiting.iter().find(|wait| wait.request.owner() == request.owner());
    match other {
        Some(other) => Err(refused(LockRefusal::AlreadyWaiting { lease: other.request.lease() })),
        None => Ok(None),
    }
}

/// Refuses a request beyond the limit. Held and awaited resources both count. A queued request was
/// counted when it arrived.
async fn refuse_too_many(tx: &mut Tx, request: &Request, waiting: &[Lease]) -> Result<(), Error> {
    let Some(agent) = request.agent() else { return Ok(()) };
    let own = waiting.iter().filter(|wait| wait.request.agent() == Some(agent));
    let waits: usize = own.map(|wait| wait.request.set().len()).sum();
    let taken = waits + locks::taken(tx, agent).await?;
    if request.set().fits_an_agent_with(taken) {
        return Ok(());
    }
    Err(refused(LockRefusal::TooMany { taken }))
}

/// Returns the state of a lease that PostgreSQL knows, whether held or ended.
async fn registered(tx: &mut Tx, request: &Request) -> Result<Option<LeaseStatus>, Error> {
    let held = locks::of(tx, &[request.lease()]).await?.pop();
    if let Some(hold) = held {
        if !hold.request.asks_the_same_as(request) {
            return Err(refused(LockRefusal::OtherRequest));
        }
        return Ok(Some(LeaseStatus::Granted { token: hold.token, deadline: hold.deadline }));
    }
    let ended = many::ended(tx, request.lease()).await?;
    Ok(ended.map(|is_released| LeaseStatus::Over {
        state: if is_released { LeasePhase::Released } else { LeasePhase::Expired },
    }))
}

/// Queues the request, if possible; and ends the youngest wait of every deadlock that it causes.
async fn join(
    tx: &mut Tx,
    picture: &QueueSnapshot<'_>,
    request: &Request,
    order: Order,
    blocked: &ResourceRef,
    now: Timestamp,
) -> Result<Vec<LockEvent>, Error> {
    if let Some(own) = picture.own_in_the_way(request) {
        return Err(refused(LockRefusal::SelfConflict { resource: own.clone() }));
    }
    if request.wait().is_zero() {
        return Err(refused(LockRefusal::Busy { resource: blocked.clone() }));
    }
    if let Some((resource, depth)) = picture.depth(request)
        && depth >= LOCK_QUEUE_DEPTH_MAX
    {
        return Err(refused(LockRefusal::QueueFull { resource: resource.clone() }));
    }
    line::join(tx, request, order).await?;
    let mut waiting = picture.waiting.to_vec();
    waiting.push(Lease {
        request: request.clone(),
        state: LeasePhase::Waiting,
        token: None,
        order: Some(order),
        deadline: now.plus(request.wait()),
        held_since: None,
        registered: false,
    });
    let mut events = Vec::new();
    while let Some(found) = WaitFor::between(&waiting, picture.holding, now).deadlock() {
        let victim = found.victim;
        line::end(tx, victim, LeasePhase::Victim).await?;
        waiting.retain(|wait| wait.request.lease() != victim);
        events.push(LockEvent::Deadlock { victim, cycle: found.cycle });
    }
    Ok(events)
}

fn refused(refusal: LockRefusal) -> Error {
    Error::Locks(LockError::Refused(refusal))
}
