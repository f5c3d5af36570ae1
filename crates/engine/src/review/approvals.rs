//! A reviewer's queue and votes. A vote is made by the calling person on a task, and covers exactly
//! the revision and digest they name.

use ade_api::approvals::{Approval, NewVote, Voted};
use ade_core::approval::{Answer, ApprovalStatus, Seen};
use ade_core::audit::Why;
use ade_core::ids::{ApprovalId, LeafId, TaskId};
use ade_core::step_up::ConfirmationSubject;
use ade_core::task::{Command, Decision, Write};
use ade_core::time::Timestamp;
use ade_store::approvals::{self, ApprovalRequest, Cursor, QueuePlace};
use serde::{Deserialize, Serialize};

use crate::app::App;
use crate::caller::{Caller, IdempotentRequest};
use crate::command::permission::{look, person};
use crate::command::present;
use crate::command::run::carry_out;
use crate::command::task_command::{TaskCommand, TaskTarget};
use crate::command::{Paged, Reply, Span};
use crate::error::Error;
use crate::read_models;

/// The position at which a page of the queue ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueKey {
    as_of: Timestamp,
    due_at: Option<Timestamp>,
    score: Option<u32>,
    id: ApprovalId,
}

impl QueueKey {
    fn of(cursor: &Cursor) -> Self {
        let as_of = cursor.as_of;
        match cursor.place {
            QueuePlace::Overdue { due_at, id } => {
                Self { as_of, due_at: Some(due_at), score: None, id }
            }
            QueuePlace::Ahead { score, id } => Self { as_of, due_at: None, score: Some(score), id },
        }
    }

    fn cursor(&self) -> Result<Cursor, Error> {
        let place = match (self.due_at, self.score) {
            (Some(due_at), None) => QueuePlace::Overdue { due_at, id: self.id },
            (None, Some(score)) => QueuePlace::Ahead { score, id: self.id },
            _ => return Err(Error::invalid("page_token", "must be a value of this list")),
        };
        Ok(Cursor { as_of: self.as_of, place })
    }
}

/// A page of a queue, and its version for the caller.
#[derive(Debug)]
pub struct Inbox {
    pub page: Paged<Approval, QueueKey>,
    /// The number of the last event that the page is certain to include; `None` if unknown.
    pub version: Option<u64>,
}

/// Returns the caller's open requests: overdue first, then by score; by score alone if too many are
/// overdue. A caller that knows a version gets that one or a newer one, from a read model if
/// available.
pub async fn inbox(
    app: &App,
    caller: &Caller,
    span: Span<QueueKey>,
    since: Option<u64>,
) -> Result<Inbox, Error> {
    let reviewer = person(caller)?;
    let after = span.after.map(|key| key.cursor()).transpose()?;
    if let Some(since) = since
        && let Some(found) =
            read_models::inbox(app, caller, reviewer, after, span.limit, since).await?
    {
        let next = found.next.map(|cursor| QueueKey::of(&cursor));
        let page = Paged { items: found.items, next };
        return Ok(Inbox { page, version: Some(found.version) });
    }
    let mut tx = look(app, caller).await?;
    let (found, next) = approvals::inbox(&mut tx, reviewer, after, span.limit).await?;
    // The version is read after the page, so that nothing in the page is newer.
    let version = match since {
        Some(_) => ade_store::models::settled(&mut tx).await?,
        None => None,
    };
    let now = tx.now();
    let next = next.map(|cursor| QueueKey::of(&cursor));
    Ok(Inbox { page: Paged { items: shown(found, now)?, next }, version })
}

/// Returns the caller's past requests, by outcome.
pub async fn ended(
    app: &App,
    caller: &Caller,
    status: ApprovalStatus,
    span: Span<ApprovalId>,
) -> Result<Paged<Approval, ApprovalId>, Error> {
    let reviewer = person(caller)?;
    let mut tx = look(app, caller).await?;
    let limit = span.limit.saturating_add(1);
    let found = approvals::ended(&mut tx, reviewer, status, span.after, limit).await?;
    let items = shown(found, tx.now())?;
    Ok(crate::command::paged(items, span.limit, |approval: &Approval| approval.id))
}

pub async fn get(app: &App, caller: &Caller, id: ApprovalId) -> Result<Approval, Error> {
    let mut tx = look(app, caller).await?;
    let request = find(app, caller, &mut tx, id).await?;
    present::request(request, tx.now())
}

/// Votes on a task. The vote covers exactly the revision and digest that the reviewer names.
pub async fn vote(
    app: &App,
    caller: &Caller,
    attempt: &IdempotentRequest,
    task: TaskId,
    answer: Answer,
    vote: NewVote,
) -> Result<Reply, Error> {
    let NewVote { revision, digest, reason } = vote;
    let reason = reason.filter(|reason| !reason.trim().is_empty());
    let seen = Seen { revision, digest };
    let command = Command::Vote { answer, seen, reason: reason.clone() };
    let target = TaskTarget { task, expected: None };
    let work = TaskCommand::begin(app, caller, attempt, target).await?;
    let (work, decision) = work.decide_or_refuse(&command).await?;
    let subject = ConfirmationSubject::answering(answer, [&work.task], app.books.base().thresholds);
    let (work, decision) = work.confirmed(&command, decision, subject).await?;
    let (label, now) = (work.label.clone(), work.now());
    let why = Why { reason, ticket: None };
    let is_effectual = counts(&decision);
    work.finish(&command, &decision, None, why, |next, receipt| {
        let task = next.ok_or(Error::NotFound { what: "task" })?;
        let voted = Voted {
            answer,
            counted: is_effectual,
            state: task.state,
            receipt: LeafId::from_uuid(receipt.0).to_string(),
            task: present::decided(app, &label, task, now),
            next_action: present::next_action(task.id, task.state, task.sub_state()),
        };
        Ok((200, voted))
    })
    .await
}

/// Withdraws the caller's own latest decision, until the apply starts. An approval that does not
/// hold without it returns to review.
pub async fn withdraw(
    app: &App,
    caller: &Caller,
    attempt: &IdempotentRequest,
    id: ApprovalId,
) -> Result<Reply, Error> {
    let work = begin(app, caller, attempt, id).await?;
    carry_out(work, Command::WithdrawVote, Why::default(), |_| 200).await
}

fn counts(decision: &Decision) -> bool {
    decision.writes.iter().any(|write| matches!(write, Write::Record(vote) if vote.effectual))
}

/// Begins a command on the task of a request, with the task locked. A request that was answered,
/// superseded or handed over still leads to its task: the rules decide whether the caller may
/// answer.
pub(crate) async fn begin<'a>(
    app: &'a App,
    caller: &'a Caller,
    attempt: &'a IdempotentRequest,
    id: ApprovalId,
) -> Result<Box<TaskCommand<'a>>, Error> {
    let missing = Error::NotFound { what: "approval" };
    if person(caller).is_err() {
        return Err(missing);
    }
    match TaskCommand::begin_of(app, caller, attempt, id).await {
        // A caller who may not know of the task learns nothing of the request either.
        Err(Error::NotFound { .. }) => Err(missing),
        begun => begun,
    }
}

/// Finds a request. People see every request of the tenant, as they see every task; agents see
/// none.
async fn find(
    app: &App,
    caller: &Caller,
    tx: &mut ade_store::Tx,
    id: ApprovalId,
) -> Result<ApprovalRequest, Error> {
    let missing = Error::NotFound { what: "approval" };
    if person(caller).is_err() {
        return Err(missing);
    }
    let book = app.books.current(tx).await?;
    if !caller.actor.human().is_some_and(|human| book.directory.is_active(human)) {
        return Err(missing);
    }
    approvals::get(tx, id).await?.ok_or(missing)
}

fn shown(found: Vec<ApprovalRequest>, now: Timestamp) -> Result<Vec<Approval>, Error> {
    found.into_iter().map(|request| present::request(request, now)).collect()
}
