//! Programs that the settings allow, one for each name: a request as JSON on their standard input,
//! an answer as JSON on their standard output, and a log on standard error. The author of a task
//! chooses neither the program nor its arguments.

use ade_api::executions::FailureKind;
use ade_core::limits::EXECUTOR_ANSWER_MAX_BYTES;

use super::child::{self, Ended, Ending};
use super::protocol::{Call, Silence};
use super::speak::Speak;
use super::work::{Doing, Leash, Left};

pub use super::child::{Program, ProgramLimits};

#[derive(Debug)]
pub struct Command {
    program: Program,
}

impl Command {
    pub fn new(program: Program) -> Self {
        Self { program }
    }

    async fn run(&self, call: &Call<'_>, leash: &Leash) -> Result<Vec<u8>, Silence> {
        match child::run(&self.program, &call.bytes(), leash).await {
            Ok(ended) => answer_of(ended),
            Err(error) => {
                let path = self.program.path.display();
                tracing::error!(%path, %error, "a program cannot be run");
                let error = "the program cannot be run";
                Err(Silence::new(FailureKind::Failure, error, Left::Nothing))
            }
        }
    }
}

/// What ended otherwise than by its own will with a whole answer has said nothing.
fn answer_of(ended: Ended) -> Result<Vec<u8>, Silence> {
    let silent = |kind, error: String| Err(Silence::new(kind, error, Left::Unknown));
    let last = ended.last_line.map_or(String::new(), |line| format!(": {line}"));
    match ended.ending {
        Ending::Exited(0) => Ok(ended.answer),
        Ending::Exited(code) => {
            silent(FailureKind::Failure, format!("it ended with status {code}{last}"))
        }
        Ending::Signalled(signal) => {
            silent(FailureKind::Failure, format!("it was ended by signal {signal}{last}"))
        }
        Ending::Deadline => silent(FailureKind::Timeout, "it took too long".to_owned()),
        Ending::Aborted => silent(FailureKind::Cancelled, "it was told to stop".to_owned()),
        Ending::Flooded => {
            let error = format!("it answered with more than {EXECUTOR_ANSWER_MAX_BYTES} bytes");
            silent(FailureKind::Failure, error)
        }
    }
}

impl Speak for Command {
    const NAME: &'static str = "command";

    fn call<'a>(
        &'a self,
        call: &'a Call<'a>,
        leash: &'a Leash,
    ) -> Doing<'a, Result<Vec<u8>, Silence>> {
        Box::pin(self.run(call, leash))
    }
}
