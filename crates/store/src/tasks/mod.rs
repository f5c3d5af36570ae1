//! Tasks: a new one, one as the rules take it, and what a decision makes of it. The rows written
//! are the difference between the task as it was and as `Task::after` says it is, so that reading
//! it back gives exactly that.

mod asides;
mod list;
mod load;
mod parts;
mod recent;
mod replay;
pub(crate) mod rows;
mod versions;
mod view;
mod write;

pub use list::{Filter, Page, Summary, list};
pub use load::{Gathered, Label, gather, load, peek};
pub use recent::{Recent, measured, recent};
pub use replay::{Replayed, replay};
pub use versions::versions;
pub use view::{Comment, Revision, RevisionHead, View, comments, revision, revisions, risk, view};

use std::collections::BTreeMap;

use ade_core::audit::{Kind, Leaf, What, Where, Who, Why};
use ade_core::change::{Effect, PreviewVersions, StrictValue};
use ade_core::ids::TaskId;
use ade_core::resource::ResourceRef;
use ade_core::risk::Assessment;
use ade_core::task::{CommandKind, Decision, Rollback, State, Task, To};
use serde_json::json;

use self::write::Batch;
use crate::audit::LeafId;
use crate::due::Due;
use crate::error::Error;
use crate::idempotency::Kept;
use crate::tx::Tx;

/// What people see of a task and no rule asks about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heading {
    pub title: String,
    pub priority: u8,
    pub team: Option<String>,
    pub ticket: Option<String>,
    /// The ended task that this one takes up again.
    pub resubmits: Option<TaskId>,
    /// From begin on.
    pub timeout_seconds: u32,
    pub rollback: Rollback,
}

/// The whole of a revision, of which the rules see digest and subject.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Body {
    pub parameters: StrictValue,
    pub effect: Effect,
    pub versions: PreviewVersions,
    /// The lock mode of each resource that names one.
    pub modes: BTreeMap<ResourceRef, String>,
    /// How the revision was rated: its score and level are those that the rules see.
    pub risk: Assessment,
}

/// Where a command came from and why, for its leaf.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cause {
    pub command: CommandKind,
    pub place: Where,
    pub why: Why,
    /// The id its leaf is to have, if the caller was told before it is written.
    pub receipt: Option<LeafId>,
}

/// What a commit leaves for the caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Committed {
    /// `None` once the task is deleted.
    pub task: Option<Task>,
    pub leaf: LeafId,
}

/// What goes into the same statement besides the decision, for workers and for retries.
#[derive(Debug, Clone, Copy, Default)]
pub struct Beside<'a> {
    pub dues: &'a [Due],
    /// Kinds of due work that this settles for the task, unless `dues` names them anew.
    pub done: &'a [&'static str],
    pub answer: Option<Kept<'a>>,
}

/// A task that `create` has allowed. Answers its number, which is the tenant's next.
pub async fn insert(
    tx: &mut Tx,
    task: &Task,
    decision: &Decision,
    heading: &Heading,
    body: &Body,
    cause: Cause,
    beside: &Beside<'_>,
) -> Result<(i64, LeafId), Error> {
    let mut batch = Batch::default();
    batch.insert(task, heading)?;
    batch.revise(task, None, body)?;
    batch.keep_beside(task, beside)?;
    tell(&mut batch, tx, None, task, decision, cause)?;
    let written = batch.write(tx, &task.id).await?;
    match (written.numbers.first(), written.leaves.first()) {
        (Some(number), Some(leaf)) => Ok((*number, *leaf)),
        _ => Err(Error::Unaudited),
    }
}

/// Everything the decision asks for, in one statement, or nothing: no row is touched unless the
/// task is still in the state and version that the decision was made on. `body` is needed when
/// there is a new revision.
pub async fn commit_decision(
    tx: &mut Tx,
    task: &Task,
    decision: &Decision,
    body: Option<&Body>,
    cause: Cause,
    beside: &Beside<'_>,
) -> Result<Committed, Error> {
    let next = task.after(decision, tx.now());
    let mut batch = Batch::default();
    match &next {
        None => batch.remove(task)?,
        Some(next) => {
            batch.update(task, next, decision)?;
            asides::difference(&mut batch, task, next, decision, body)?;
            asides::kept_beside(&mut batch.parts, next, decision, tx.actor())?;
        }
    }
    batch.keep_beside(task, beside)?;
    let last = next.as_ref().unwrap_or(task);
    tell(&mut batch, tx, Some(task.state), last, decision, cause)?;
    let written = batch.write(tx, &task.id).await?;
    let leaf = written.leaves.first().copied().ok_or(Error::Unaudited)?;
    Ok(Committed { task: next, leaf })
}

fn tell(
    batch: &mut Batch,
    tx: &Tx,
    from: Option<State>,
    task: &Task,
    decision: &Decision,
    cause: Cause,
) -> Result<(), Error> {
    let to = match decision.to {
        To::State(state) => Some(state),
        To::NewDraft => from,
        To::Gone => None,
    };
    let name = |state: State| state.as_str().to_owned();
    let what = What {
        object: task.id.to_string(),
        action: format!("task.{}", cause.command),
        from: from.map(name),
        to: to.map(name),
        revision: Some(task.revision),
        digest: Some(task.content.digest),
    };
    let payload = json!({
        "from": from.map(State::as_str),
        "to": to.map(State::as_str),
        "revision": task.revision,
        "told": asides::told(decision),
    });
    let who = Who::from(tx.actor());
    let leaf = Leaf::new(tx.tenant(), Kind::Change, who, what, tx.now(), cause.place, cause.why);
    batch.leaves.add(task.id.uuid(), cause.receipt, &leaf)?;
    for kind in &decision.events {
        let event = write::event(*kind, task, payload.clone())?;
        batch.events.add(task.id.uuid(), &event);
    }
    Ok(())
}
