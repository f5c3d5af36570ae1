//! Gives a lease back, or leaves the line. First in the record, then in the queue: a holder that
//! the queue still believes in only delays others until it runs out.

use ade_api::locks::{Beat, LeaseState};
use ade_core::event::EventKind;
use ade_core::ids::LeaseId;
use ade_core::lock::{Standing, State};
use ade_store::{due, locks};

use super::register::told;
use super::{REAP, admit, keeper, show};
use crate::app::App;
use crate::caller::Caller;
use crate::error::Error;

pub async fn release(app: &App, caller: &Caller, lease: LeaseId) -> Result<Beat, Error> {
    let keeper = keeper(app)?;
    let mut tx = admit::enter(app, caller).await?;
    let was_registered = locks::release(&mut tx, lease).await? > 0;
    let ended = locks::many::ended(&mut tx, lease).await?;
    if was_registered {
        due::clear(&mut tx, REAP, &[lease.uuid()]).await?;
        let kind = EventKind::LockReleased;
        told(&mut tx, caller, "lock.release", kind, lease, None, None).await?;
        tx.commit().await?;
    } else {
        tx.roll_back().await;
    }
    let queued = keeper.release(caller.tenant, lease).await;
    let released = show::beat(lease, Standing::Over { state: State::Released });
    match (ended, queued) {
        (Some(is_released), queued) => {
            if let Err(error) = queued {
                tracing::warn!(%error, "the queue learns of a release when it runs out");
            }
            if is_released { Ok(released) } else { Err(lost(LeaseState::Expired)) }
        }
        (None, Err(error)) => Err(error.into()),
        (None, Ok(Standing::Unknown)) => Err(Error::NotFound { what: "lease" }),
        (None, Ok(Standing::Over { state: state @ (State::Expired | State::Broken) })) => {
            Err(lost(show::state(state)))
        }
        (None, Ok(_)) => Ok(released),
    }
}

fn lost(state: LeaseState) -> Error {
    Error::LeaseLost { state }
}
