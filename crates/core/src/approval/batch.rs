//! Decisions on many tasks at once. Each item is decided by the same rules as a single decision,
//! and the batch is written completely or not at all. All items are the same change to different
//! resources, so that a person can review them together; CRITICAL tasks are decided separately.

use std::collections::BTreeSet;

use thiserror::Error;

use super::{Answer, Seen};
use crate::ids::TaskId;
use crate::limits::BATCH_ITEMS_MAX;
use crate::risk::{Level, Thresholds};
use crate::task::{Command, Decision, Facts, Refusal, State, Task, To, Write, decide};
use crate::time::Timestamp;

/// One task of a batch, with the revision and digest that the reviewer had on screen.
#[derive(Debug, Clone, Copy)]
pub struct BatchTask<'a> {
    pub task: &'a Task,
    pub facts: &'a Facts<'a>,
    pub seen: Seen,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BatchOrder {
    pub answer: Answer,
    pub reason: Option<String>,
    /// Moves the approved tasks to the front of the apply queue. Locks and a permit are still
    /// needed.
    pub apply_immediately: bool,
    /// Always refused. The field exists so that the refusal can name it.
    pub skip_validation: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum BatchRefusal {
    #[error("permission, digest and drift checks cannot be skipped: remove skip_validation")]
    SkipValidation,
    #[error("a batch must have 1 to {BATCH_ITEMS_MAX} items, got {items}")]
    Size { items: usize },
    #[error("a batch can only approve or reject: request changes for each task separately")]
    Answer,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ItemRefusal {
    #[error("the task is listed twice in the batch")]
    Twice,
    #[error("the task's risk is CRITICAL: decide it separately")]
    Critical,
    #[error(
        "the task makes another change than the first item of the batch: decide it in another \
         batch; the items of a batch have the same `shape`"
    )]
    OtherShape,
    #[error(transparent)]
    Refused(#[from] Refusal),
}

/// The verdict on every item, in the order of the request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preflight {
    pub verdicts: Vec<(TaskId, Result<Decision, ItemRefusal>)>,
}

impl Preflight {
    /// Returns the decisions if the whole batch may be written.
    pub fn all(&self) -> Option<Vec<(TaskId, &Decision)>> {
        self.verdicts
            .iter()
            .map(|(task, verdict)| verdict.as_ref().ok().map(|decision| (*task, decision)))
            .collect()
    }
}

/// Judges every item. Levels are at least those of the thresholds of the installation.
pub fn preflight(
    items: &[BatchTask<'_>],
    order: &BatchOrder,
    installation: Thresholds,
    now: Timestamp,
) -> Result<Preflight, BatchRefusal> {
    if order.skip_validation {
        return Err(BatchRefusal::SkipValidation);
    }
    if items.is_empty() || items.len() > BATCH_ITEMS_MAX {
        return Err(BatchRefusal::Size { items: items.len() });
    }
    match order.answer {
        Answer::Approve | Answer::Reject => {}
        Answer::RequestChanges => return Err(BatchRefusal::Answer),
    }
    // A task that has changed since the look is refused as such and says nothing about the others.
    let is_current = |item: &&BatchTask<'_>| item.seen.digest == item.task.content.digest;
    let shape = items.iter().find(is_current).map(|item| item.task.content.shape);
    let mut met = BTreeSet::new();
    let verdicts = items
        .iter()
        .map(|item| {
            let is_first = met.insert(item.task.id);
            let verdict = if is_first {
                judge(item, order, installation, now).and_then(|decision| {
                    let is_same = Some(item.task.content.shape) == shape;
                    if is_same { Ok(decision) } else { Err(ItemRefusal::OtherShape) }
                })
            } else {
                Err(ItemRefusal::Twice)
            };
            (item.task.id, verdict)
        })
        .collect();
    Ok(Preflight { verdicts })
}

fn judge(
    item: &BatchTask<'_>,
    order: &BatchOrder,
    installation: Thresholds,
    now: Timestamp,
) -> Result<Decision, ItemRefusal> {
    if item.task.content.level_at_least(installation) == Level::Critical {
        return Err(ItemRefusal::Critical);
    }
    let vote =
        Command::Vote { answer: order.answer, seen: item.seen, reason: order.reason.clone() };
    let mut decision = decide(item.task, &vote, item.facts, now)?;
    let is_approved =
        decision.to == To::State(State::Approved) && decision.from != Some(State::Approved);
    if order.apply_immediately && is_approved {
        decision.writes.push(Write::FrontOfQueue);
    }
    Ok(decision)
}

#[cfg(test)]
#[path = "batch_tests.rs"]
mod tests;
