//! Ends an attempt by its own report. The hold is checked first: a fenced holder changes nothing.
//! The report of an UNKNOWN attempt is stored as evidence.

use ade_api::executions::{self as api, Finish, FinishOutcome, Left};
use ade_core::audit::Why;
use ade_core::ids::{ExecutionId, LeaseId};
use ade_core::limits::{EXECUTION_ERROR_MAX_BYTES, EXECUTION_OUTPUT_MAX_BYTES};
use ade_core::task::{ApplyResult, Command, Hold, Remains, State};
use ade_store::executions::{self, ExecutionOutcome};

use super::heartbeat::{hold_of, lost};
use super::queries::shown;
use super::settle::over;
use crate::app::App;
use crate::caller::{Caller, IdempotentRequest};
use crate::command::Reply;
use crate::command::task_command::TaskCommand;
use crate::error::Error;

const NOT_A_FAILURE: &str = "not allowed if the outcome is `succeeded` or `released_to_host`";

/// Ends an attempt: it succeeded, it was released to the agent's host, or it failed and left
/// something behind.
pub async fn finish(
    app: &App,
    caller: &Caller,
    attempt: &IdempotentRequest,
    id: ExecutionId,
    report: Finish,
) -> Result<Reply, Error> {
    let is_failure = report.outcome.is_failure();
    let error = report.error.filter(|error| !error.trim().is_empty());
    match (is_failure, &error) {
        (true, None) => {
            let says = "required unless the outcome is `succeeded` or `released_to_host`";
            return Err(Error::invalid("error", says));
        }
        (false, Some(_)) => return Err(Error::invalid("error", NOT_A_FAILURE)),
        (false, None) | (true, Some(_)) => {}
    }
    if !is_failure && report.left_behind.is_some() {
        return Err(Error::invalid("left_behind", NOT_A_FAILURE));
    }
    let (remains, left) = match report.left_behind.unwrap_or(Left::Changed) {
        Left::Nothing => (Remains::Nothing, "nothing"),
        Left::RolledBack => (Remains::RolledBack, "rolled_back"),
        Left::Changed => (Remains::Changed, "changed"),
    };
    let outcome = ExecutionOutcome {
        result: api::ExecutionOutcome::from(report.outcome).as_str(),
        left: is_failure.then_some(left),
        error: error.map(|error| cut(error, EXECUTION_ERROR_MAX_BYTES)),
        output: report.output.map(|text| cut(text, EXECUTION_OUTPUT_MAX_BYTES)),
        details: report.details,
    };
    let command = |hold| {
        let result = match report.outcome {
            FinishOutcome::Succeeded => ApplyResult::Succeeded,
            FinishOutcome::ReleasedToHost => ApplyResult::ReleasedToHost,
            FinishOutcome::Failed | FinishOutcome::TimedOut | FinishOutcome::Cancelled => {
                return Command::FailApply { hold, remains };
            }
        };
        Command::FinishApply { hold, result }
    };
    end(app, caller, attempt, (id, report.lease_id), command, outcome).await
}

async fn end(
    app: &App,
    caller: &Caller,
    attempt: &IdempotentRequest,
    (id, lease): (ExecutionId, LeaseId),
    command: impl FnOnce(Hold) -> Command,
    outcome: ExecutionOutcome,
) -> Result<Reply, Error> {
    let mut work = TaskCommand::begin_applying(app, caller, attempt, id).await?;
    let hold = hold_of(&mut work, id, lease).await?;
    let command = command(hold);
    let is_late = work.task.state == State::Unknown;
    // The decision comes before anything is released: a refusal is recorded, together with
    // everything that was written before it.
    let (mut work, decision) = work.decide_or_refuse(&command).await?;
    if !is_late {
        if !executions::release(&mut work.tx, hold).await? {
            return Err(lost(&mut work, id).await);
        }
        executions::note(&mut work.tx, id, &outcome).await?;
    }
    let found = executions::get(&mut work.tx, id).await?;
    let found = found.ok_or(Error::NotFound { what: "execution" })?;
    let now = work.now();
    let why = Why { reason: outcome.error, ticket: None };
    let reply = work
        .finish(&command, &decision, None, why, |_, _| {
            let ended_at = (!is_late).then_some(now);
            Ok((200, shown(executions::ExecutionRecord { ended_at, ..found })))
        })
        .await?;
    if !is_late {
        over(app, caller.tenant, lease).await;
    }
    Ok(reply)
}

/// Shortens the text at a character boundary and removes zero characters, which PostgreSQL cannot
/// store.
fn cut(text: String, most: usize) -> String {
    let mut text = if text.contains('\0') { text.replace('\0', "\u{fffd}") } else { text };
    text.truncate(text.floor_char_boundary(most));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn report_text_too_long_is_cut_at_a_character_boundary() {
        assert_eq!(cut("äöü".to_owned(), 3), "ä");
        assert_eq!(cut("äöü".to_owned(), 6), "äöü");
        assert_eq!(cut("a\0b".to_owned(), 9), "a\u{fffd}b");
    }
}
