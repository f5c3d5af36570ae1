//! The outcome of a command: its report to the server and the exit code of `ade`.

use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;

use ade_api::cause::Cause;
use ade_api::code::Code;
use ade_api::executions::{FinishOutcome, Left};
use ade_client::Error;
use ade_core::ids::TaskId;
use rustix::process::Signal;
use serde_json::{Value, json};

use super::interrupt;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::text::visible;

#[derive(Debug)]
pub struct RunOutcome {
    end: End,
    pub why: Why,
}

#[derive(Debug)]
enum End {
    NotStarted(Exit, String),
    Exited(u8),
    Killed(u8),
    /// The exit status could not be determined.
    Unknown(String),
}

/// Why the command ended.
#[derive(Debug)]
pub enum Why {
    Itself,
    Interrupted(Signal),
    AbortRequested,
    /// The server requested a stop because the time limit was reached.
    TookTooLong,
    Lost(Error),
}

impl RunOutcome {
    pub fn of(status: io::Result<ExitStatus>, why: Why) -> Self {
        let end = match status {
            Ok(status) => match (status.code(), status.signal()) {
                (Some(code), _) => End::Exited(u8::try_from(code).unwrap_or(u8::MAX)),
                (None, Some(signal)) => End::Killed(u8::try_from(signal).unwrap_or_default()),
                (None, None) => End::Unknown(status.to_string()),
            },
            Err(error) => End::Unknown(error.to_string()),
        };
        Self { end, why }
    }

    pub fn not_started(line: &str, error: &io::Error) -> Self {
        let exit = match error.kind() {
            io::ErrorKind::NotFound => Exit::NoSuchCommand,
            _ => Exit::CannotStart,
        };
        let message = format!("cannot start `{line}`: {error}");
        Self { end: End::NotStarted(exit, message), why: Why::Itself }
    }

    /// Describes the failure; `None` if the command succeeded undisturbed.
    pub fn error(&self) -> Option<String> {
        let how = match &self.end {
            End::NotStarted(_, message) => return Some(message.clone()),
            End::Exited(code) => format!("the command exited with code {code}"),
            End::Killed(signal) => format!("the command was ended by signal {signal}"),
            End::Unknown(message) => {
                format!("the exit status of the command is unknown: {message}")
            }
        };
        match (&self.why, &self.end) {
            (Why::Itself, End::Exited(0)) => None,
            (Why::Itself, _) => Some(how),
            (Why::Interrupted(signal), _) => {
                Some(format!("interrupted by {}: {how}", interrupt::name(*signal)))
            }
            (Why::AbortRequested, _) => Some(format!("cancelled: {how}")),
            (Why::TookTooLong, _) => Some(format!("timed out: {how}")),
            (Why::Lost(why), _) => Some(format!("the lease was lost ({why}): {how}")),
        }
    }

    pub fn outcome(&self) -> FinishOutcome {
        match self.why {
            Why::AbortRequested => FinishOutcome::Cancelled,
            Why::TookTooLong => FinishOutcome::TimedOut,
            Why::Itself | Why::Interrupted(_) | Why::Lost(_) => FinishOutcome::Failed,
        }
    }

    /// Returns what the command left behind. A command that ran may have changed something.
    pub fn left(&self) -> Left {
        match self.end {
            End::NotStarted(..) => Left::Nothing,
            End::Exited(_) | End::Killed(_) | End::Unknown(_) => Left::Changed,
        }
    }

    pub fn details(&self) -> Value {
        match &self.end {
            End::NotStarted(exit, _) => json!({ "exit_code": exit.code() }),
            End::Exited(code) => json!({ "exit_code": code }),
            End::Killed(signal) => json!({ "signal": signal }),
            End::Unknown(message) => json!({ "unknown": message }),
        }
    }

    pub fn exit(&self) -> Exit {
        match (&self.end, &self.why) {
            (_, Why::AbortRequested) => Exit::Ended,
            (_, Why::TookTooLong) => Exit::TimedOut,
            (End::NotStarted(exit, _), _) => *exit,
            // The task was reported as failed, so the exit code must not be 0.
            (End::Exited(0), Why::Interrupted(signal)) => interrupt::exit(*signal),
            (End::Exited(code), _) => Exit::Command(*code),
            (End::Killed(signal), _) => Exit::Signalled(*signal),
            (End::Unknown(_), _) => Exit::Failed,
        }
    }
}

/// The advice when the server gives none: it may not know yet that the lease is over.
const FIND_OUT: &str =
    "Stop: a person must find out what the command changed, and reconcile the task.";

/// Returns the error for a lost lease, with the cause that the server gives.
pub fn lost(id: TaskId, what: &str, error: &Error, state: &str) -> Failure {
    let advice = error.refusal().map_or(FIND_OUT, |refusal| &refusal.next_action.message);
    let failure = Failure::new(Exit::LeaseLost, what).code(error.code()).facts(error.facts());
    let failure = failure.detail(format!("{error}; {state}")).advice(advice);
    failure.or_next(format!("ade tasks get {id}"))
}

/// Returns the error for a task that was cancelled while it was being applied.
pub fn cancelled(id: TaskId, what: &str, abort: Option<&Cause>) -> Failure {
    let failure = Failure::new(Exit::Ended, what)
        .code(Code::AbortRequested.as_str())
        .or_next(format!("ade tasks get {id}"));
    match abort {
        Some(abort) => failure.detail(cancelled_by(abort)),
        None => failure,
    }
}

/// Says who cancelled a task and why.
pub fn cancelled_by(abort: &Cause) -> String {
    let why = abort.reason.as_ref().map(|reason| format!(": {}", visible(reason)));
    format!("by {}{}", visible(&abort.by), why.unwrap_or_default())
}

/// Returns the error for a successful command whose result could not be reported.
pub fn unreported(id: TaskId, error: Error) -> Failure {
    let look = format!("ade tasks get {id}");
    if error.is(Code::LeaseLost) {
        let what = "the command succeeded, but its lease was lost";
        return lost(id, what, &error, "check whether its changes are still in place");
    }
    if error.is_passing() {
        let what = "the command succeeded, but the result could not be reported";
        return Failure::new(Exit::Unreachable, what)
            .detail(format!("{error}; the task becomes UNKNOWN until it is reconciled"))
            .or_next(look);
    }
    Failure::from(error).or_next(look)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(raw: i32, why: Why) -> RunOutcome {
        RunOutcome::of(Ok(ExitStatus::from_raw(raw)), why)
    }

    fn exited(code: i32) -> i32 {
        code << 8
    }

    #[test]
    fn outcome_is_success_only_for_an_undisturbed_exit_zero() {
        assert_eq!(ended(exited(0), Why::Itself).error(), None);
        let lost = || Why::Lost(Error::LeaseSpent);
        for outcome in [
            ended(exited(3), Why::Itself),
            ended(15, Why::Itself),
            ended(exited(0), Why::Interrupted(Signal::INT)),
            ended(exited(0), Why::AbortRequested),
            ended(exited(0), Why::TookTooLong),
            ended(exited(0), lost()),
        ] {
            assert!(outcome.error().is_some(), "{outcome:?}");
            assert_eq!(outcome.left(), Left::Changed);
        }
    }

    #[test]
    fn exit_code_of_the_command_is_passed_through() {
        assert_eq!(ended(exited(0), Why::Itself).exit().code(), 0);
        assert_eq!(ended(exited(3), Why::Itself).exit().code(), 3);
        assert_eq!(ended(9, Why::Itself).exit().code(), 137);
        assert_eq!(ended(exited(3), Why::Interrupted(Signal::INT)).exit().code(), 3);
        assert_eq!(ended(2, Why::Interrupted(Signal::INT)).exit().code(), 130);
        assert_eq!(ended(exited(0), Why::Interrupted(Signal::INT)).exit().code(), 130);
        assert_eq!(ended(exited(0), Why::AbortRequested).exit().code(), 66);
        assert_eq!(ended(exited(0), Why::TookTooLong).exit().code(), 75);
    }

    #[test]
    fn command_that_never_started_left_no_effect() {
        let missing = RunOutcome::not_started("nope", &io::ErrorKind::NotFound.into());
        assert_eq!((missing.exit().code(), missing.left()), (127, Left::Nothing));
        let closed = RunOutcome::not_started("nope", &io::ErrorKind::PermissionDenied.into());
        assert_eq!((closed.exit().code(), closed.left()), (126, Left::Nothing));
    }
}
