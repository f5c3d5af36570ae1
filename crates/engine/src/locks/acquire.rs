//! Acquires a set of locks, all or none, and optionally waits in the queue. The lease id makes it
//! idempotent: the same id is the same request, whatever happened to the first response.

use std::time::Duration;

use ade_api::locks::{Lease, LockMode, NewLease, WantedLock};
use ade_core::event::EventKind;
use ade_core::ids::{LeaseId, ProcessId};
use ade_core::limits::{LOCK_PLACE_KEPT, LOCK_QUEUE_SHOWN_MAX, LOCK_WAIT_MAX};
use ade_core::lock::{
    Arrival, FencingToken, LeaseClass, LeasePhase, LeaseStatus, LockRefusal, LockSet, Mode, Order,
    Owner, Request, RequestDraft,
};
use ade_core::resource::ResourceRef;
use ade_core::timeouts::LockTimeouts;
use tokio::time::{Instant, timeout_at};
use uuid::Uuid;

use super::register::GrantContext;
use super::{backend, deadlock, keeper, lost, sessions, views};
use crate::app::App;
use crate::caller::Caller;
use crate::command::check_reason;
use crate::error::{Blocked, Error};
use crate::services::locks::{Admission, LockQueueError as LockError, LockService};

/// One acquisition in progress.
struct Asked<'a> {
    app: &'a App,
    caller: &'a Caller,
    keeper: &'a LockService,
    request: Request,
    session: ProcessId,
    is_own_session: bool,
    purpose: Option<String>,
    /// The end of the wait.
    until: Instant,
}

/// Acquires a set of locks. `gone` resolves when the caller has disconnected: its queue place is
/// then kept for a short time, for the same id to return to.
pub async fn acquire(
    app: &App,
    caller: &Caller,
    new: NewLease,
    gone: impl Future<Output = ()>,
) -> Result<Lease, Error> {
    let keeper = keeper(app)?;
    let began = Instant::now();
    let wanted = Wanted::read(&new)?;
    let class = keeper.class(new.fenced);
    let Admission { now: birth, timeouts } = match new.process_id {
        Some(session) => {
            let (mut tx, book) = sessions::enter(app, caller).await?;
            let life = sessions::live(&mut tx, caller, session, &app.service).await?;
            tx.commit().await?;
            Admission { now: life.began, timeouts: book.timeouts.lock }
        }
        None => sessions::now(app, caller, keeper, class).await?,
    };
    let ttl = checked_ttl(wanted.ttl, &timeouts)?;
    let agent = sessions::agent(caller)?;
    if let Some(wait) = keeper.rate(caller.tenant, agent).await? {
        return Err(Error::RateLimited { wait });
    }
    // Without a session, the lease is its own session, the same for every repetition of the
    // request.
    let lease = new.lease_id.unwrap_or_else(|| LeaseId::from_uuid(Uuid::new_v4()));
    let session = new.process_id.unwrap_or_else(|| ProcessId::from_uuid(lease.uuid()));
    let draft = RequestDraft {
        lease,
        owner: Owner::Agent(session),
        node: views::node(&agent.to_string(), &app.service),
        birth,
        class,
        set: wanted.set,
        ttl,
        wait: if wanted.wait.is_zero() { Duration::ZERO } else { LOCK_PLACE_KEPT },
        boost: new.priority,
    };
    let request = Request::new(draft).map_err(|error| Error::invalid("resources", error))?;
    let until = began + wanted.wait;
    let is_own_session = new.process_id.is_none();
    let purpose = new.purpose;
    let asked = Asked { app, caller, keeper, request, session, is_own_session, purpose, until };
    let arrival = wanted.held.map_or(Arrival::New, Arrival::Held);
    asked.go(arrival, gone).await
}

impl Asked<'_> {
    async fn go(&self, arrival: Arrival, gone: impl Future<Output = ()>) -> Result<Lease, Error> {
        let (tenant, lease) = (self.caller.tenant, self.request.lease());
        let mut news = self.keeper.waiters.follow(tenant, lease);
        let mut status = self.ask(arrival, EventKind::LockAcquired).await?;
        let mut place: Option<(usize, Order)> = None;
        let mut gone = std::pin::pin!(gone);
        loop {
            match status {
                LeaseStatus::Granted { token, deadline }
                | LeaseStatus::Spent { token, deadline } => {
                    return Ok(self.shown(token, deadline));
                }
                LeaseStatus::Waiting { position, order, .. } => {
                    if place.is_none() {
                        self.tell_queued().await?;
                    }
                    place = Some((position, order));
                }
                // The queue was lost and rebuilt: return to the old place.
                LeaseStatus::Unknown => {
                    let arrival = place.map_or(Arrival::New, |(_, order)| Arrival::Waited(order));
                    status = self.ask(arrival, EventKind::LockPromoted).await?;
                    continue;
                }
                LeaseStatus::Over { state: LeasePhase::Victim } => {
                    return Err(deadlock::refusal(self.app, self.caller, lease).await);
                }
                LeaseStatus::Over { state } => return Err(self.lost(state).await),
                LeaseStatus::Delayed { .. } => return Err(self.lost(LeasePhase::Delayed).await),
            }
            let changed = async {
                let _ = news.changed().await;
            };
            let is_late = tokio::select! {
                waited = timeout_at(self.until, changed) => waited.is_err(),
                () = &mut gone => true,
                () = self.app.shutdown.begun() => true,
            };
            let latest = *news.borrow_and_update();
            status = match latest {
                // A grant that arrives at the last moment is still used, instead of letting it
                // expire.
                Some(granted @ LeaseStatus::Granted { .. }) => {
                    self.settle(granted, EventKind::LockPromoted).await?
                }
                _ if is_late => {
                    return Err(self.blocked(None, place.map(|(position, _)| position)).await);
                }
                Some(latest) => latest,
                None => status,
            };
        }
    }

    /// Enters the queue; a fenced grant is registered before it is returned.
    async fn ask(&self, arrival: Arrival, kind: EventKind) -> Result<LeaseStatus, Error> {
        let (app, caller, keeper) = (self.app, self.caller, self.keeper);
        let beside = self.beside(kind);
        let reply =
            match backend::acquire(app, caller, keeper, &self.request, beside, arrival).await {
                Ok(reply) => reply,
                Err(Error::Locks(LockError::Refused(refusal))) => {
                    return Err(self.refused(refusal).await);
                }
                Err(error) => return Err(error),
            };
        backend::note_deadlocks(self.app, self.caller, self.keeper, &reply.events).await?;
        self.settle(reply.answer, kind).await
    }

    async fn settle(&self, status: LeaseStatus, kind: EventKind) -> Result<LeaseStatus, Error> {
        let (app, caller, beside) = (self.app, self.caller, self.beside(kind));
        backend::settle(app, caller, self.keeper, &self.request, beside, status).await
    }

    fn beside(&self, kind: EventKind) -> GrantContext<'_> {
        let purpose = self.purpose.as_deref();
        let (session, is_own_session) = (self.session, self.is_own_session);
        GrantContext { session, is_own_session, purpose, kind }
    }

    async fn lost(&self, state: LeasePhase) -> Error {
        lost::refusal(self.app, self.caller, self.request.lease(), views::state(state)).await
    }

    async fn tell_queued(&self) -> Result<(), Error> {
        backend::tell_queued(self.app, self.caller, &self.request).await
    }

    fn shown(&self, token: FencingToken, deadline: ade_core::time::Timestamp) -> Lease {
        let request = &self.request;
        Lease {
            lease_id: request.lease(),
            lease_hash: views::hash(&request.lease()),
            process_id: self.session,
            fenced: matches!(request.class(), LeaseClass::Fenced { .. }),
            fence: token.number(),
            resources: request.set().resources().cloned().collect(),
            expires_at: deadline,
            ttl_seconds: request.ttl().as_secs(),
        }
    }

    async fn refused(&self, refusal: LockRefusal) -> Error {
        match refusal {
            LockRefusal::Busy { resource } => self.blocked(Some(resource), None).await,
            other => Error::Locks(LockError::Refused(other)),
        }
    }

    /// Returns the error that names the holders that block the request: on the resource that the
    /// queue named, or on all of them.
    async fn blocked(&self, on: Option<ResourceRef>, position: Option<usize>) -> Error {
        let mut holders = Vec::new();
        for resource in self.request.set().resources() {
            if on.as_ref().is_some_and(|on| on != resource) {
                continue;
            }
            let most = LOCK_QUEUE_SHOWN_MAX;
            match self.keeper.queue.resource(self.caller.tenant, resource, most).await {
                Ok(seen) => holders.extend(
                    seen.leases
                        .iter()
                        .filter(|lease| lease.request.lease() != self.request.lease())
                        .filter(|lease| lease.state != LeasePhase::Waiting)
                        .map(views::view),
                ),
                Err(error) => return error.into(),
            }
        }
        holders.dedup_by(|one, other| one.summary.lease_hash == other.summary.lease_hash);
        let lease = position.map(|_| self.request.lease());
        Error::LockHeld(Box::new(Blocked { on, position, lease, holders }))
    }
}

/// A validated request.
struct Wanted {
    set: LockSet,
    ttl: Option<Duration>,
    wait: Duration,
    held: Option<FencingToken>,
}

impl Wanted {
    fn read(new: &NewLease) -> Result<Self, Error> {
        let wanted = new.resources.iter().enumerate().map(wanted);
        let set = LockSet::new(wanted.collect::<Result<Vec<_>, Error>>()?)
            .map_err(|error| Error::invalid("resources", error))?;
        let ttl = new.ttl_seconds.map(Duration::from);
        let wait = new.wait.map(Duration::from).unwrap_or_default();
        if wait > LOCK_WAIT_MAX {
            let most = format!("must be at most {} s", LOCK_WAIT_MAX.as_secs());
            return Err(Error::invalid("wait", most));
        }
        check_reason("purpose", new.purpose.as_deref())?;
        let held = new.held_fence.map(|number| {
            FencingToken::from_number(number)
                .ok_or_else(|| Error::invalid("held_fence", "not a fencing token"))
        });
        Ok(Self { set, ttl, wait, held: held.transpose()? })
    }
}

fn wanted((at, lock): (usize, &WantedLock)) -> Result<(ResourceRef, Mode), Error> {
    let field = format!("resources[{at}]");
    require_free(&field, &lock.resource)?;
    let mode = match (lock.mode, lock.capacity) {
        (LockMode::Exclusive, None) => Mode::Exclusive,
        (LockMode::Shared, None) => Mode::Shared,
        (LockMode::Counting, Some(capacity)) => Mode::Counting { capacity },
        _ => {
            return Err(Error::invalid(
                field,
                "`capacity` is required with `counting`, and only allowed there",
            ));
        }
    };
    Ok((lock.resource.clone(), mode))
}

/// Refuses resources that are reserved for the server.
pub fn require_free(field: &str, resource: &ResourceRef) -> Result<(), Error> {
    if resource.is_reserved() {
        return Err(Error::invalid(field, "resource types that begin with `_` are reserved"));
    }
    Ok(())
}

/// Returns the requested duration if the tenant allows it, or the tenant's default.
pub fn checked_ttl(asked: Option<Duration>, timeouts: &LockTimeouts) -> Result<Duration, Error> {
    let (ttl, most) = (asked.unwrap_or(timeouts.ttl()), timeouts.longest_ttl());
    if ttl > most {
        return Err(Error::invalid("ttl_seconds", format!("must be at most {} s", most.as_secs())));
    }
    if ttl.subsec_nanos() > 0 {
        return Err(Error::invalid("ttl_seconds", "must be whole seconds"));
    }
    Ok(ttl)
}
