//! Releases a lease, or leaves the queue. PostgreSQL is changed first, then the queue: a stale
//! holder in the queue only delays others until it expires.

use ade_api::locks::{Beat, LeaseState};
use ade_core::event::EventKind;
use ade_core::ids::LeaseId;
use ade_core::lock::{LeaseClass, LeasePhase, LeaseStatus};
use ade_store::{locks, scheduled_jobs};

use super::register::record_change;
use super::{REAP, keeper, lost, sessions, views};
use crate::app::App;
use crate::caller::Caller;
use crate::error::Error;
use crate::services::locks::LockService;

pub async fn release(app: &App, caller: &Caller, lease: LeaseId) -> Result<Beat, Error> {
    let keeper = keeper(app)?;
    if is_unprotected(keeper, caller, lease).await {
        sessions::now(app, caller, keeper, LeaseClass::Advisory).await?;
        let queued = keeper.queue.release(caller.tenant, lease).await;
        return queue_result(app, caller, lease, queued).await;
    }
    let (mut tx, _) = sessions::enter(app, caller).await?;
    let was_registered = locks::release(&mut tx, lease).await? > 0;
    let ended = locks::many::ended(&mut tx, lease).await?;
    if was_registered {
        scheduled_jobs::clear(&mut tx, REAP, lease.uuid()).await?;
        let kind = EventKind::LockReleased;
        record_change(&mut tx, caller, "lock.release", kind, lease, None, None).await?;
        tx.commit().await?;
    } else {
        tx.roll_back().await;
    }
    let queued = keeper.queue.release(caller.tenant, lease).await;
    let Some(is_released) = ended else {
        return queue_result(app, caller, lease, queued).await;
    };
    if let Err(error) = queued {
        tracing::warn!(%error, "failed to release locks in the queue; they will expire");
    }
    if is_released {
        return Ok(released(lease));
    }
    Err(lost::refusal(app, caller, lease, LeaseState::Expired).await)
}

/// Returns whether PostgreSQL cannot know the lease. If the queue does not know it, PostgreSQL is
/// asked.
async fn is_unprotected(keeper: &LockService, caller: &Caller, lease: LeaseId) -> bool {
    keeper.queue.is_unregistered(caller.tenant, lease).await.unwrap_or_default()
}

/// Returns the result of a release that concerns only the queue.
async fn queue_result(
    app: &App,
    caller: &Caller,
    lease: LeaseId,
    queued: Result<LeaseStatus, crate::services::locks::LockQueueError>,
) -> Result<Beat, Error> {
    match queued? {
        LeaseStatus::Unknown => Err(Error::NotFound { what: "lease" }),
        LeaseStatus::Over { state: state @ (LeasePhase::Expired | LeasePhase::Broken) } => {
            Err(lost::refusal(app, caller, lease, views::state(state)).await)
        }
        _ => Ok(released(lease)),
    }
}

fn released(lease: LeaseId) -> Beat {
    views::beat(lease, LeaseStatus::Over { state: LeasePhase::Released })
}
