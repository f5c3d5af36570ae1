//! Turns a grant into a hold that can commit: it is registered in PostgreSQL with its audit entry,
//! its event and its deadline. If PostgreSQL disagrees with the queue, the queue is corrected and
//! reports the new state of the lease.

use ade_core::audit::{EntryKind, What, Why};
use ade_core::event::EventKind;
use ade_core::ids::{LeaseId, ProcessId};
use ade_core::lock::fence::RegisterRefusal;
use ade_core::lock::{FencingToken, LeasePhase, LeaseStatus, LockRefusal, Request};
use ade_core::time::Timestamp;
use ade_store::locks::{self, many, sessions};
use ade_store::scheduled_jobs::{self, ScheduledJob};
use ade_store::{TenantLock, Tx, audit, outbox};

use super::{REAP, event, views};
use crate::app::App;
use crate::caller::Caller;
use crate::command::permission::{audit_entry, begin};
use crate::error::Error;
use crate::services::locks::{LockQueue, RetryStep};

/// Attempts to register one grant: each failure corrects the queue, and two corrections are rare.
const LOCK_REGISTER_TRIES: usize = 4;

/// What is registered in addition to the request itself.
#[derive(Debug, Clone, Copy)]
pub struct GrantContext<'a> {
    pub session: ProcessId,
    /// Whether the session belongs to this lease alone and begins with the registration.
    pub is_own_session: bool,
    pub purpose: Option<&'a str>,
    /// The event that describes how the lease was granted.
    pub kind: EventKind,
}

/// Registers a grant. Returns the state of the lease after PostgreSQL has decided: granted means
/// registered.
pub async fn register(
    app: &App,
    caller: &Caller,
    queue: &dyn LockQueue,
    request: &Request,
    beside: GrantContext<'_>,
    (mut token, deadline): (FencingToken, Timestamp),
) -> Result<LeaseStatus, Error> {
    for _ in 0..LOCK_REGISTER_TRIES {
        let refusal = match try_once(app, caller, request, beside, token).await? {
            Ok(()) => {
                queue.registered(caller.tenant, request.lease()).await?;
                return Ok(LeaseStatus::Granted { token, deadline });
            }
            Err(refusal) => refusal,
        };
        if let RegisterRefusal::TooMany { taken } = refusal {
            // The locks are released, so that others need not wait for the expiry.
            queue.release(caller.tenant, request.lease()).await?;
            return Err(crate::services::locks::LockQueueError::Refused(LockRefusal::TooMany {
                taken,
            })
            .into());
        }
        tracing::info!(%refusal, "lock queue corrected: the database disagreed");
        match queue.correct(caller.tenant, request.lease(), &refusal).await? {
            RetryStep::Again(minted)
            | RetryStep::Stands(LeaseStatus::Granted { token: minted, .. }) => {
                token = minted;
            }
            RetryStep::Stands(status) => return Ok(status),
            RetryStep::Over if refusal == RegisterRefusal::SessionDead => {
                return Err(Error::ProcessExpired);
            }
            RetryStep::Over => return Ok(LeaseStatus::Over { state: LeasePhase::Expired }),
        }
    }
    Err(crate::services::locks::LockQueueError::Unsettled.into())
}

async fn try_once(
    app: &App,
    caller: &Caller,
    request: &Request,
    beside: GrantContext<'_>,
    token: FencingToken,
) -> Result<Result<(), RegisterRefusal>, Error> {
    let mut tx = begin(&app.pools.api, caller, TenantLock::None).await?;
    // Repeated because the first response was lost: the event is emitted once.
    let count = request.set().len();
    if locks::assert_holds(&mut tx, request.lease(), token, count).await?.is_ok() {
        tx.roll_back().await;
        return Ok(Ok(()));
    }
    match put(&mut tx, caller, request, beside, token).await? {
        Ok(()) => {
            tx.commit().await?;
            Ok(Ok(()))
        }
        Err(refusal) => {
            tx.roll_back().await;
            Ok(Err(refusal))
        }
    }
}

/// Registers the request in the caller's transaction, which must be rolled back on a refusal.
pub async fn put(
    tx: &mut Tx,
    caller: &Caller,
    request: &Request,
    beside: GrantContext<'_>,
    token: FencingToken,
) -> Result<Result<(), RegisterRefusal>, Error> {
    let lease = request.lease();
    if beside.is_own_session && sessions::find(tx, beside.session).await?.is_none() {
        let agent = views::agent_of(request);
        sessions::open(tx, beside.session, agent, request.node(), request.ttl()).await?;
    }
    if let Err(refusal) = locks::register(tx, request, beside.session, token).await? {
        return Ok(Err(refusal));
    }
    many::set_aside(tx, lease, beside.purpose, None).await?;
    let at = tx.now().plus(request.ttl()).plus(request.class().lock_delay());
    scheduled_jobs::set(tx, &[ScheduledJob { kind: REAP, object: lease.uuid(), at }]).await?;
    let kind = beside.kind;
    record_change(tx, caller, "lock.acquire", kind, lease, Some(request), beside.purpose).await?;
    Ok(Ok(()))
}

/// Appends the audit entry and the event of a change to a lease.
pub async fn record_change(
    tx: &mut Tx,
    caller: &Caller,
    action: &str,
    kind: EventKind,
    lease: LeaseId,
    request: Option<&Request>,
    why: Option<&str>,
) -> Result<(), Error> {
    let what = What::new(views::hash(&lease).to_string(), action);
    let why = Why { reason: why.map(str::to_owned), ticket: None };
    let entry = audit_entry(tx, caller, EntryKind::Change, what, why);
    audit::append(tx, &[entry]).await?;
    outbox::append(tx, &[event(kind, lease, request)]).await?;
    Ok(())
}
