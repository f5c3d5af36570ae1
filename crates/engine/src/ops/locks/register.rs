//! From a grant to a hold that can commit: registered in the record with its leaf, its event and
//! the moment at which its silence is noticed. Where the record knows better than the queue, the
//! queue learns and says how the lease stands now.

use ade_core::audit::{Kind, What, Why};
use ade_core::event::EventKind;
use ade_core::ids::{AgentSessionId, LeaseId};
use ade_core::limits::LOCK_REGISTER_TRIES;
use ade_core::lock::fence::RegisterRefusal;
use ade_core::lock::{Refusal, Request, Standing, State, Token};
use ade_core::time::Timestamp;
use ade_store::due::{self, Due};
use ade_store::locks::{self, many, sessions};
use ade_store::{Gate, Tx, audit, outbox};

use super::{REAP, event, show};
use crate::app::App;
use crate::caller::Caller;
use crate::error::Error;
use crate::locks::{Desk, Next};
use crate::ops::act::{begin, leaf_of};

/// What is registered beside the request itself.
#[derive(Debug, Clone, Copy)]
pub struct Beside<'a> {
    pub session: AgentSessionId,
    /// The session is this lease's alone: it begins with the registration.
    pub is_own_session: bool,
    pub purpose: Option<&'a str>,
    /// How it came to be granted.
    pub kind: EventKind,
}

/// How the lease stands once the record has had its say: granted means registered.
pub async fn register(
    app: &App,
    caller: &Caller,
    desk: &Desk,
    request: &Request,
    beside: Beside<'_>,
    (mut token, deadline): (Token, Timestamp),
) -> Result<Standing, Error> {
    for _ in 0..LOCK_REGISTER_TRIES {
        let refusal = match try_once(app, caller, request, beside, token).await? {
            Ok(()) => {
                desk.registered(caller.tenant, request.lease()).await?;
                return Ok(Standing::Granted { token, deadline });
            }
            Err(refusal) => refusal,
        };
        if let RegisterRefusal::TooMany { taken } = refusal {
            // Nobody has to wait until it runs out.
            desk.release(caller.tenant, request.lease()).await?;
            return Err(crate::locks::Error::Refused(Refusal::TooMany { taken }).into());
        }
        tracing::info!(%refusal, "the record knew better than the queue");
        match desk.mend(caller.tenant, request.lease(), &refusal).await? {
            Next::Again(minted) | Next::Stands(Standing::Granted { token: minted, .. }) => {
                token = minted;
            }
            Next::Stands(standing) => return Ok(standing),
            Next::Over if refusal == RegisterRefusal::SessionDead => {
                return Err(Error::SessionOver);
            }
            Next::Over => return Ok(Standing::Over { state: State::Expired }),
        }
    }
    Err(crate::locks::Error::Unsettled.into())
}

async fn try_once(
    app: &App,
    caller: &Caller,
    request: &Request,
    beside: Beside<'_>,
    token: Token,
) -> Result<Result<(), RegisterRefusal>, Error> {
    let mut tx = begin(&app.pools.api, caller, Gate::Unasked).await?;
    // Sent again, because the first answer was lost: it is told once.
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

/// All of it in the caller's transaction, which must be rolled back if it is refused.
pub async fn put(
    tx: &mut Tx,
    caller: &Caller,
    request: &Request,
    beside: Beside<'_>,
    token: Token,
) -> Result<Result<(), RegisterRefusal>, Error> {
    let lease = request.lease();
    if beside.is_own_session && sessions::find(tx, beside.session).await?.is_none() {
        let agent = show::agent_of(request);
        sessions::open(tx, beside.session, agent, request.node(), request.ttl()).await?;
    }
    if let Err(refusal) = locks::register(tx, request, beside.session, token).await? {
        return Ok(Err(refusal));
    }
    many::set_aside(tx, lease, beside.purpose, None).await?;
    let at = tx.now().plus(request.ttl()).plus(request.class().lock_delay());
    due::set(tx, &[Due { kind: REAP, object: lease.uuid(), at }]).await?;
    let kind = beside.kind;
    told(tx, caller, "lock.acquire", kind, lease, Some(request), beside.purpose).await?;
    Ok(Ok(()))
}

/// The leaf and the event of something that happened to a lease.
pub async fn told(
    tx: &mut Tx,
    caller: &Caller,
    action: &str,
    kind: EventKind,
    lease: LeaseId,
    request: Option<&Request>,
    why: Option<&str>,
) -> Result<(), Error> {
    let what = What::new(show::hash(&lease).to_string(), action);
    let why = Why { reason: why.map(str::to_owned), ticket: None };
    let leaf = leaf_of(tx, caller, Kind::Change, what, why);
    audit::append(tx, &[leaf]).await?;
    outbox::append(tx, &[event(kind, lease, request)]).await?;
    Ok(())
}
