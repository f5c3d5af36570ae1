//! The steps of an acquisition that depend on the backend of the queue.

use ade_core::event::EventKind;
use ade_core::lock::{Arrival, LeaseClass, LeaseStatus, LockEvent, Request};
use ade_store::locks::deadlocks;
use ade_store::{TenantLock, outbox};
use uuid::Uuid;

use super::register::{GrantContext, record_change, register};
use super::{event, postgres_acquire, views};
use crate::app::App;
use crate::caller::Caller;
use crate::command::permission::begin;
use crate::error::Error;
use crate::services::locks::{LockService, QueueReply};

/// Acquires in the queue. With PostgreSQL as the backend, this includes the registration.
pub async fn acquire(
    app: &App,
    caller: &Caller,
    keeper: &LockService,
    request: &Request,
    beside: GrantContext<'_>,
    arrival: Arrival,
) -> Result<QueueReply<LeaseStatus>, Error> {
    match keeper.queue.enqueue(caller.tenant, request, arrival) {
        Some(asked) => Ok(asked.await?),
        None => postgres_acquire::acquire(app, caller, request, beside).await,
    }
}

/// Completes a grant: a fenced lease must be registered by PostgreSQL first.
pub async fn settle(
    app: &App,
    caller: &Caller,
    keeper: &LockService,
    request: &Request,
    beside: GrantContext<'_>,
    status: LeaseStatus,
) -> Result<LeaseStatus, Error> {
    let queue = keeper.queue.as_ref();
    match (queue.is_separate(), request.class(), status) {
        (true, LeaseClass::Fenced { .. }, LeaseStatus::Granted { token, deadline }) => {
            register(app, caller, queue, request, beside, (token, deadline)).await
        }
        _ => Ok(status),
    }
}

/// Emits an event for a queued request. Only fenced leases emit events.
pub async fn tell_queued(app: &App, caller: &Caller, request: &Request) -> Result<(), Error> {
    if request.class() == LeaseClass::Advisory {
        return Ok(());
    }
    let mut tx = begin(&app.pools.api, caller, TenantLock::None).await?;
    outbox::hint(&mut tx, &event(EventKind::LockQueued, request.lease(), Some(request))).await?;
    Ok(tx.commit().await?)
}

/// Records the deadlocks that a queued request has caused, with the leases in each cycle.
pub async fn note_deadlocks(
    app: &App,
    caller: &Caller,
    keeper: &LockService,
    events: &[LockEvent],
) -> Result<(), Error> {
    for found in events {
        let LockEvent::Deadlock { victim, cycle } = found else { continue };
        let leases = keeper.queue.leases(caller.tenant, cycle).await?;
        // The leases are listed in the order of the cycle.
        let in_order = cycle.iter().filter_map(|id| {
            leases.iter().find(|lease| lease.request.lease() == *id).map(views::view)
        });
        let cycle = serde_json::to_value(in_order.collect::<Vec<_>>()).unwrap_or_default();
        let hash = views::hash(victim).to_string();
        let mut tx = begin(&app.pools.api, caller, TenantLock::None).await?;
        deadlocks::insert(&mut tx, Uuid::now_v7(), &hash, &cycle).await?;
        let request = leases.iter().find(|lease| lease.request.lease() == *victim);
        let request = request.map(|lease| &lease.request);
        let kind = EventKind::LockDeadlock;
        record_change(&mut tx, caller, "lock.deadlock", kind, *victim, request, None).await?;
        tx.commit().await?;
    }
    Ok(())
}
