//! Many answers at once: each item is decided by the same rule as alone, and the batch is
//! written whole or not at all. What a person cannot have looked at one by one is refused:
//! CRITICAL never, HIGH only if every item is the same change.

use std::collections::BTreeSet;

use thiserror::Error;

use super::{Answer, Seen};
use crate::ids::TaskId;
use crate::limits::BATCH_ITEMS_MAX;
use crate::risk::Level;
use crate::task::{Command, Decision, Facts, Refusal, State, Task, To, Write, decide};
use crate::time::Timestamp;

/// One task of a batch, with what the reviewer had on screen.
#[derive(Debug, Clone, Copy)]
pub struct Item<'a> {
    pub task: &'a Task,
    pub facts: &'a Facts<'a>,
    pub seen: Seen,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    pub answer: Answer,
    pub reason: Option<String>,
    /// To the front of the apply queue; locks and permit are still needed.
    pub apply_immediately: bool,
    /// Known only to be refused by name.
    pub skip_validation: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum BatchRefusal {
    #[error("permission, digest and drift checks cannot be skipped: leave skip_validation out")]
    SkipValidation,
    #[error("a batch has 1 to {BATCH_ITEMS_MAX} items, this one has {items}")]
    Size { items: usize },
    #[error("a batch approves or rejects; changes are requested one by one")]
    Answer,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ItemRefusal {
    #[error("the task is in the batch twice")]
    Twice,
    #[error("its risk is CRITICAL: decide it alone")]
    Critical,
    #[error(
        "its risk is HIGH and the batch holds other changes: decide it alone, or with its like"
    )]
    HighAmongOthers,
    #[error(transparent)]
    Refused(#[from] Refusal),
}

/// The verdict on every item, in the order they came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preflight {
    pub verdicts: Vec<(TaskId, Result<Decision, ItemRefusal>)>,
}

impl Preflight {
    /// The decisions, if the batch may be written.
    pub fn all(&self) -> Option<Vec<(TaskId, &Decision)>> {
        self.verdicts
            .iter()
            .map(|(task, verdict)| verdict.as_ref().ok().map(|decision| (*task, decision)))
            .collect()
    }
}

pub fn preflight(
    items: &[Item<'_>],
    order: &Order,
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
    let shapes: BTreeSet<_> = items.iter().map(|item| item.task.content.shape).collect();
    let is_uniform = shapes.len() == 1;
    let mut met = BTreeSet::new();
    let verdicts = items
        .iter()
        .map(|item| {
            let is_first = met.insert(item.task.id);
            let verdict = if is_first {
                judge(item, order, is_uniform, now)
            } else {
                Err(ItemRefusal::Twice)
            };
            (item.task.id, verdict)
        })
        .collect();
    Ok(Preflight { verdicts })
}

fn judge(
    item: &Item<'_>,
    order: &Order,
    is_uniform: bool,
    now: Timestamp,
) -> Result<Decision, ItemRefusal> {
    match item.task.content.level {
        Level::Critical => return Err(ItemRefusal::Critical),
        Level::High if !is_uniform => return Err(ItemRefusal::HighAmongOthers),
        Level::Low | Level::Medium | Level::High => {}
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
