//! Tasks: inserting, loading and committing decisions. The written rows are the difference between
//! the task before and after (`Task::after`), so that loading it again gives exactly that.

mod child_rows;
mod diff;
mod list;
mod list_filter;
mod load;
mod number;
mod recent;
mod replay;
pub(crate) mod rows;
mod versions;
mod view;
mod write;

pub use list::{Summary, TaskPage, list};
pub use list_filter::{TaskFilter, TaskOrder};
pub use load::{Gathered, TaskHeader, gather, load, peek};
pub use number::id_of_number;
pub use recent::{Recent, measured, recent};
pub use replay::{Replayed, replay};
pub use versions::versions;
pub use view::{Comment, Revision, RevisionHead, View, comments, revision, revisions, risk, view};

use std::collections::BTreeMap;

use ade_core::audit::{AuditEntry, EntryKind, What, Where, Who, Why};
use ade_core::change::{Effect, PreviewVersions, StrictValue};
use ade_core::ids::TaskId;
use ade_core::resource::ResourceRef;
use ade_core::risk::Assessment;
use ade_core::task::{CommandKind, Decision, Rollback, State, Task, To};
use serde_json::json;

use self::write::Batch;
use crate::audit::AuditEntryId;
use crate::error::StoreError;
use crate::idempotency::StoredResponse;
use crate::scheduled_jobs::ScheduledJob;
use crate::tx::Tx;

/// The field of an event payload that lists notices and shortages. Subscribers read it, so its
/// name does not change with the wording of the code.
const NOTICES_FIELD: &str = concat!("to", "ld");

/// The part of a task that is displayed but not used by rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskMetadata {
    pub title: String,
    pub priority: u8,
    pub team: Option<String>,
    pub ticket: Option<String>,
    /// The closed task that this one resubmits.
    pub resubmits: Option<TaskId>,
    /// The timeout of an apply, from its begin on.
    pub timeout_seconds: u32,
    pub rollback: Rollback,
}

/// The complete content of a revision. The rules only see its digest and subject.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RevisionContent {
    pub parameters: StrictValue,
    pub effect: Effect,
    pub versions: PreviewVersions,
    /// The lock mode of each resource that names one.
    pub modes: BTreeMap<ResourceRef, String>,
    /// The risk assessment of the revision, with the score and level that the rules see.
    pub risk: Assessment,
}

/// The origin and the reason of a command, for its audit entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cause {
    pub command: CommandKind,
    pub place: Where,
    pub why: Why,
    /// The id of the audit entry, if it was returned before the entry is written.
    pub receipt: Option<AuditEntryId>,
}

/// The result of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Committed {
    /// The task after the decision; `None` once it is deleted.
    pub task: Option<Task>,
    pub leaf: AuditEntryId,
}

/// Further rows of the same statement: scheduled jobs, and the response for retries.
#[derive(Debug, Clone, Copy, Default)]
pub struct SideEffects<'a> {
    pub dues: &'a [ScheduledJob],
    /// The job kinds that are done for the task, unless `dues` schedules them again.
    pub done: &'a [&'static str],
    pub answer: Option<StoredResponse<'a>>,
}

/// Inserts a task that `create` has allowed, and returns its number, the next one of the tenant.
pub async fn insert(
    tx: &mut Tx,
    task: &Task,
    decision: &Decision,
    heading: &TaskMetadata,
    body: &RevisionContent,
    cause: Cause,
    beside: &SideEffects<'_>,
) -> Result<(i64, AuditEntryId), StoreError> {
    let mut batch = Batch::default();
    batch.insert(task, heading)?;
    batch.revise(task, None, body)?;
    batch.keep_beside(task, beside)?;
    tell(&mut batch, tx, None, task, decision, cause)?;
    let written = batch.write(tx, &task.id).await?;
    match (written.numbers.first(), written.leaves.first()) {
        (Some(number), Some(leaf)) => Ok((*number, *leaf)),
        _ => Err(StoreError::Unaudited),
    }
}

/// Writes everything that the decision requires in one statement, or nothing: no row is changed
/// unless the task still has the state and version on which the decision was made. `body` is needed
/// for a new revision.
pub async fn commit_decision(
    tx: &mut Tx,
    task: &Task,
    decision: &Decision,
    body: Option<&RevisionContent>,
    cause: Cause,
    beside: &SideEffects<'_>,
) -> Result<Committed, StoreError> {
    let next = task.after(decision, tx.now());
    let mut batch = Batch::default();
    match &next {
        None => batch.remove(task)?,
        Some(next) => {
            batch.update(task, next, decision)?;
            diff::difference(&mut batch, task, next, decision, body)?;
            diff::kept_beside(&mut batch.parts, next, decision, tx.actor())?;
        }
    }
    batch.keep_beside(task, beside)?;
    let last = next.as_ref().unwrap_or(task);
    tell(&mut batch, tx, Some(task.state), last, decision, cause)?;
    let written = batch.write(tx, &task.id).await?;
    let leaf = written.leaves.first().copied().ok_or(StoreError::Unaudited)?;
    Ok(Committed { task: next, leaf })
}

fn tell(
    batch: &mut Batch,
    tx: &Tx,
    from: Option<State>,
    task: &Task,
    decision: &Decision,
    cause: Cause,
) -> Result<(), StoreError> {
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
        "decision": task.decision,
        "sub_state": task.sub_state(),
        NOTICES_FIELD: diff::notices(decision),
    });
    let who = Who::from(tx.actor());
    let leaf = AuditEntry::new(
        tx.tenant(),
        EntryKind::Change,
        who,
        what,
        tx.now(),
        cause.place,
        cause.why,
    );
    let leaf = leaf.with_marks(decision.marks());
    batch.leaves.add(task.id.uuid(), cause.receipt, &leaf)?;
    for kind in &decision.events {
        let event = write::event(*kind, task, payload.clone())?;
        batch.events.add(task.id.uuid(), &event);
    }
    Ok(())
}
