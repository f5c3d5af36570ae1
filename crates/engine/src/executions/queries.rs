//! Attempts for everyone who may read their task; a lease is shown only as its hash.

use ade_api::executions::{Execution, ExecutionOutcome, ExecutionState, Executions, Left, Log};
use ade_core::actor::Actor;
use ade_core::ids::{ExecutionId, TaskId};
use ade_core::limits::EXECUTION_LOG_PAGE;
use ade_store::{Tx, execution_log, executions};

use super::archive;
use super::archive::line_of;
use crate::app::App;
use crate::caller::Caller;
use crate::command::permission::look;
use crate::command::permission::visible_in;
use crate::error::Error;
use crate::locks::hash;

pub async fn get(app: &App, caller: &Caller, id: ExecutionId) -> Result<Execution, Error> {
    let mut tx = look(app, caller).await?;
    Ok(shown(visible(app, caller, &mut tx, id).await?))
}

pub async fn list(app: &App, caller: &Caller, task: TaskId) -> Result<Executions, Error> {
    let mut tx = look(app, caller).await?;
    visible_in(app, caller, &mut tx, task).await?;
    let found = executions::of_task(&mut tx, task).await?;
    Ok(Executions { items: found.into_iter().map(shown).collect() })
}

/// Returns a page of an attempt's log, from this line on.
pub async fn lines(app: &App, caller: &Caller, id: ExecutionId, from: u64) -> Result<Log, Error> {
    let mut tx = look(app, caller).await?;
    let execution = visible(app, caller, &mut tx, id).await?;
    if let Some(folder) = &execution.output_key {
        tx.roll_back().await;
        return archived(app, folder, from, execution.log_lines).await;
    }
    let lines = execution_log::read(&mut tx, id, from).await?;
    let is_page = u64::try_from(lines.len()).unwrap_or(u64::MAX) >= u64::from(EXECUTION_LOG_PAGE);
    let next = lines.last().map_or(from, |line| line.number + 1);
    let is_complete = execution.ended_at.is_some() && !is_page;
    Ok(Log { lines: lines.into_iter().map(line_of).collect(), next, is_complete })
}

async fn archived(app: &App, folder: &str, from: u64, lines: u64) -> Result<Log, Error> {
    let blobs = app.blobs.as_ref().ok_or_else(archive::none)?;
    let page = u64::from(EXECUTION_LOG_PAGE);
    let found = if from < lines { archive::read(blobs, folder, from).await? } else { Vec::new() };
    let next = (from / page + 1).saturating_mul(page).min(lines).max(from);
    Ok(Log { lines: found, next, is_complete: next >= lines })
}

async fn visible(
    app: &App,
    caller: &Caller,
    tx: &mut Tx,
    id: ExecutionId,
) -> Result<executions::ExecutionRecord, Error> {
    let missing = Error::NotFound { what: "execution" };
    let Some(execution) = executions::get(tx, id).await? else { return Err(missing) };
    match visible_in(app, caller, tx, execution.task).await {
        Ok(_) => Ok(execution),
        Err(Error::NotFound { .. }) => Err(missing),
        Err(error) => Err(error),
    }
}

/// Reads a stored outcome, also one that the previous release has written.
fn outcome_of(word: &str) -> Option<ExecutionOutcome> {
    match word {
        "success" => Some(ExecutionOutcome::Succeeded),
        "failure" => Some(ExecutionOutcome::Failed),
        "timeout" => Some(ExecutionOutcome::TimedOut),
        word => ExecutionOutcome::ALL.into_iter().find(|one| one.as_str() == word),
    }
}

pub(super) fn shown(execution: executions::ExecutionRecord) -> Execution {
    let state = match (execution.begun_at, execution.ended_at) {
        (_, Some(_)) => ExecutionState::Ended,
        (Some(_), None) => ExecutionState::Running,
        (None, None) => ExecutionState::Permitted,
    };
    let outcome = execution.result.as_deref().and_then(outcome_of);
    let left = execution.left.as_deref().and_then(|word| match word {
        "nothing" => Some(Left::Nothing),
        "rolled_back" => Some(Left::RolledBack),
        "changed" => Some(Left::Changed),
        _ => None,
    });
    Execution {
        id: execution.id,
        task_id: execution.task,
        revision: execution.revision,
        attempt: execution.attempt,
        state,
        agent_id: match execution.holder {
            Actor::Agent { id, .. } => Some(id),
            Actor::User { .. } | Actor::System { .. } => None,
        },
        lease_hash: hash(&execution.hold.lease),
        fence: execution.hold.token,
        started_at: execution.started_at,
        begun_at: execution.begun_at,
        ended_at: execution.ended_at,
        abort_requested: execution.abort_requested,
        outcome,
        left_behind: left,
        error: execution.error,
        output: execution.output,
        output_key: execution.output_key,
        details: execution.details,
        late_report: execution.late_report,
    }
}
