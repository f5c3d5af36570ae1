//! Runs the programs that the settings allow, one for each name. A program reads a JSON request
//! from standard input, writes a JSON response to standard output and its log to standard error.
//! The author of a task chooses neither the program nor its arguments.

use ade_api::executions::FinishOutcome;
use ade_core::limits::EXECUTOR_ANSWER_MAX_BYTES;

use super::child::{self, Ending, ProgramResult};
use super::job::{Doing, Leash, Left};
use super::protocol::{ExecutorCall, Silence};
use super::wire::Speak;

pub use super::child::{Program, ProgramLimits};

#[derive(Debug)]
pub struct CommandExecutor {
    program: Program,
}

impl CommandExecutor {
    pub fn new(program: Program) -> Self {
        Self { program }
    }

    async fn run(&self, call: &ExecutorCall<'_>, leash: &Leash) -> Result<Vec<u8>, Silence> {
        match child::run(&self.program, &call.bytes(), leash).await {
            Ok(ended) => answer_of(ended),
            Err(error) => {
                let path = self.program.path.display();
                tracing::error!(%path, %error, "failed to run executor program");
                let error = "the program could not be run";
                Err(Silence::new(FinishOutcome::Failed, error, Left::Nothing))
            }
        }
    }
}

/// Returns the response of a program that exited with status 0; every other ending is an error.
fn answer_of(ended: ProgramResult) -> Result<Vec<u8>, Silence> {
    let silent = |kind, error: String| Err(Silence::new(kind, error, Left::Unknown));
    let last = ended.last_line.map_or(String::new(), |line| format!(": {line}"));
    match ended.ending {
        Ending::Exited(0) => Ok(ended.answer),
        Ending::Exited(code) => {
            silent(FinishOutcome::Failed, format!("the program exited with status {code}{last}"))
        }
        Ending::Signalled(signal) => silent(
            FinishOutcome::Failed,
            format!("the program was killed by signal {signal}{last}"),
        ),
        Ending::Deadline => silent(FinishOutcome::TimedOut, "the executor timed out".to_owned()),
        Ending::Aborted => {
            silent(FinishOutcome::Cancelled, "the executor was asked to stop".to_owned())
        }
        Ending::Flooded => {
            let error = format!("the response is longer than {EXECUTOR_ANSWER_MAX_BYTES} bytes");
            silent(FinishOutcome::Failed, error)
        }
    }
}

impl Speak for CommandExecutor {
    const NAME: &'static str = "command";

    fn target(&self) -> String {
        self.program.path.display().to_string()
    }

    fn call<'a>(
        &'a self,
        call: &'a ExecutorCall<'a>,
        leash: &'a Leash,
    ) -> Doing<'a, Result<Vec<u8>, Silence>> {
        Box::pin(self.run(call, leash))
    }
}
