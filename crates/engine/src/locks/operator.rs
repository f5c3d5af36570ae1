//! Lock operations of operators, with a reason and an audit entry: break a lock, or lock resources
//! for an incident. PostgreSQL is changed first, then the queue.

use std::collections::BTreeSet;
use std::time::Duration;

use ade_api::locks::{Breaking, Broken, Incident, NewIncident};
use ade_core::access::Action;
use ade_core::event::EventKind;
use ade_core::ids::{LeaseId, ProcessId, SessionId};
use ade_core::limits::{LEASE_TTL_MAX, LOCK_INCIDENT_MAX, LOCK_QUEUE_SHOWN_MAX};
use ade_core::lock::fence::RegisterRefusal;
use ade_core::lock::{Lease, LeaseClass, LeasePhase, LockSet, Mode, Owner, Request, RequestDraft};
use ade_core::resource::ResourceRef;
use ade_core::step_up::ConfirmationSubject;
use ade_store::locks::{self, epochs, many, sessions};
use ade_store::outbox;
use ade_store::scheduled_jobs::{self, ScheduledJob};
use uuid::Uuid;

use super::lost::{BREAK, record_breaks};
use super::{REAP, event, keeper, views};
use crate::app::App;
use crate::caller::{Caller, IdempotentRequest};
use crate::command::admin_command::{AdminCommand, AuditAction};
use crate::command::permission::person;
use crate::command::{Reply, check_reason};
use crate::error::{Blocked, Error};
use crate::services::locks::LockService;

/// Breaks a lock: the holder can no longer commit. It may still be running, so a person takes
/// responsibility and gives a reason.
pub async fn break_lock(
    app: &App,
    caller: &Caller,
    attempt: &IdempotentRequest,
    resource: ResourceRef,
    breaking: Breaking,
) -> Result<Reply, Error> {
    let keeper = keeper(app)?;
    check_reason("reason", Some(&breaking.reason))?;
    let queued = holders(keeper, caller, &resource).await;
    let mut act = AdminCommand::begin(app, caller, attempt, Some(Action::BreakLock)).await?;
    let shown: Vec<&Lease> = queued.iter().collect();
    let mut leases: BTreeSet<LeaseId> = shown.iter().map(|lease| lease.request.lease()).collect();
    leases.extend(many::holding(&mut act.tx, &resource).await?);
    if let Some(only) = breaking.lease_hash {
        leases.retain(|lease| views::hash(lease) == only);
    }
    if leases.is_empty() {
        return Err(Error::NotFound { what: "lock" });
    }
    let mut act =
        act.confirmed(&ConfirmationSubject::break_lock(&resource, breaking.lease_hash)).await?;
    let leases: Vec<LeaseId> = leases.into_iter().collect();
    let by = LeaseId::from_uuid(Uuid::new_v4());
    let ended = many::break_off(&mut act.tx, &leases, by).await?;
    let request = |lease: &LeaseId| {
        let known = shown.iter().find(|one| one.request.lease() == *lease);
        known.map(|lease| &lease.request)
    };
    let events: Vec<outbox::OutboxEvent> =
        ended.iter().map(|lease| event(EventKind::LockBroken, *lease, request(lease))).collect();
    for lease in &ended {
        scheduled_jobs::clear(&mut act.tx, REAP, lease.uuid()).await?;
    }
    let views = shown.iter().filter(|lease| leases.contains(&lease.request.lease()));
    let broken = Broken {
        resource: resource.clone(),
        leases: views.map(|lease| views::view(lease)).collect(),
    };
    outbox::append(&mut act.tx, &events).await?;
    record_breaks(&mut act.tx, caller, &leases, &breaking.reason).await?;
    let action = AuditAction { object: resource.to_string(), action: BREAK };
    let reply = act.finish_because(action, Some(breaking.reason), 200, &broken).await?;
    for lease in leases {
        if let Err(error) = keeper.queue.break_lease(caller.tenant, lease).await {
            tracing::warn!(%error, "failed to break lease in the lock queue; it will expire");
        }
    }
    keeper.waiters.stir(caller.tenant);
    Ok(reply)
}

/// Returns the holders that the queue knows. Registered holds can be broken without the queue.
async fn holders(keeper: &LockService, caller: &Caller, resource: &ResourceRef) -> Vec<Lease> {
    match keeper.queue.resource(caller.tenant, resource, LOCK_QUEUE_SHOWN_MAX).await {
        Ok(seen) => {
            let holding =
                seen.leases.into_iter().filter(|lease| lease.state != LeasePhase::Waiting);
            holding.collect()
        }
        Err(error) => {
            tracing::warn!(%error, "failed to read lock holders from the queue");
            Vec::new()
        }
    }
}

/// Locks resources for an incident. Advisory leases give way; a fenced holder has to be broken
/// first.
pub async fn incident(
    app: &App,
    caller: &Caller,
    attempt: &IdempotentRequest,
    new: NewIncident,
) -> Result<Reply, Error> {
    let keeper = keeper(app)?;
    check_reason("reason", Some(&new.reason))?;
    let mut act = AdminCommand::begin(app, caller, attempt, Some(Action::BreakLock)).await?;
    let (now, ends_at) = (act.tx.now(), new.ends_at);
    if ends_at <= now || ends_at.since(now) > LOCK_INCIDENT_MAX {
        return Err(Error::invalid("ends_at", "must be in the future and within a day"));
    }
    let set_by = person(caller)?;
    let id = Uuid::new_v4();
    let (lease, session) = (LeaseId::from_uuid(id), ProcessId::from_uuid(id));
    let exclusive = new.resources.iter().map(|resource| (resource.clone(), Mode::Exclusive));
    let draft = RequestDraft {
        lease,
        owner: Owner::User(SessionId::from_uuid(id)),
        node: views::node(&set_by.to_string(), &app.service),
        birth: now,
        class: LeaseClass::Fenced { lock_delay: Duration::ZERO },
        set: LockSet::new(exclusive).map_err(|error| Error::invalid("resources", error))?,
        ttl: LEASE_TTL_MAX,
        wait: Duration::ZERO,
        boost: 0,
    };
    let request = Request::new(draft).map_err(|error| Error::invalid("resources", error))?;
    sessions::open(&mut act.tx, session, None, request.node(), ends_at.since(now)).await?;
    let epoch = epochs::current(&mut act.tx).await?.epoch;
    let token = locks::next_token(&mut act.tx, epoch, request.set()).await?;
    match locks::register(&mut act.tx, &request, session, token).await? {
        Ok(()) => {}
        Err(RegisterRefusal::Held { resource, by }) => {
            act.tx.roll_back().await;
            return Err(held(&keeper.queue.leases(caller.tenant, &by).await?, resource));
        }
        Err(refusal) => {
            tracing::warn!(%refusal, "incident lock not registered");
            return Err(crate::services::locks::LockQueueError::Unsettled.into());
        }
    }
    many::set_aside(&mut act.tx, lease, Some(&new.reason), Some(ends_at)).await?;
    scheduled_jobs::set(
        &mut act.tx,
        &[ScheduledJob { kind: REAP, object: lease.uuid(), at: ends_at }],
    )
    .await?;
    let acquired = event(EventKind::LockAcquired, lease, Some(&request));
    outbox::append(&mut act.tx, &[acquired]).await?;
    let made = Incident {
        lease_hash: views::hash(&lease),
        resources: request.set().resources().cloned().collect(),
        reason: new.reason.clone(),
        set_by,
        ends_at,
    };
    let action = AuditAction { object: made.lease_hash.to_string(), action: "lock.incident" };
    let reply = act.finish_because(action, Some(new.reason), 201, &made).await?;
    keeper.queue.adopt(caller.tenant, &[lease]).await?;
    Ok(reply)
}

fn held(holders: &[Lease], resource: ResourceRef) -> Error {
    let holders = holders.iter().map(views::view).collect();
    Error::LockHeld(Box::new(Blocked { on: Some(resource), position: None, lease: None, holders }))
}
