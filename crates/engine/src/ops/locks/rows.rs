//! An acquisition without Redis: one transaction judges it, and registers it or has it join the
//! line. Whoever is in line asks again when it may go.

use ade_core::limits::LOCK_QUEUE_DEPTH_MAX;
use ade_core::lock::fence::RegisterRefusal;
use ade_core::lock::line::{Line, next_place};
use ade_core::lock::wait_for::WaitFor;
use ade_core::lock::{Event, Lease, Order, Refusal, Request, Standing, State};
use ade_core::resource::ResourceRef;
use ade_core::time::Timestamp;
use ade_store::locks::line::{self, Entered};
use ade_store::locks::{self, many};
use ade_store::{Gate, Tx};

use super::register::{Beside, put};
use crate::app::App;
use crate::caller::Caller;
use crate::error::Error;
use crate::locks::{Error as LockError, Said, resources};
use crate::ops::act::begin;

pub async fn acquire(
    app: &App,
    caller: &Caller,
    request: &Request,
    beside: Beside<'_>,
) -> Result<Said<Standing>, Error> {
    let mut tx = begin(&app.pools.api, caller, Gate::Unasked).await?;
    let entered = line::enter(&mut tx).await?;
    let said = |answer| Ok(Said { answer, events: Vec::new() });
    if let Some(standing) = registered(&mut tx, request).await? {
        return said(standing);
    }
    let own = own_wait(&mut tx, request, entered.now).await?;
    if let Some(own) = own.as_ref().filter(|own| own.state != State::Waiting) {
        return said(Standing::Over { state: own.state });
    }
    let waiting = line::waiting(&mut tx).await?;
    if own.is_none() {
        refuse_too_many(&mut tx, request, &waiting).await?;
    }
    let mut wanted = resources(&waiting);
    wanted.extend(request.set().resources().cloned());
    let holding = line::holding(&mut tx, &wanted).await?;
    let picture = Line { holding: &holding, waiting: &waiting };
    let order = own.as_ref().and_then(|own| own.order);
    let order = order.or_else(|| next_place(entered.epoch, entered.arrivals, request.boost()));
    let order = order.ok_or(LockError::Unsettled)?;
    let Some(blocked) = picture.blocked_on(request, order) else {
        // Who stepped past somebody has come as well, or could do so for ever.
        if own.is_none() && request.boost() > 0 {
            line::count(&mut tx).await?;
        }
        return said(grant(tx, caller, request, beside, entered).await?);
    };
    let events = match own {
        Some(_) => Vec::new(),
        None => join(&mut tx, &picture, request, order, blocked, entered.now).await?,
    };
    let is_victim = events.iter().any(|event| match event {
        Event::Deadlock { victim, .. } => *victim == request.lease(),
        _ => false,
    });
    let answer = if is_victim {
        Standing::Over { state: State::Victim }
    } else {
        let deadline = entered.now.plus(request.wait());
        Standing::Waiting { position: picture.position(request, order), order, deadline }
    };
    tx.commit().await?;
    Ok(Said { answer, events })
}

/// Out of the line and onto the record.
async fn grant(
    mut tx: Tx,
    caller: &Caller,
    request: &Request,
    beside: Beside<'_>,
    entered: Entered,
) -> Result<Standing, Error> {
    let token = locks::next_token(&mut tx, entered.epoch, request.set()).await?;
    line::leave(&mut tx, request.lease()).await?;
    match put(&mut tx, caller, request, beside, token).await? {
        Ok(()) => {
            tx.commit().await?;
            Ok(Standing::Granted { token, deadline: entered.now.plus(request.ttl()) })
        }
        Err(refusal) => {
            tx.roll_back().await;
            match refusal {
                RegisterRefusal::SessionDead => Err(Error::SessionOver),
                RegisterRefusal::TooMany { taken } => Err(refused(Refusal::TooMany { taken })),
                _ => Err(LockError::Unsettled.into()),
            }
        }
    }
}

/// The place it has, or how it lost it; and nobody waits twice.
async fn own_wait(tx: &mut Tx, request: &Request, now: Timestamp) -> Result<Option<Lease>, Error> {
    let own = line::find(tx, &[request.lease()]).await?.pop();
    if let Some(own) = own.filter(|own| own.deadline > now) {
        if !own.request.asks_the_same_as(request) {
            return Err(refused(Refusal::OtherRequest));
        }
        return Ok(Some(own));
    }
    let waiting = line::waiting(tx).await?;
    let other = waiting.iter().find(|wait| wait.request.owner() == request.owner());
    match other {
        Some(other) => Err(refused(Refusal::AlreadyWaiting { lease: other.request.lease() })),
        None => Ok(None),
    }
}

/// What an agent holds and what it waits for count alike. Whoever is in line was counted when it
/// came.
async fn refuse_too_many(tx: &mut Tx, request: &Request, waiting: &[Lease]) -> Result<(), Error> {
    let Some(agent) = request.agent() else { return Ok(()) };
    let own = waiting.iter().filter(|wait| wait.request.agent() == Some(agent));
    let waits: usize = own.map(|wait| wait.request.set().len()).sum();
    let taken = waits + locks::taken(tx, agent).await?;
    if request.set().fits_an_agent_with(taken) {
        return Ok(());
    }
    Err(refused(Refusal::TooMany { taken }))
}

/// How a lease stands that the record knows.
async fn registered(tx: &mut Tx, request: &Request) -> Result<Option<Standing>, Error> {
    let held = locks::of(tx, &[request.lease()]).await?.pop();
    if let Some(hold) = held {
        if !hold.request.asks_the_same_as(request) {
            return Err(refused(Refusal::OtherRequest));
        }
        return Ok(Some(Standing::Granted { token: hold.token, deadline: hold.deadline }));
    }
    let ended = many::ended(tx, request.lease()).await?;
    Ok(ended.map(|is_released| Standing::Over {
        state: if is_released { State::Released } else { State::Expired },
    }))
}

/// Stands in line, unless that cannot be; and ends the youngest wait of every circle it closes.
async fn join(
    tx: &mut Tx,
    picture: &Line<'_>,
    request: &Request,
    order: Order,
    blocked: &ResourceRef,
    now: Timestamp,
) -> Result<Vec<Event>, Error> {
    if let Some(own) = picture.own_in_the_way(request) {
        return Err(refused(Refusal::SelfConflict { resource: own.clone() }));
    }
    if request.wait().is_zero() {
        return Err(refused(Refusal::Busy { resource: blocked.clone() }));
    }
    if let Some((resource, depth)) = picture.depth(request)
        && depth >= LOCK_QUEUE_DEPTH_MAX
    {
        return Err(refused(Refusal::QueueFull { resource: resource.clone() }));
    }
    line::join(tx, request, order).await?;
    let mut waiting = picture.waiting.to_vec();
    waiting.push(Lease {
        request: request.clone(),
        state: State::Waiting,
        token: None,
        order: Some(order),
        deadline: now.plus(request.wait()),
        held_since: None,
        registered: false,
    });
    let mut events = Vec::new();
    while let Some(found) = WaitFor::between(&waiting, picture.holding, now).deadlock() {
        let victim = found.victim;
        line::end(tx, victim, State::Victim).await?;
        waiting.retain(|wait| wait.request.lease() != victim);
        events.push(Event::Deadlock { victim, cycle: found.cycle });
    }
    Ok(events)
}

fn refused(refusal: Refusal) -> Error {
    Error::Locks(LockError::Refused(refusal))
}
