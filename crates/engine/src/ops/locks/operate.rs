//! What operators do to locks, with a reason and a leaf: take one from its holders, or keep
//! resources from everybody until an end. The record first, then the queue.

use std::collections::BTreeSet;
use std::time::Duration;

use ade_api::locks::{Breaking, Broken, Incident, NewIncident};
use ade_core::access::Action;
use ade_core::event::EventKind;
use ade_core::ids::{AgentSessionId, LeaseId, SessionId};
use ade_core::limits::{LEASE_TTL_MAX, LOCK_INCIDENT_MAX, LOCK_QUEUE_SHOWN_MAX};
use ade_core::lock::fence::RegisterRefusal;
use ade_core::lock::{Class, Lease, LockSet, Mode, Owner, Request, RequestDraft, State};
use ade_core::resource::ResourceRef;
use ade_core::step_up::Subject;
use ade_store::due::{self, Due};
use ade_store::locks::{self, epochs, many, sessions};
use ade_store::outbox;
use uuid::Uuid;

use super::{REAP, event, keeper, show};
use crate::app::App;
use crate::caller::{Attempt, Caller};
use crate::error::{Blocked, Error};
use crate::locks::Keeper;
use crate::ops::act::{Act, Begun, Deed, person};
use crate::ops::{Reply, check_reason};

/// Whoever holds it cannot commit any more; whether they have stopped is another question, so a
/// person takes that on with their reason.
pub async fn break_lock(
    app: &App,
    caller: &Caller,
    attempt: &Attempt,
    resource: ResourceRef,
    breaking: Breaking,
) -> Result<Reply, Error> {
    let keeper = keeper(app)?;
    check_reason("reason", Some(&breaking.reason))?;
    let queued = holders(keeper, caller, &resource).await;
    let mut act = match Act::begin(app, caller, attempt, Some(Action::BreakLock)).await? {
        Begun::Act(act) => act,
        Begun::Repeated(reply) => return Ok(reply),
    };
    let shown: Vec<&Lease> = queued.iter().collect();
    let mut leases: BTreeSet<LeaseId> = shown.iter().map(|lease| lease.request.lease()).collect();
    leases.extend(many::holding(&mut act.tx, &resource).await?);
    if let Some(only) = breaking.lease_hash {
        leases.retain(|lease| show::hash(lease) == only);
    }
    if leases.is_empty() {
        return Err(Error::NotFound { what: "lock" });
    }
    let mut act = act.confirmed(&Subject::break_lock(&resource, breaking.lease_hash)).await?;
    let leases: Vec<LeaseId> = leases.into_iter().collect();
    let by = LeaseId::from_uuid(Uuid::new_v4());
    let ended = many::break_off(&mut act.tx, &leases, by).await?;
    let request = |lease: &LeaseId| {
        let known = shown.iter().find(|one| one.request.lease() == *lease);
        known.map(|lease| &lease.request)
    };
    let events: Vec<outbox::Event> =
        ended.iter().map(|lease| event(EventKind::LockBroken, *lease, request(lease))).collect();
    for lease in &ended {
        due::clear(&mut act.tx, REAP, lease.uuid()).await?;
    }
    let views = shown.iter().filter(|lease| leases.contains(&lease.request.lease()));
    let broken = Broken {
        resource: resource.clone(),
        leases: views.map(|lease| show::view(lease)).collect(),
    };
    outbox::append(&mut act.tx, &events).await?;
    let deed = Deed { object: resource.to_string(), action: "lock.break" };
    let reply = act.finish_because(deed, Some(breaking.reason), 200, &broken).await?;
    for lease in leases {
        if let Err(error) = keeper.break_lease(caller.tenant, lease).await {
            tracing::warn!(%error, "the queue learns of a broken lease when it runs out");
        }
    }
    keeper.waiters.stir(caller.tenant);
    Ok(reply)
}

/// As the queue knows them. What is registered can be broken without it.
async fn holders(keeper: &Keeper, caller: &Caller, resource: &ResourceRef) -> Vec<Lease> {
    match keeper.resource(caller.tenant, resource, LOCK_QUEUE_SHOWN_MAX).await {
        Ok(seen) => {
            let holding = seen.leases.into_iter().filter(|lease| lease.state != State::Waiting);
            holding.collect()
        }
        Err(error) => {
            tracing::warn!(%error, "the queue does not say who holds");
            Vec::new()
        }
    }
}

/// Advisory leases give way to it; a fenced holder has to be broken first.
pub async fn incident(
    app: &App,
    caller: &Caller,
    attempt: &Attempt,
    new: NewIncident,
) -> Result<Reply, Error> {
    let keeper = keeper(app)?;
    check_reason("reason", Some(&new.reason))?;
    let mut act = match Act::begin(app, caller, attempt, Some(Action::BreakLock)).await? {
        Begun::Act(act) => act,
        Begun::Repeated(reply) => return Ok(reply),
    };
    let (now, ends_at) = (act.tx.now(), new.ends_at);
    if ends_at <= now || ends_at.since(now) > LOCK_INCIDENT_MAX {
        return Err(Error::invalid("ends_at", "later than now, and within a day"));
    }
    let set_by = person(caller)?;
    let id = Uuid::new_v4();
    let (lease, session) = (LeaseId::from_uuid(id), AgentSessionId::from_uuid(id));
    let exclusive = new.resources.iter().map(|resource| (resource.clone(), Mode::Exclusive));
    let draft = RequestDraft {
        lease,
        owner: Owner::User(SessionId::from_uuid(id)),
        node: show::node(&set_by.to_string(), &app.service),
        birth: now,
        class: Class::Fenced { lock_delay: Duration::ZERO },
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
            return Err(held(&keeper.leases(caller.tenant, &by).await?, resource));
        }
        Err(refusal) => {
            tracing::warn!(%refusal, "an incident could not be registered");
            return Err(crate::locks::Error::Unsettled.into());
        }
    }
    many::set_aside(&mut act.tx, lease, Some(&new.reason), Some(ends_at)).await?;
    due::set(&mut act.tx, &[Due { kind: REAP, object: lease.uuid(), at: ends_at }]).await?;
    let told = event(EventKind::LockAcquired, lease, Some(&request));
    outbox::append(&mut act.tx, &[told]).await?;
    let made = Incident {
        lease_hash: show::hash(&lease),
        resources: request.set().resources().cloned().collect(),
        reason: new.reason.clone(),
        set_by,
        ends_at,
    };
    let deed = Deed { object: made.lease_hash.to_string(), action: "lock.incident" };
    let reply = act.finish_because(deed, Some(new.reason), 201, &made).await?;
    keeper.adopt(caller.tenant, &[lease]).await?;
    Ok(reply)
}

fn held(holders: &[Lease], resource: ResourceRef) -> Error {
    let holders = holders.iter().map(show::view).collect();
    Error::LockHeld(Box::new(Blocked { on: Some(resource), position: None, lease: None, holders }))
}
