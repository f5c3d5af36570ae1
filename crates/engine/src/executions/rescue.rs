//! Handles attempts whose holder is silent or does not stop. If the attempt was not begun, nothing
//! has happened and another agent may try. If it was begun, the outcome is unknown, and the task is
//! blocked until a person reconciles it.

use ade_core::audit::Why;
use ade_core::ids::{ExecutionId, LeaseId, TaskId, TenantId};
use ade_core::limits::APPLY_BEGIN_WITHIN;
use ade_core::task::{Command, Execution, State};
use ade_core::time::Timestamp;
use ade_store::executions::{self, ExecutionOutcome};
use ade_store::locks::many;
use ade_store::scheduled_jobs::{self, ScheduledJob};
use uuid::Uuid;

use super::settle::over;
use crate::app::App;
use crate::command::schedule::JobKind;
use crate::command::task_command::TaskCommand;
use crate::error::Error;

/// Checks whether the holder is alive; if it is not, gives the attempt up.
pub(crate) async fn rescue(
    app: &App,
    worker: &'static str,
    tenant: TenantId,
    task: TaskId,
) -> Result<(), Error> {
    let Some((mut work, execution)) = applying(app, worker, tenant, task).await? else {
        return Ok(());
    };
    let status = executions::standing(&mut work.tx, execution.hold.lease).await?;
    let living = status.filter(|status| status.is_open && status.silent_at > work.now());
    match living {
        Some(status) => again(work, JobKind::RescueApply, status.silent_at).await,
        None => give_up(work, execution, "the holder stopped responding").await,
    }
}

/// Ends attempts that take too long: one that does not begin loses its permit; a running one is
/// asked to stop, and is given up if it does not.
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
            return again(work, JobKind::TimeApply, begin_before).await;
        }
        return give_up(work, execution, "the apply was not begun in time").await;
    };
    if execution.abort_requested {
        return give_up(work, execution, "the executor was asked to stop and did not").await;
    }
    let timeout = u64::from(work.label.heading.timeout_seconds);
    let ends_at = begun_at.plus(std::time::Duration::from_secs(timeout));
    if ends_at > now {
        return again(work, JobKind::TimeApply, ends_at).await;
    }
    let reason = format!("the timeout of {timeout} s has elapsed");
    let command = Command::Cancel { reason: Some(reason.clone()) };
    let decision = work.decide(&command)?;
    let why = Why { reason: Some(reason), ticket: None };
    let committed = work.write(&command, &decision, None, why, None).await?;
    work.commit(&committed).await
}

/// Marks an attempt as lost, because its holder does not know the outcome.
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
) -> Result<Option<(Box<TaskCommand<'a>>, Execution)>, Error> {
    let Some(work) = TaskCommand::by_worker(app, worker, tenant, task).await? else {
        return Ok(None);
    };
    let execution = work.task.execution.clone().filter(|_| work.task.state == State::Applying);
    if let Some(execution) = execution {
        return Ok(Some((work, execution)));
    }
    work.forget_apply().await?;
    Ok(None)
}

async fn again(
    mut work: Box<TaskCommand<'_>>,
    deadline: JobKind,
    at: Timestamp,
) -> Result<(), Error> {
    let due = ScheduledJob { kind: deadline.as_str(), object: work.task.id.uuid(), at };
    scheduled_jobs::set(&mut work.tx, &[due]).await?;
    Ok(work.tx.commit().await?)
}

async fn give_up(
    mut work: Box<TaskCommand<'_>>,
    execution: Execution,
    because: &str,
) -> Result<(), Error> {
    let (app, tenant, lease) = (work.app(), work.caller().tenant, execution.hold.lease);
    // A fresh lease without an owner: it only ends the old one.
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
    let outcome = ExecutionOutcome { result, error: error.clone(), ..ExecutionOutcome::default() };
    executions::note(&mut work.tx, execution.id, &outcome).await?;
    let decision = work.decide(&command)?;
    let why = Why { reason: error, ticket: None };
    let committed = work.write(&command, &decision, None, why, None).await?;
    work.commit(&committed).await?;
    if has_begun {
        if let Some(keeper) = &app.locks
            && let Err(error) = keeper.queue.adopt(tenant, &[lease]).await
        {
            tracing::debug!(
                %error,
                "failed to block resources in the lock queue; it will be corrected later"
            );
        }
        return Ok(());
    }
    over(app, tenant, lease).await;
    Ok(())
}
