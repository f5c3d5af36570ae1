//! Tasks: a new one, one as the rules take it, and what a decision makes of it. The rows written
//! are the difference between the task as it was and as `Task::after` says it is, so that reading
//! it back gives exactly that. Lists and searches are not here.

mod asides;
mod load;
mod rows;
mod write;

pub use load::load;

use std::collections::BTreeMap;

use ade_core::audit::{Kind, Leaf, What, Where, Who, Why};
use ade_core::change::{Effect, PreviewVersions, StrictValue};
use ade_core::event::EventKind;
use ade_core::ids::TaskId;
use ade_core::resource::ResourceRef;
use ade_core::task::{CommandKind, Decision, State, Task, To};
use serde_json::{Value, json};

use crate::audit::{self, LeafId};
use crate::error::Error;
use crate::outbox::{self, Event};
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
}

/// The whole of a revision, of which the rules see digest and subject.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Body {
    pub parameters: StrictValue,
    pub effect: Effect,
    pub versions: PreviewVersions,
    /// The lock mode of each resource that names one.
    pub modes: BTreeMap<ResourceRef, String>,
}

/// Where a command came from and why, for its leaf.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cause {
    pub command: CommandKind,
    pub place: Where,
    pub why: Why,
}

/// What a commit leaves for the caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Committed {
    /// `None` once the task is deleted.
    pub task: Option<Task>,
    pub leaf: LeafId,
}

/// A task that `create` has allowed. Answers its number, which is the tenant's next.
pub async fn insert(
    tx: &mut Tx,
    task: &Task,
    decision: &Decision,
    heading: &Heading,
    body: &Body,
    cause: Cause,
) -> Result<(i64, LeafId), Error> {
    let number = write::task(tx, task, heading).await?;
    write::revision(tx, task, None, body).await?;
    let leaf = tell(tx, None, task, decision, cause).await?;
    Ok((number, leaf))
}

/// Everything the decision asks for, or nothing: the row is only touched while it is still in the
/// state and version that the decision was made on. `body` is needed when there is a new revision.
pub async fn commit_decision(
    tx: &mut Tx,
    task: &Task,
    decision: &Decision,
    body: Option<&Body>,
    cause: Cause,
) -> Result<Committed, Error> {
    let next = task.after(decision, tx.now());
    match &next {
        None => write::delete_if_unchanged(tx, task).await?,
        Some(next) => {
            write::update_if_unchanged(tx, task, next, decision).await?;
            write::difference(tx, task, next, decision, body).await?;
            asides::kept_beside(tx, next, decision).await?;
        }
    }
    let leaf = tell(tx, Some(task.state), next.as_ref().unwrap_or(task), decision, cause).await?;
    Ok(Committed { task: next, leaf })
}

async fn tell(
    tx: &mut Tx,
    from: Option<State>,
    task: &Task,
    decision: &Decision,
    cause: Cause,
) -> Result<LeafId, Error> {
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
    let events = decision
        .events
        .iter()
        .map(|kind| event(*kind, task, payload.clone()))
        .collect::<Result<Vec<Event>, Error>>()?;
    outbox::append(tx, &events).await?;
    let ids = audit::append(tx, &[leaf]).await?;
    ids.into_iter().next().ok_or(Error::Unaudited)
}

fn event(kind: EventKind, task: &Task, payload: Value) -> Result<Event, Error> {
    let version = Some(rows::integer("version", task.version)?);
    Ok(Event { kind, object: task.id.to_string(), version, payload })
}
