//! Somebody has looked what became of an attempt whose end nobody knew, and says so. Only then are
//! its resources free again.

use ade_api::executions::{Finding, Reconciliation};
use ade_core::audit::Why;
use ade_core::ids::LeaseId;
use ade_core::limits::REASON_MAX_BYTES;
use ade_core::task::{Command, Found};
use ade_store::executions::{self, Outcome};
use ade_store::locks::many;
use ade_store::resources;
use uuid::Uuid;

use super::lock_delay;
use super::settle::over;
use crate::app::App;
use crate::caller::{Attempt, Caller};
use crate::error::Error;
use crate::ops::Reply;
use crate::ops::command::carry_out;
use crate::ops::decision::{Begun, Target, Work};

pub async fn reconcile(
    app: &App,
    caller: &Caller,
    attempt: &Attempt,
    target: Target,
    Reconciliation { found, reason }: Reconciliation,
) -> Result<Reply, Error> {
    if reason.len() > REASON_MAX_BYTES {
        return Err(Error::invalid("reason", format!("at most {REASON_MAX_BYTES} bytes")));
    }
    let mut work = match Work::begin(app, caller, attempt, target).await? {
        Begun::Work(work) => work,
        Begun::Repeated(reply) => return Ok(reply),
    };
    let (found, result) = match found {
        Finding::Completed => (Found::Completed, "success"),
        Finding::Failed => (Found::Failed, "failure"),
        Finding::NotApplied => (Found::NotApplied, "lost"),
    };
    let command = Command::Reconcile { found, reason: reason.clone() };
    let named: Vec<_> = work.task.content.subject.resources.iter().cloned().collect();
    let known = resources::facts(&mut work.tx, &named).await?;
    work.knowledge.resource_owners = known.into_values().filter_map(|entry| entry.owner).collect();
    work.apply.hold_is_fenced = true;
    work.apply.lock_delay_is_over = work.now() >= work.task.since.plus(lock_delay(app));
    // Asked before anything is ended: whoever may not, ends nothing.
    if let Err(refusal) = work.decide(&command) {
        return Err(work.refuse(&command, refusal).await);
    }
    let execution = work.task.execution.clone();
    if let Some(execution) = &execution {
        let by = LeaseId::from_uuid(Uuid::new_v4());
        many::break_off(&mut work.tx, &[execution.hold.lease], by).await?;
        let outcome = Outcome { result, error: Some(reason.clone()), ..Outcome::default() };
        executions::note(&mut work.tx, execution.id, &outcome).await?;
    }
    let why = Why { reason: Some(reason), ticket: None };
    let reply = carry_out(Begun::Work(work), command, why, |_| 200).await?;
    if let Some(execution) = execution {
        if let Some(keeper) = &app.locks
            && let Err(error) = keeper.break_lease(caller.tenant, execution.hold.lease).await
        {
            tracing::debug!(%error, "the queue learns later that resources are free");
        }
        over(app, caller.tenant, execution.hold.lease).await;
    }
    Ok(reply)
}
