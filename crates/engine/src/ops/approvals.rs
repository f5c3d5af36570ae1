//! A reviewer's queue and answers. The path names a request; the answer is given to its task, by
//! the person who calls, on exactly the revision and digest they name.

use ade_api::approvals::{Approval, NewVote, Voted};
use ade_core::approval::{Answer, Seen, Status};
use ade_core::audit::Why;
use ade_core::ids::{ApprovalId, LeafId};
use ade_core::step_up::Subject;
use ade_core::task::{Command, Decision, Write};
use ade_core::time::Timestamp;
use ade_store::approvals::{self, Cursor, QueuePlace, Request};
use serde::{Deserialize, Serialize};

use super::act::{look, person};
use super::command::carry_out;
use super::decision::{Begun, Work};
use super::{Paged, Reply, Span};
use crate::app::App;
use crate::caller::{Attempt, Caller};
use crate::error::Error;
use crate::{models, present};

/// Where a page of the queue ended.
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
            _ => return Err(Error::invalid("page_token", "not one of this list")),
        };
        Ok(Cursor { as_of: self.as_of, place })
    }
}

/// A page of a queue, and how new it is for whoever asked.
#[derive(Debug)]
pub struct Inbox {
    pub page: Paged<Approval, QueueKey>,
    /// The number of the last event that it has seen for certain; nothing if nobody can say.
    pub version: Option<u64>,
}

/// What waits for the caller: overdue first, then by score; by score alone where too much is
/// overdue. Whoever knows a version gets that one or a newer one, from a model if one has it.
pub async fn inbox(
    app: &App,
    caller: &Caller,
    span: Span<QueueKey>,
    since: Option<u64>,
) -> Result<Inbox, Error> {
    let reviewer = person(caller)?;
    let after = span.after.map(|key| key.cursor()).transpose()?;
    if let Some(since) = since
        && let Some(found) = models::inbox(app, caller, reviewer, after, span.limit, since).await?
    {
        let next = found.next.map(|cursor| QueueKey::of(&cursor));
        let page = Paged { items: found.items, next };
        return Ok(Inbox { page, version: Some(found.version) });
    }
    let mut tx = look(app, caller).await?;
    let (found, next) = approvals::inbox(&mut tx, reviewer, after, span.limit).await?;
    // After what was read, so that nothing in it is newer than this.
    let version = match since {
        Some(_) => ade_store::models::settled(&mut tx).await?,
        None => None,
    };
    let now = tx.now();
    let next = next.map(|cursor| QueueKey::of(&cursor));
    Ok(Inbox { page: Paged { items: shown(found, now)?, next }, version })
}

/// What the caller was asked before, by how it ended.
pub async fn ended(
    app: &App,
    caller: &Caller,
    status: Status,
    span: Span<ApprovalId>,
) -> Result<Paged<Approval, ApprovalId>, Error> {
    let reviewer = person(caller)?;
    let mut tx = look(app, caller).await?;
    let limit = span.limit.saturating_add(1);
    let found = approvals::ended(&mut tx, reviewer, status, span.after, limit).await?;
    let items = shown(found, tx.now())?;
    Ok(super::paged(items, span.limit, |approval: &Approval| approval.id))
}

pub async fn get(app: &App, caller: &Caller, id: ApprovalId) -> Result<Approval, Error> {
    let mut tx = look(app, caller).await?;
    let request = find(app, caller, &mut tx, id).await?;
    present::request(request, tx.now())
}

pub async fn approve(
    app: &App,
    caller: &Caller,
    attempt: &Attempt,
    id: ApprovalId,
    vote: NewVote,
) -> Result<Reply, Error> {
    answer(app, caller, attempt, id, Answer::Approve, vote).await
}

pub async fn reject(
    app: &App,
    caller: &Caller,
    attempt: &Attempt,
    id: ApprovalId,
    vote: NewVote,
) -> Result<Reply, Error> {
    answer(app, caller, attempt, id, Answer::Reject, vote).await
}

pub async fn request_changes(
    app: &App,
    caller: &Caller,
    attempt: &Attempt,
    id: ApprovalId,
    vote: NewVote,
) -> Result<Reply, Error> {
    answer(app, caller, attempt, id, Answer::RequestChanges, vote).await
}

/// Takes the caller's own latest answer back, while the review goes on.
pub async fn withdraw(
    app: &App,
    caller: &Caller,
    attempt: &Attempt,
    id: ApprovalId,
) -> Result<Reply, Error> {
    let begun = begin(app, caller, attempt, id).await?;
    carry_out(begun, Command::WithdrawVote, Why::default(), |_| 200).await
}

async fn answer(
    app: &App,
    caller: &Caller,
    attempt: &Attempt,
    id: ApprovalId,
    answer: Answer,
    vote: NewVote,
) -> Result<Reply, Error> {
    let NewVote { revision, digest, reason } = vote;
    let reason = reason.filter(|reason| !reason.trim().is_empty());
    let seen = Seen { revision, digest };
    let command = Command::Vote { answer, seen, reason: reason.clone() };
    let work = match begin(app, caller, attempt, id).await? {
        Begun::Work(work) => work,
        Begun::Repeated(reply) => return Ok(reply),
    };
    let (work, decision) = work.decide_or_refuse(&command).await?;
    let subject = Subject::answering(answer, [&work.task]);
    let work = work.confirmed(subject).await?;
    let (label, now) = (work.label.clone(), work.now());
    let why = Why { reason, ticket: None };
    let is_effectual = counts(&decision);
    work.finish(&command, &decision, None, why, |next, receipt| {
        let task = next.ok_or(Error::NotFound { what: "task" })?;
        let voted = Voted {
            answer,
            effectual: is_effectual,
            state: task.state,
            receipt: LeafId::from_uuid(receipt.0).to_string(),
            task: present::decided(&label, task, now),
            next_action: present::next_action(task.state).to_owned(),
        };
        Ok((200, voted))
    })
    .await
}

fn counts(decision: &Decision) -> bool {
    decision.writes.iter().any(|write| matches!(write, Write::Record(vote) if vote.effectual))
}

/// The task behind the request, locked. A request that was answered, superseded or handed on
/// still leads there: whether the caller may answer is for the rules to say.
pub(super) async fn begin<'a>(
    app: &'a App,
    caller: &'a Caller,
    attempt: &'a Attempt,
    id: ApprovalId,
) -> Result<Begun<'a>, Error> {
    let missing = Error::NotFound { what: "approval" };
    if person(caller).is_err() {
        return Err(missing);
    }
    match Work::begin_of(app, caller, attempt, id).await {
        // Whoever may not know of the task is told nothing of the request either.
        Err(Error::NotFound { .. }) => Err(missing),
        begun => begun,
    }
}

/// A person sees every request of the tenant, as they see every task; an agent none.
async fn find(
    app: &App,
    caller: &Caller,
    tx: &mut ade_store::Tx,
    id: ApprovalId,
) -> Result<Request, Error> {
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

fn shown(found: Vec<Request>, now: Timestamp) -> Result<Vec<Approval>, Error> {
    found.into_iter().map(|request| present::request(request, now)).collect()
}
