//! What an executor is given to apply, on which leash, and what it says afterwards. Whatever is
//! not known to be as it was is told as unknown: only the executor itself can say more.

use std::fmt;
use std::pin::Pin;

use ade_api::executions::{FailureKind, FencedResource, Stream};
use ade_core::change::{Digest, StrictValue};
use ade_core::ids::{ExecutionId, TaskId};
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

/// One attempt, as the permit allows it.
#[derive(Debug, Clone, PartialEq)]
pub struct Work {
    pub task: TaskId,
    pub execution: ExecutionId,
    pub revision: u32,
    /// Of the content that people agreed to.
    pub digest: Digest,
    pub task_type: String,
    pub parameters: StrictValue,
    pub resources: Vec<FencedResource>,
    /// Signed, for whatever is changed to check.
    pub receipt: String,
}

/// How long a verb may take, how it is told to stop before, and where its words go.
#[derive(Debug, Clone)]
pub struct Leash {
    pub deadline: Instant,
    /// True from the moment it is to stop.
    pub abort: watch::Receiver<bool>,
    /// Whoever does not listen holds nothing up; whoever listens slowly does.
    pub lines: mpsc::Sender<Line>,
}

impl Leash {
    /// Ends when the verb is to stop; never, if nobody can say so any more.
    pub(super) async fn aborted(&self) {
        let mut abort = self.abort.clone();
        if abort.wait_for(|is_aborted| *is_aborted).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    pub stream: Stream,
    pub text: String,
}

/// What a verb needs later to take back what it did.
#[derive(Debug, Clone, PartialEq)]
pub struct Stash(pub Value);

/// What is left of something that went wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Left {
    Nothing,
    RolledBack,
    Changed,
    /// Nobody can say: somebody has to look.
    Unknown,
}

/// How an apply or a rollback ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    Success { details: Option<Value> },
    Failure { kind: FailureKind, error: String, left: Left, details: Option<Value> },
}

/// Nothing was stashed, and nothing changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unstashed {
    pub kind: FailureKind,
    pub error: String,
}

pub type Doing<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// An executor that the server itself can have applied. Dropping a verb ends it at once and leaves
/// nothing running.
pub trait Applies: fmt::Debug + Send + Sync {
    /// Whom receipts are for; the installation itself if nobody is named.
    fn audience(&self) -> Option<&str>;

    /// Saves what a rollback needs; without any other effect that lasts.
    fn stash<'a>(&'a self, work: &'a Work, leash: &'a Leash)
    -> Doing<'a, Result<Stash, Unstashed>>;

    fn apply<'a>(&'a self, work: &'a Work, leash: &'a Leash) -> Doing<'a, Outcome>;

    fn roll_back<'a>(
        &'a self,
        work: &'a Work,
        stash: &'a Stash,
        leash: &'a Leash,
    ) -> Doing<'a, Outcome>;
}
