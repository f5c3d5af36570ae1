//! How a command ended, and what that means for the report and for whoever called `ade`.

use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;

use ade_api::code::Code;
use ade_api::executions::{FailureKind, Left};
use ade_client::Error;
use ade_core::ids::TaskId;
use rustix::process::Signal;
use serde_json::{Value, json};

use super::interrupt;
use crate::exit::Exit;
use crate::failure::Failure;

#[derive(Debug)]
pub struct Outcome {
    end: End,
    pub why: Why,
}

#[derive(Debug)]
enum End {
    NotStarted(Exit, String),
    Exited(u8),
    Killed(u8),
    /// The system would not say.
    Unknown(String),
}

/// What made it end.
#[derive(Debug)]
pub enum Why {
    Itself,
    Interrupted(Signal),
    AbortAsked,
    /// The server asked to stop it, when the time it was given was over.
    TookTooLong,
    Lost(String),
}

impl Outcome {
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
        let told = format!("`{line}` cannot be started: {error}");
        Self { end: End::NotStarted(exit, told), why: Why::Itself }
    }

    /// What went wrong; nothing if the command ended well and was let be.
    pub fn error(&self) -> Option<String> {
        let how = match &self.end {
            End::NotStarted(_, told) => return Some(told.clone()),
            End::Exited(code) => format!("the command ended with {code}"),
            End::Killed(signal) => format!("the command was ended by signal {signal}"),
            End::Unknown(told) => format!("nobody knows how the command ended: {told}"),
        };
        match (&self.why, &self.end) {
            (Why::Itself, End::Exited(0)) => None,
            (Why::Itself, _) => Some(how),
            (Why::Interrupted(signal), _) => {
                Some(format!("interrupted by {}: {how}", interrupt::name(*signal)))
            }
            (Why::AbortAsked, _) => Some(format!("somebody asked to stop it: {how}")),
            (Why::TookTooLong, _) => Some(format!("it took too long: {how}")),
            (Why::Lost(why), _) => Some(format!("the lock was lost ({why}): {how}")),
        }
    }

    pub fn kind(&self) -> FailureKind {
        match self.why {
            Why::AbortAsked => FailureKind::Cancelled,
            Why::TookTooLong => FailureKind::Timeout,
            Why::Itself | Why::Interrupted(_) | Why::Lost(_) => FailureKind::Failure,
        }
    }

    /// Once it has run nobody can say that it changed nothing.
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
            End::Unknown(told) => json!({ "unknown": told }),
        }
    }

    pub fn exit(&self) -> Exit {
        match (&self.end, &self.why) {
            (_, Why::AbortAsked) => Exit::Ended,
            (_, Why::TookTooLong) => Exit::TimedOut,
            (End::NotStarted(exit, _), _) => *exit,
            // It was reported as failed: a caller must not take it for done.
            (End::Exited(0), Why::Interrupted(signal)) => interrupt::exit(*signal),
            (End::Exited(code), _) => Exit::Command(*code),
            (End::Killed(signal), _) => Exit::Signalled(*signal),
            (End::Unknown(_), _) => Exit::Failed,
        }
    }
}

pub fn lost(id: TaskId, why: &str) -> Failure {
    Failure::new(Exit::LeaseLost, "the lock was lost, and the command was ended")
        .detail(format!("{why}; what it had done by then stays done"))
        .or_next(format!("ade tasks get {id}"))
}

/// The command ended well and nobody could be told.
pub fn unreported(id: TaskId, error: Error) -> Failure {
    let look = format!("ade tasks get {id}");
    if error.is(Code::LeaseLost) {
        return Failure::new(Exit::LeaseLost, "the command ended well, but its lock was lost")
            .detail("somebody has to find out whether what it did still stands")
            .or_next(look);
    }
    if error.is_passing() {
        let what = "the command ended well, but the server could not be told";
        return Failure::new(Exit::Unreachable, what)
            .detail(format!("{error}; the task becomes UNKNOWN until somebody reconciles it"))
            .or_next(look);
    }
    Failure::from(error).or_next(look)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(raw: i32, why: Why) -> Outcome {
        Outcome::of(Ok(ExitStatus::from_raw(raw)), why)
    }

    fn exited(code: i32) -> i32 {
        code << 8
    }

    #[test]
    fn only_a_command_that_ended_well_by_itself_is_a_success() {
        assert_eq!(ended(exited(0), Why::Itself).error(), None);
        let lost = || Why::Lost("x".to_owned());
        for outcome in [
            ended(exited(3), Why::Itself),
            ended(15, Why::Itself),
            ended(exited(0), Why::Interrupted(Signal::INT)),
            ended(exited(0), Why::AbortAsked),
            ended(exited(0), Why::TookTooLong),
            ended(exited(0), lost()),
        ] {
            assert!(outcome.error().is_some(), "{outcome:?}");
            assert_eq!(outcome.left(), Left::Changed);
        }
    }

    #[test]
    fn the_code_of_the_command_is_passed_through() {
        assert_eq!(ended(exited(0), Why::Itself).exit().code(), 0);
        assert_eq!(ended(exited(3), Why::Itself).exit().code(), 3);
        assert_eq!(ended(9, Why::Itself).exit().code(), 137);
        assert_eq!(ended(exited(3), Why::Interrupted(Signal::INT)).exit().code(), 3);
        assert_eq!(ended(2, Why::Interrupted(Signal::INT)).exit().code(), 130);
        assert_eq!(ended(exited(0), Why::Interrupted(Signal::INT)).exit().code(), 130);
        assert_eq!(ended(exited(0), Why::AbortAsked).exit().code(), 66);
        assert_eq!(ended(exited(0), Why::TookTooLong).exit().code(), 75);
    }

    #[test]
    fn a_command_that_never_started_left_nothing() {
        let missing = Outcome::not_started("nope", &io::ErrorKind::NotFound.into());
        assert_eq!((missing.exit().code(), missing.left()), (127, Left::Nothing));
        let closed = Outcome::not_started("nope", &io::ErrorKind::PermissionDenied.into());
        assert_eq!((closed.exit().code(), closed.left()), (126, Left::Nothing));
    }
}
