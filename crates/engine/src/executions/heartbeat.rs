//! Who may report for an attempt: its agent, with the lease. Others get "not found"; an ended
//! attempt is reported as ended.

use ade_api::executions::{Alive, Pulse};
use ade_api::locks::LeaseState;
use ade_core::actor::Actor;
use ade_core::ids::{ExecutionId, LeaseId};
use ade_core::task::Hold;
use ade_store::executions::{self, ExecutionRecord};
use ade_store::{TenantLock, Tx};

use crate::app::App;
use crate::caller::Caller;
use crate::command::cause::cause_of_abort;
use crate::command::permission::begin;
use crate::command::task_command::TaskCommand;
use crate::error::{Error, LostAttempt, LostLease};
use crate::locks;

/// Returns the hold under which a step of an attempt runs, if the caller is its holder.
pub(super) async fn hold_of(
    work: &mut TaskCommand<'_>,
    execution: ExecutionId,
    lease: LeaseId,
) -> Result<Hold, Error> {
    let caller = work.caller().actor.clone();
    let is_own = |holder: &Actor, hold: Hold| holder.is_same_as(&caller) && hold.lease == lease;
    match work.task.execution.as_ref().filter(|live| live.id == execution) {
        Some(live) if is_own(&live.holder, live.hold) => Ok(live.hold),
        Some(_) => Err(Error::NotFound { what: "execution" }),
        None => {
            let found = executions::get(&mut work.tx, execution).await?;
            let found = found.filter(|found| is_own(&found.holder, found.hold));
            let found = found.ok_or(Error::NotFound { what: "execution" })?;
            Err(loss_of(&mut work.tx, &found).await)
        }
    }
}

/// Returns a running attempt, to its holder only.
pub(super) async fn live(
    tx: &mut Tx,
    caller: &Caller,
    id: ExecutionId,
    lease: LeaseId,
) -> Result<ExecutionRecord, Error> {
    let found = executions::get(tx, id).await?;
    let is_own = |found: &ExecutionRecord| {
        found.holder.is_same_as(&caller.actor) && found.hold.lease == lease
    };
    let found = found.filter(is_own).ok_or(Error::NotFound { what: "execution" })?;
    if found.ended_at.is_some() {
        return Err(loss_of(tx, &found).await);
    }
    Ok(found)
}

/// Returns the refusal of a call for an attempt that has ended or has lost its lease.
pub(super) async fn loss_of(tx: &mut Tx, found: &ExecutionRecord) -> Error {
    let is_lost = matches!(found.result.as_deref(), None | Some("lost" | "unknown"));
    let state = if is_lost { LeaseState::Expired } else { LeaseState::Released };
    let attempt = LostAttempt {
        task: found.task,
        execution: found.id,
        has_begun: found.begun_at.is_some(),
        has_ended: found.ended_at.is_some(),
    };
    match locks::loss(tx, found.hold.lease, state).await {
        Ok(loss) => Error::LeaseLost(Box::new(LostLease { attempt: Some(attempt), ..loss })),
        Err(error) => error,
    }
}

/// Returns the refusal of a step whose hold PostgreSQL no longer confirms.
pub(super) async fn lost(work: &mut TaskCommand<'_>, id: ExecutionId) -> Error {
    match executions::get(&mut work.tx, id).await {
        Ok(Some(found)) => loss_of(&mut work.tx, &found).await,
        Ok(None) => Error::NotFound { what: "execution" },
        Err(error) => error.into(),
    }
}

/// Keeps the holds, the lease and the session alive, and returns whether the attempt must stop.
pub async fn heartbeat(
    app: &App,
    caller: &Caller,
    id: ExecutionId,
    pulse: Pulse,
) -> Result<Alive, Error> {
    let mut tx = begin(&app.pools.api, caller, TenantLock::None).await?;
    let found = live(&mut tx, caller, id, pulse.lease_id).await?;
    // A lost attempt is not revived by a heartbeat: a person has to reconcile it.
    let is_lost = found.result.is_some();
    let extended = if is_lost { None } else { executions::extend(&mut tx, found.hold).await? };
    let Some(extended) = extended else {
        return Err(loss_of(&mut tx, &found).await);
    };
    let abort = if found.abort_requested {
        cause_of_abort(&mut tx, found.task, found.started_at).await?
    } else {
        None
    };
    tx.commit().await?;
    if let Some(keeper) = &app.locks
        && let Err(error) = keeper.queue.refresh(caller.tenant, pulse.lease_id).await
    {
        tracing::debug!(%error, "failed to record heartbeat in the lock queue");
    }
    Ok(Alive {
        abort_requested: found.abort_requested,
        abort,
        expires_at: extended.until,
        ttl_seconds: extended.ttl.as_secs(),
    })
}
