//! How an attempt ends by its own word. Asked first is the hold: whoever was fenced changes nothing
//! any more. Of an attempt that is UNKNOWN the word is kept as evidence for whoever looks.

use ade_api::executions::{ExecutionResult, Fail, FailureKind, Finish, Left};
use ade_core::audit::Why;
use ade_core::ids::{ExecutionId, LeaseId};
use ade_core::limits::{EXECUTION_ERROR_MAX_BYTES, EXECUTION_OUTPUT_MAX_BYTES};
use ade_core::task::{Command, Hold, Remains, State};
use ade_store::executions::{self, Outcome};

use super::begin::lost;
use super::look::shown;
use super::settle::over;
use super::speak::hold_of;
use crate::app::App;
use crate::caller::{Attempt, Caller};
use crate::error::Error;
use crate::ops::Reply;
use crate::ops::decision::{Begun, Work};

pub async fn finish(
    app: &App,
    caller: &Caller,
    attempt: &Attempt,
    id: ExecutionId,
    said: Finish,
) -> Result<Reply, Error> {
    let outcome = Outcome {
        result: ExecutionResult::Success.as_str(),
        left: None,
        error: None,
        output: said.output.map(|text| cut(text, EXECUTION_OUTPUT_MAX_BYTES)),
        details: said.details,
    };
    let command = |hold| Command::FinishApply { hold };
    end(app, caller, attempt, (id, said.lease), command, outcome).await
}

pub async fn fail(
    app: &App,
    caller: &Caller,
    attempt: &Attempt,
    id: ExecutionId,
    said: Fail,
) -> Result<Reply, Error> {
    if said.error.trim().is_empty() {
        return Err(Error::invalid("error", "say what went wrong"));
    }
    let (remains, left) = match said.left {
        Left::Nothing => (Remains::Nothing, "nothing"),
        Left::RolledBack => (Remains::RolledBack, "rolled_back"),
        Left::Changed => (Remains::Changed, "changed"),
    };
    let result = match said.result {
        FailureKind::Failure => ExecutionResult::Failure,
        FailureKind::Timeout => ExecutionResult::Timeout,
        FailureKind::Cancelled => ExecutionResult::Cancelled,
    };
    let outcome = Outcome {
        result: result.as_str(),
        left: Some(left),
        error: Some(cut(said.error, EXECUTION_ERROR_MAX_BYTES)),
        output: said.output.map(|text| cut(text, EXECUTION_OUTPUT_MAX_BYTES)),
        details: said.details,
    };
    let command = |hold| Command::FailApply { hold, remains };
    end(app, caller, attempt, (id, said.lease), command, outcome).await
}

async fn end(
    app: &App,
    caller: &Caller,
    attempt: &Attempt,
    (id, lease): (ExecutionId, LeaseId),
    command: impl FnOnce(Hold) -> Command,
    outcome: Outcome,
) -> Result<Reply, Error> {
    let work = match Work::begin_applying(app, caller, attempt, id).await? {
        Begun::Work(work) => work,
        Begun::Repeated(reply) => return Ok(reply),
    };
    let hold = hold_of(&work, id, lease)?;
    let command = command(hold);
    let is_late = work.task.state == State::Unknown;
    // Before anything is given back: a refusal is kept, and what was written before it with it.
    let (mut work, decision) = work.decide_or_refuse(&command).await?;
    if !is_late {
        if !executions::release(&mut work.tx, hold).await? {
            return Err(lost());
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
            Ok((200, shown(executions::Execution { ended_at, ..found })))
        })
        .await?;
    if !is_late {
        over(app, caller.tenant, lease).await;
    }
    Ok(reply)
}

/// Not through the middle of a character. PostgreSQL keeps no zero character either.
fn cut(text: String, most: usize) -> String {
    let mut text = if text.contains('\0') { text.replace('\0', "\u{fffd}") } else { text };
    text.truncate(text.floor_char_boundary(most));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_long_is_cut_between_characters() {
        assert_eq!(cut("äöü".to_owned(), 3), "ä");
        assert_eq!(cut("äöü".to_owned(), 6), "äöü");
        assert_eq!(cut("a\0b".to_owned(), 9), "a\u{fffd}b");
    }
}
