//! The input, the limits and the result of an executor that applies a change. Unless the target is
//! known to be unchanged, its state is reported as unknown: only the executor itself can be more
//! specific.

use std::fmt;
use std::pin::Pin;

use ade_api::claims::FencedResource;
use ade_api::executions::{FinishOutcome, Stream};
use ade_core::change::{Digest, StrictValue};
use ade_core::ids::{ExecutionId, TaskId};
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

/// One attempt to apply a change, as the permit allows it.
#[derive(Debug, Clone, PartialEq)]
pub struct PermittedAttempt {
    pub task: TaskId,
    pub execution: ExecutionId,
    pub revision: u32,
    /// The digest of the approved content.
    pub digest: Digest,
    pub task_type: String,
    pub parameters: StrictValue,
    pub resources: Vec<FencedResource>,
    /// The signed receipt, which the target can check.
    pub receipt: String,
}

/// How long a verb may take, how it is asked to stop earlier, and where its output goes.
#[derive(Debug, Clone)]
pub struct Leash {
    pub deadline: Instant,
    /// Set to `true` when the verb must stop.
    pub abort: watch::Receiver<bool>,
    /// Receives the log lines. A closed receiver does not block the program; a slow one does.
    pub lines: mpsc::Sender<OutputLine>,
}

impl Leash {
    /// Resolves when the verb must stop, and never if the sender was dropped.
    pub(super) async fn aborted(&self) {
        let mut abort = self.abort.clone();
        if abort.wait_for(|is_aborted| *is_aborted).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputLine {
    pub stream: Stream,
    pub text: String,
}

/// The data that a later rollback needs.
#[derive(Debug, Clone, PartialEq)]
pub struct Stash(pub Value);

/// The state of the target after a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Left {
    Nothing,
    RolledBack,
    Changed,
    /// The state is unknown: a person has to check.
    Unknown,
}

/// How an apply or a rollback ended.
#[derive(Debug, Clone, PartialEq)]
pub enum ExecutorOutcome {
    Success { details: Option<Value> },
    Failure { kind: FinishOutcome, error: String, left: Left, details: Option<Value> },
}

/// Stashing failed; nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unstashed {
    pub kind: FinishOutcome,
    pub error: String,
}

pub type Doing<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// An executor with which the server itself applies changes. Dropping a verb ends it at once and
/// leaves no process running.
pub trait Applies: fmt::Debug + Send + Sync {
    /// Returns the audience of receipts, or `None` for the installation itself.
    fn audience(&self) -> Option<&str>;

    /// Saves what a rollback needs, without any other lasting effect.
    fn stash<'a>(
        &'a self,
        work: &'a PermittedAttempt,
        leash: &'a Leash,
    ) -> Doing<'a, Result<Stash, Unstashed>>;

    fn apply<'a>(
        &'a self,
        work: &'a PermittedAttempt,
        leash: &'a Leash,
    ) -> Doing<'a, ExecutorOutcome>;

    fn roll_back<'a>(
        &'a self,
        work: &'a PermittedAttempt,
        stash: &'a Stash,
        leash: &'a Leash,
    ) -> Doing<'a, ExecutorOutcome>;
}
