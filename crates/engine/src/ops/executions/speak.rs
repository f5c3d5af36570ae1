//! Who speaks for an attempt: its agent, with the lease. Anybody else is told that there is no
//! such attempt; one that is over is told so.

use ade_api::executions::{Alive, Pulse};
use ade_api::locks::LeaseState;
use ade_core::ids::{ExecutionId, LeaseId};
use ade_core::task::Hold;
use ade_store::executions::{self, Execution};
use ade_store::{Gate, Tx};

use crate::app::App;
use crate::caller::Caller;
use crate::error::Error;
use crate::locks::Queue;
use crate::ops::act::begin;
use crate::ops::decision::Work;

/// The hold that a step of an attempt runs under, if the caller is its holder.
pub(super) fn hold_of(
    work: &Work<'_>,
    execution: ExecutionId,
    lease: LeaseId,
) -> Result<Hold, Error> {
    let Some(live) = work.task.execution.as_ref().filter(|live| live.id == execution) else {
        return Err(Error::LeaseLost { state: LeaseState::Released });
    };
    if live.holder != work.caller().actor || live.hold.lease != lease {
        return Err(Error::NotFound { what: "execution" });
    }
    Ok(live.hold)
}

/// The attempt, while it runs and for its holder only.
pub(super) async fn live(
    tx: &mut Tx,
    caller: &Caller,
    id: ExecutionId,
    lease: LeaseId,
) -> Result<Execution, Error> {
    let found = executions::get(tx, id).await?;
    let is_own = |found: &Execution| found.holder == caller.actor && found.hold.lease == lease;
    let found = found.filter(is_own).ok_or(Error::NotFound { what: "execution" })?;
    if found.ended_at.is_some() {
        return Err(Error::LeaseLost { state: LeaseState::Released });
    }
    Ok(found)
}

/// Holds, lease and session live on together; and the attempt learns whether it is to stop.
pub async fn heartbeat(
    app: &App,
    caller: &Caller,
    id: ExecutionId,
    pulse: Pulse,
) -> Result<Alive, Error> {
    let mut tx = begin(&app.pools.api, caller, Gate::Unasked).await?;
    let found = live(&mut tx, caller, id, pulse.lease).await?;
    // Lost once, it is not found again by a heartbeat: somebody has to look.
    let is_lost = found.result.is_some();
    let extended = if is_lost { None } else { executions::extend(&mut tx, found.hold).await? };
    let Some(extended) = extended else {
        return Err(Error::LeaseLost { state: LeaseState::Expired });
    };
    tx.commit().await?;
    if let Some(keeper) = &app.locks
        && let Queue::Redis(redis) = &keeper.queue
        && let Err(error) = redis.desk.renew(caller.tenant, &[pulse.lease]).await
    {
        tracing::debug!(%error, "the queue heard no heartbeat");
    }
    Ok(Alive {
        abort_requested: found.abort_requested,
        expires_at: extended.until,
        ttl_ms: u64::try_from(extended.ttl.as_millis()).unwrap_or(u64::MAX),
    })
}
