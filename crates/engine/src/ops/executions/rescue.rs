//! What becomes of attempts whose holder is silent, or does not stop. Not begun: nothing has
//! happened, and somebody else may try. Begun: nobody knows, so nobody touches it until a person
//! has looked. Nothing is guessed.

use ade_core::audit::Why;
use ade_core::ids::{ExecutionId, LeaseId, TaskId, TenantId};
use ade_core::limits::APPLY_BEGIN_WITHIN;
use ade_core::task::{Command, Execution, State};
use ade_core::time::Timestamp;
use ade_store::due::{self, Due};
use ade_store::executions::{self, Outcome};
use ade_store::locks::many;
use uuid::Uuid;

use super::settle::over;
use crate::app::App;
use crate::error::Error;
use crate::ops::deadline::Deadline;
use crate::ops::decision::Work;

/// Whether its holder still lives, and if not what is to become of the task.
pub(crate) async fn rescue(
    app: &App,
    worker: &'static str,
    tenant: TenantId,
    task: TaskId,
) -> Result<(), Error> {
    let Some((mut work, execution)) = applying(app, worker, tenant, task).await? else {
        return Ok(());
    };
    let standing = executions::standing(&mut work.tx, execution.hold.lease).await?;
    let living = standing.filter(|standing| standing.is_open && standing.silent_at > work.now());
    match living {
        Some(standing) => again(work, Deadline::RescueApply, standing.silent_at).await,
        None => give_up(work, execution, "its holder fell silent").await,
    }
}

/// One who does not begin loses its permit; one who takes too long is told to stop, and given up
/// if it does not.
pub(crate) async fn time_out(
    app: &App,
    worker: &'static str,
    tenant: TenantId,
    task: TaskId,
) -> Result<(), Error> {
    let Some((mut work, execution)) = applying(app, worker, tenant, task).await? else {
        return Ok(());
    };
    let now = work.now();
    let Some(begun_at) = execution.begun_at else {
        let begin_before = execution.started_at.plus(APPLY_BEGIN_WITHIN);
        if begin_before > now {
            return again(work, Deadline::TimeApply, begin_before).await;
        }
        return give_up(work, execution, "it was not begun in time").await;
    };
    if execution.abort_requested {
        return give_up(work, execution, "it was told to stop and did not").await;
    }
    let timeout = u64::from(work.label.heading.timeout_seconds);
    let ends_at = begun_at.plus(std::time::Duration::from_secs(timeout));
    if ends_at > now {
        return again(work, Deadline::TimeApply, ends_at).await;
    }
    let reason = format!("its {timeout} s are over");
    let command = Command::Cancel { reason: Some(reason.clone()) };
    let decision = work.decide(&command)?;
    let why = Why { reason: Some(reason), ticket: None };
    let committed = work.write(&command, &decision, None, why, None).await?;
    work.commit(&committed).await
}

/// Its holder itself cannot say what it left.
pub(super) async fn lose(
    app: &App,
    (tenant, task, id): (TenantId, TaskId, ExecutionId),
    worker: &'static str,
    because: &str,
) -> Result<(), Error> {
    match applying(app, worker, tenant, task).await? {
        Some((work, execution)) if execution.id == id => give_up(work, execution, because).await,
        _ => Ok(()),
    }
}

async fn applying<'a>(
    app: &'a App,
    worker: &str,
    tenant: TenantId,
    task: TaskId,
) -> Result<Option<(Box<Work<'a>>, Execution)>, Error> {
    let Some(work) = Work::by_worker(app, worker, tenant, task).await? else { return Ok(None) };
    let execution = work.task.execution.clone().filter(|_| work.task.state == State::Applying);
    if let Some(execution) = execution {
        return Ok(Some((work, execution)));
    }
    work.forget_apply().await?;
    Ok(None)
}

async fn again(mut work: Box<Work<'_>>, deadline: Deadline, at: Timestamp) -> Result<(), Error> {
    let due = Due { kind: deadline.as_str(), object: work.task.id.uuid(), at };
    due::set(&mut work.tx, &[due]).await?;
    Ok(work.tx.commit().await?)
}

async fn give_up(
    mut work: Box<Work<'_>>,
    execution: Execution,
    because: &str,
) -> Result<(), Error> {
    let (app, tenant, lease) = (work.app(), work.caller().tenant, execution.hold.lease);
    // Nobody's lease: it only ends the old one.
    let by = LeaseId::from_uuid(Uuid::new_v4());
    let has_begun = execution.begun_at.is_some();
    let (command, result) = if has_begun {
        executions::block(&mut work.tx, lease, by).await?;
        work.apply.hold_is_over = true;
        (Command::LoseApply, "unknown")
    } else {
        many::break_off(&mut work.tx, &[lease], by).await?;
        work.apply.hold_is_fenced = true;
        (Command::RequeueApply, "lost")
    };
    let error = Some(because.to_owned());
    let outcome = Outcome { result, error: error.clone(), ..Outcome::default() };
    executions::note(&mut work.tx, execution.id, &outcome).await?;
    let decision = work.decide(&command)?;
    let why = Why { reason: error, ticket: None };
    let committed = work.write(&command, &decision, None, why, None).await?;
    work.commit(&committed).await?;
    if has_begun {
        if let Some(keeper) = &app.locks
            && let Err(error) = keeper.adopt(tenant, &[lease]).await
        {
            tracing::debug!(%error, "the queue learns later that resources are blocked");
        }
        return Ok(());
    }
    over(app, tenant, lease).await;
    Ok(())
}
