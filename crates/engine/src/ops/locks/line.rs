//! The steps of an acquisition that depend on how the queue is kept.

use ade_core::event::EventKind;
use ade_core::lock::{Arrival, Class, Event, Request, Standing};
use ade_store::locks::deadlocks;
use ade_store::{Gate, outbox};
use uuid::Uuid;

use super::register::{Beside, register, told};
use super::{event, rows, show};
use crate::app::App;
use crate::caller::Caller;
use crate::error::Error;
use crate::locks::{Keeper, Queue, Said};
use crate::ops::act::begin;

/// Into the queue. In the record, that is also the registration.
pub async fn acquire(
    app: &App,
    caller: &Caller,
    keeper: &Keeper,
    request: &Request,
    beside: Beside<'_>,
    arrival: Arrival,
) -> Result<Said<Standing>, Error> {
    match &keeper.queue {
        Queue::Redis(redis) => Ok(redis.desk.acquire(caller.tenant, request, arrival).await?),
        Queue::Postgres(_) => rows::acquire(app, caller, request, beside).await,
    }
}

/// A grant of a fenced lease is one once the record has it.
pub async fn settle(
    app: &App,
    caller: &Caller,
    keeper: &Keeper,
    request: &Request,
    beside: Beside<'_>,
    standing: Standing,
) -> Result<Standing, Error> {
    match (&keeper.queue, request.class(), standing) {
        (Queue::Redis(redis), Class::Fenced { .. }, Standing::Granted { token, deadline }) => {
            register(app, caller, &redis.desk, request, beside, (token, deadline)).await
        }
        _ => Ok(standing),
    }
}

/// Only fenced leases are told of in the record.
pub async fn tell_queued(app: &App, caller: &Caller, request: &Request) -> Result<(), Error> {
    if request.class() == Class::Advisory {
        return Ok(());
    }
    let mut tx = begin(&app.pools.api, caller, Gate::Unasked).await?;
    outbox::hint(&mut tx, &event(EventKind::LockQueued, request.lease(), Some(request))).await?;
    Ok(tx.commit().await?)
}

/// The circles that an enqueue has closed, with who was in them.
pub async fn note_deadlocks(
    app: &App,
    caller: &Caller,
    keeper: &Keeper,
    events: &[Event],
) -> Result<(), Error> {
    for found in events {
        let Event::Deadlock { victim, cycle } = found else { continue };
        let leases = keeper.leases(caller.tenant, cycle).await?;
        // In the order of the circle.
        let in_order = cycle.iter().filter_map(|id| {
            leases.iter().find(|lease| lease.request.lease() == *id).map(show::view)
        });
        let cycle = serde_json::to_value(in_order.collect::<Vec<_>>()).unwrap_or_default();
        let hash = show::hash(victim).to_string();
        let mut tx = begin(&app.pools.api, caller, Gate::Unasked).await?;
        deadlocks::insert(&mut tx, Uuid::now_v7(), &hash, &cycle).await?;
        let request = leases.iter().find(|lease| lease.request.lease() == *victim);
        let request = request.map(|lease| &lease.request);
        let kind = EventKind::LockDeadlock;
        told(&mut tx, caller, "lock.deadlock", kind, *victim, request, None).await?;
        tx.commit().await?;
    }
    Ok(())
}
