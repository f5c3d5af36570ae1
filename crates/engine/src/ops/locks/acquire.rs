//! Asks for a whole set and, if told to, stands in line for it. The lease id makes it idempotent:
//! whatever became of an answer, the same id again is the same request.

use std::time::Duration;

use ade_api::locks::{Lease, LockMode, NewLease, WantedLock};
use ade_core::event::EventKind;
use ade_core::ids::{AgentSessionId, LeaseId};
use ade_core::limits::{LOCK_PLACE_KEPT, LOCK_QUEUE_SHOWN_MAX, LOCK_WAIT_MAX};
use ade_core::lock::{
    Arrival, Class, LockSet, Mode, Order, Owner, Refusal, Request, RequestDraft, Standing, State,
    Token,
};
use ade_core::resource::ResourceRef;
use ade_core::times::LockTimes;
use tokio::time::{Instant, timeout_at};
use uuid::Uuid;

use super::register::Beside;
use super::{admit, keeper, line, show};
use crate::app::App;
use crate::caller::Caller;
use crate::error::{Blocked, Error};
use crate::locks::{Admission, Error as LockError, Keeper};
use crate::ops::check_reason;

/// One acquisition on its way.
struct Asked<'a> {
    app: &'a App,
    caller: &'a Caller,
    keeper: &'a Keeper,
    request: Request,
    session: AgentSessionId,
    is_own_session: bool,
    purpose: Option<String>,
    /// No later than this.
    until: Instant,
}

/// `gone` ends when nobody waits for the answer any more: its place in line is then kept for a
/// little, for the same id to come back to.
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
    let Admission { now: birth, times } = match new.session {
        Some(session) => {
            let (mut tx, book) = admit::enter(app, caller).await?;
            let life = admit::live(&mut tx, caller, session, &app.service).await?;
            tx.commit().await?;
            Admission { now: life.began, times: book.times.lock }
        }
        None => admit::now(app, caller, keeper, class).await?,
    };
    let ttl = checked_ttl(wanted.ttl, &times)?;
    let agent = admit::agent(caller)?;
    if let Some(wait) = keeper.rate(caller.tenant, agent).await? {
        return Err(Error::RateLimited { wait });
    }
    // Without a session of its own it is one by itself, the same however often it is sent.
    let lease = new.lease.unwrap_or_else(|| LeaseId::from_uuid(Uuid::new_v4()));
    let session = new.session.unwrap_or_else(|| AgentSessionId::from_uuid(lease.uuid()));
    let draft = RequestDraft {
        lease,
        owner: Owner::Agent(session),
        node: show::node(&agent.to_string(), &app.service),
        birth,
        class,
        set: wanted.set,
        ttl,
        wait: if wanted.wait.is_zero() { Duration::ZERO } else { LOCK_PLACE_KEPT },
        boost: new.priority,
    };
    let request = Request::new(draft).map_err(|error| Error::invalid("resources", error))?;
    let until = began + wanted.wait;
    let is_own_session = new.session.is_none();
    let purpose = new.purpose;
    let asked = Asked { app, caller, keeper, request, session, is_own_session, purpose, until };
    let arrival = wanted.held.map_or(Arrival::New, Arrival::Held);
    asked.go(arrival, gone).await
}

impl Asked<'_> {
    async fn go(&self, arrival: Arrival, gone: impl Future<Output = ()>) -> Result<Lease, Error> {
        let (tenant, lease) = (self.caller.tenant, self.request.lease());
        let mut news = self.keeper.waiters.follow(tenant, lease);
        let mut standing = self.ask(arrival, EventKind::LockAcquired).await?;
        let mut place: Option<(usize, Order)> = None;
        let mut gone = std::pin::pin!(gone);
        loop {
            match standing {
                Standing::Granted { token, deadline } | Standing::Spent { token, deadline } => {
                    return Ok(self.shown(token, deadline));
                }
                Standing::Waiting { position, order, .. } => {
                    if place.is_none() {
                        self.tell_queued().await?;
                    }
                    place = Some((position, order));
                }
                // The queue was lost and begun anew: back to the old place.
                Standing::Unknown => {
                    let arrival = place.map_or(Arrival::New, |(_, order)| Arrival::Waited(order));
                    standing = self.ask(arrival, EventKind::LockPromoted).await?;
                    continue;
                }
                Standing::Over { state: State::Victim } => {
                    return Err(Error::Deadlock { lease: show::hash(&lease) });
                }
                Standing::Over { state } => {
                    return Err(Error::LeaseLost { state: show::state(state) });
                }
                Standing::Delayed { .. } => {
                    return Err(Error::LeaseLost { state: show::state(State::Delayed) });
                }
            }
            let changed = async {
                let _ = news.changed().await;
            };
            let is_late = tokio::select! {
                waited = timeout_at(self.until, changed) => waited.is_err(),
                () = &mut gone => true,
            };
            let told = *news.borrow_and_update();
            standing = match told {
                // Also in the last moment: what is held is not left to run out.
                Some(granted @ Standing::Granted { .. }) => {
                    self.settle(granted, EventKind::LockPromoted).await?
                }
                _ if is_late => {
                    return Err(self.blocked(None, place.map(|(position, _)| position)).await);
                }
                Some(told) => told,
                None => standing,
            };
        }
    }

    /// Into the queue; a fenced grant is registered before anybody hears of it.
    async fn ask(&self, arrival: Arrival, kind: EventKind) -> Result<Standing, Error> {
        let (app, caller, keeper) = (self.app, self.caller, self.keeper);
        let beside = self.beside(kind);
        let said = match line::acquire(app, caller, keeper, &self.request, beside, arrival).await {
            Ok(said) => said,
            Err(Error::Locks(LockError::Refused(refusal))) => {
                return Err(self.refused(refusal).await);
            }
            Err(error) => return Err(error),
        };
        line::note_deadlocks(self.app, self.caller, self.keeper, &said.events).await?;
        self.settle(said.answer, kind).await
    }

    async fn settle(&self, standing: Standing, kind: EventKind) -> Result<Standing, Error> {
        let (app, caller, beside) = (self.app, self.caller, self.beside(kind));
        line::settle(app, caller, self.keeper, &self.request, beside, standing).await
    }

    fn beside(&self, kind: EventKind) -> Beside<'_> {
        let purpose = self.purpose.as_deref();
        let (session, is_own_session) = (self.session, self.is_own_session);
        Beside { session, is_own_session, purpose, kind }
    }

    async fn tell_queued(&self) -> Result<(), Error> {
        line::tell_queued(self.app, self.caller, &self.request).await
    }

    fn shown(&self, token: Token, deadline: ade_core::time::Timestamp) -> Lease {
        let request = &self.request;
        Lease {
            lease: request.lease(),
            lease_hash: show::hash(&request.lease()),
            session: self.session,
            fenced: matches!(request.class(), Class::Fenced { .. }),
            token: token.number(),
            resources: request.set().resources().cloned().collect(),
            expires_at: deadline,
            ttl_ms: u64::try_from(request.ttl().as_millis()).unwrap_or(u64::MAX),
        }
    }

    async fn refused(&self, refusal: Refusal) -> Error {
        match refusal {
            Refusal::Busy { resource } => self.blocked(Some(resource), None).await,
            other => Error::Locks(LockError::Refused(other)),
        }
    }

    /// Who is in the way: on the resource that the queue named, or on all of them.
    async fn blocked(&self, on: Option<ResourceRef>, position: Option<usize>) -> Error {
        let mut holders = Vec::new();
        for resource in self.request.set().resources() {
            if on.as_ref().is_some_and(|on| on != resource) {
                continue;
            }
            let most = LOCK_QUEUE_SHOWN_MAX;
            match self.keeper.resource(self.caller.tenant, resource, most).await {
                Ok(seen) => holders.extend(
                    seen.leases
                        .iter()
                        .filter(|lease| lease.request.lease() != self.request.lease())
                        .filter(|lease| lease.state != State::Waiting)
                        .map(show::view),
                ),
                Err(error) => return error.into(),
            }
        }
        holders.dedup_by(|one, other| one.lease_hash == other.lease_hash);
        let lease = position.map(|_| self.request.lease());
        Error::LockHeld(Box::new(Blocked { on, position, lease, holders }))
    }
}

/// What was asked for, once it is in order.
struct Wanted {
    set: LockSet,
    ttl: Option<Duration>,
    wait: Duration,
    held: Option<Token>,
}

impl Wanted {
    fn read(new: &NewLease) -> Result<Self, Error> {
        let wanted = new.resources.iter().enumerate().map(wanted);
        let set = LockSet::new(wanted.collect::<Result<Vec<_>, Error>>()?)
            .map_err(|error| Error::invalid("resources", error))?;
        let ttl = new.ttl.as_deref().map(|text| length("ttl", text)).transpose()?;
        let wait = new.wait.as_deref().map(|text| length("wait", text)).transpose()?;
        let wait = wait.unwrap_or_default();
        if wait > LOCK_WAIT_MAX {
            let most = format!("at most {} s", LOCK_WAIT_MAX.as_secs());
            return Err(Error::invalid("wait", most));
        }
        check_reason("purpose", new.purpose.as_deref())?;
        let held = new.held_token.map(|number| {
            Token::from_number(number).ok_or_else(|| Error::invalid("held_token", "no token"))
        });
        Ok(Self { set, ttl, wait, held: held.transpose()? })
    }
}

fn wanted((at, lock): (usize, &WantedLock)) -> Result<(ResourceRef, Mode), Error> {
    let field = format!("resources[{at}]");
    let resource = ResourceRef::new(&lock.kind, &lock.id)
        .map_err(|error| Error::invalid(field.clone(), error))?;
    require_free(&field, &resource)?;
    let mode = match (lock.mode, lock.capacity) {
        (LockMode::Exclusive, None) => Mode::Exclusive,
        (LockMode::Shared, None) => Mode::Shared,
        (LockMode::Counting, Some(capacity)) => Mode::Counting { capacity },
        _ => return Err(Error::invalid(field, "`counting` has a capacity, and only it has")),
    };
    Ok((resource, mode))
}

/// Nobody locks what the server keeps for itself.
pub fn require_free(field: &str, resource: &ResourceRef) -> Result<(), Error> {
    if resource.is_reserved() {
        return Err(Error::invalid(field, "types that begin with `_` are the server's own"));
    }
    Ok(())
}

/// What was asked for, if the tenant allows as much; without a wish, what it gives to everybody.
pub fn checked_ttl(asked: Option<Duration>, times: &LockTimes) -> Result<Duration, Error> {
    let (ttl, most) = (asked.unwrap_or(times.ttl()), times.longest_ttl());
    if ttl > most {
        return Err(Error::invalid("ttl", format!("at most {} s", most.as_secs())));
    }
    Ok(ttl)
}

/// `30s` or `1500ms`.
pub fn length(field: &str, text: &str) -> Result<Duration, Error> {
    let number = |digits: &str| digits.parse::<u32>().ok().map(u64::from);
    let millis = text.strip_suffix("ms").and_then(number).map(Duration::from_millis);
    let seconds = || text.strip_suffix('s').and_then(number).map(Duration::from_secs);
    millis.or_else(seconds).ok_or_else(|| {
        Error::invalid(field, "write it as seconds or milliseconds, like `30s` or `1500ms`")
    })
}
