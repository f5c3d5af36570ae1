//! A person reconciles an attempt with an unknown outcome. Only then are its resources released.

use ade_api::executions::{Finding, Reconciliation};
use ade_core::audit::Why;
use ade_core::ids::LeaseId;
use ade_core::limits::REASON_MAX_BYTES;
use ade_core::task::{Command, ReconcileFinding};
use ade_store::executions::{self, ExecutionOutcome};
use ade_store::locks::many;
use ade_store::resources;
use uuid::Uuid;

use super::lock_delay;
use super::settle::over;
use crate::app::App;
use crate::caller::{Caller, IdempotentRequest};
use crate::command::Reply;
use crate::command::run::carry_out;
use crate::command::task_command::{TaskCommand, TaskTarget};
use crate::error::Error;

pub async fn reconcile(
    app: &App,
    caller: &Caller,
    attempt: &IdempotentRequest,
    target: TaskTarget,
    Reconciliation { found, reason }: Reconciliation,
) -> Result<Reply, Error> {
    if reason.len() > REASON_MAX_BYTES {
        return Err(Error::invalid("reason", format!("must be at most {REASON_MAX_BYTES} bytes")));
    }
    let mut work = TaskCommand::begin(app, caller, attempt, target).await?;
    let (found, result) = match found {
        Finding::Completed => (ReconcileFinding::Completed, "succeeded"),
        Finding::Failed => (ReconcileFinding::Failed, "failed"),
        Finding::NotApplied => (ReconcileFinding::NotApplied, "lost"),
    };
    let command = Command::Reconcile { found, reason: reason.clone() };
    let named: Vec<_> = work.task.content.subject.resources.iter().cloned().collect();
    let known = resources::facts(&mut work.tx, &named).await?;
    work.knowledge.resource_owners = known.into_values().filter_map(|entry| entry.owner).collect();
    work.apply.hold_is_fenced = true;
    work.apply.lock_delay_is_over = work.now() >= work.task.since.plus(lock_delay(app));
    // The decision comes before anything is ended: a caller without permission ends nothing.
    if let Err(refusal) = work.decide(&command) {
        return Err(work.refuse(&command, refusal).await);
    }
    let execution = work.task.execution.clone();
    if let Some(execution) = &execution {
        let by = LeaseId::from_uuid(Uuid::new_v4());
        many::break_off(&mut work.tx, &[execution.hold.lease], by).await?;
        let outcome =
            ExecutionOutcome { result, error: Some(reason.clone()), ..ExecutionOutcome::default() };
        executions::note(&mut work.tx, execution.id, &outcome).await?;
    }
    let why = Why { reason: Some(reason), ticket: None };
    let reply = carry_out(work, command, why, |_| 200).await?;
    if let Some(execution) = execution {
        if let Some(keeper) = &app.locks
            && let Err(error) = keeper.queue.break_lease(caller.tenant, execution.hold.lease).await
        {
            tracing::debug!(
                %error,
                "failed to release reconciled locks in the queue; it will be corrected later"
            );
        }
        over(app, caller.tenant, execution.hold.lease).await;
    }
    Ok(reply)
}
