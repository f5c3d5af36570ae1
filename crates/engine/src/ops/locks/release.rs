//! Gives a lease back, or leaves the line. First in the record, then in the queue: a holder that
//! the queue still believes in only delays others until it runs out.

use ade_api::locks::{Beat, LeaseState};
use ade_core::event::EventKind;
use ade_core::ids::LeaseId;
use ade_core::lock::{Class, Standing, State};
use ade_store::{due, locks};

use super::register::told;
use super::{REAP, admit, keeper, show};
use crate::app::App;
use crate::caller::Caller;
use crate::error::Error;
use crate::locks::{Keeper, Queue};

pub async fn release(app: &App, caller: &Caller, lease: LeaseId) -> Result<Beat, Error> {
    let keeper = keeper(app)?;
    if is_unprotected(keeper, caller, lease).await {
        admit::now(app, caller, keeper, Class::Advisory).await?;
        return told_by_queue(lease, keeper.release(caller.tenant, lease).await);
    }
    let (mut tx, _) = admit::enter(app, caller).await?;
    let was_registered = locks::release(&mut tx, lease).await? > 0;
    let ended = locks::many::ended(&mut tx, lease).await?;
    if was_registered {
        due::clear(&mut tx, REAP, lease.uuid()).await?;
        let kind = EventKind::LockReleased;
        told(&mut tx, caller, "lock.release", kind, lease, None, None).await?;
        tx.commit().await?;
    } else {
        tx.roll_back().await;
    }
    let queued = keeper.release(caller.tenant, lease).await;
    let Some(is_released) = ended else { return told_by_queue(lease, queued) };
    if let Err(error) = queued {
        tracing::warn!(%error, "the queue learns of a release when it runs out");
    }
    if is_released { Ok(released(lease)) } else { Err(lost(LeaseState::Expired)) }
}

/// Whether no record can know of it. Of what the queue does not know, the record is asked.
async fn is_unprotected(keeper: &Keeper, caller: &Caller, lease: LeaseId) -> bool {
    let Queue::Redis(redis) = &keeper.queue else { return false };
    let known = redis.desk.leases(caller.tenant, &[lease]).await.unwrap_or_default();
    known.first().is_some_and(|known| known.request.class() == Class::Advisory)
}

/// What a release has come to that the queue alone knows of.
fn told_by_queue(
    lease: LeaseId,
    queued: Result<Standing, crate::locks::Error>,
) -> Result<Beat, Error> {
    match queued? {
        Standing::Unknown => Err(Error::NotFound { what: "lease" }),
        Standing::Over { state: state @ (State::Expired | State::Broken) } => {
            Err(lost(show::state(state)))
        }
        _ => Ok(released(lease)),
    }
}

fn released(lease: LeaseId) -> Beat {
    show::beat(lease, Standing::Over { state: State::Released })
}

fn lost(state: LeaseState) -> Error {
    Error::LeaseLost { state }
}
