//! Reading tasks. Reads take no locks and see committed data; a caller who may not know of a task
//! gets "not found".

use std::time::Duration;

use ade_api::approvals::TaskApprovals;
use ade_api::tasks::{
    Comment, Revision, Revisions, RiskAssessment, TaskSummary, WaitUntil, Watched,
};
use ade_core::actor::Actor;
use ade_core::ids::TaskId;
use ade_core::limits::WAIT_MAX;
use ade_core::task_ref::TaskRef;
use ade_store::approvals as requests;
use ade_store::tasks::{self, TaskFilter};
use tokio::time::Instant;

use crate::app::App;
use crate::caller::Caller;
use crate::command::permission::look;
use crate::command::permission::visible_in;
use crate::command::present;
use crate::command::{Paged, Span, paged};
use crate::error::Error;
use crate::{events, read_models};

/// Returns the id of the task that a caller names. A number is that of the caller's tenant; whether
/// the caller may read the task is checked by the operation on it.
pub async fn resolve(app: &App, caller: &Caller, task: TaskRef) -> Result<TaskId, Error> {
    let number = match task {
        TaskRef::Id(id) => return Ok(id),
        TaskRef::Number(number) => number,
    };
    let mut tx = look(app, caller).await?;
    let found = tasks::id_of_number(&mut tx, number).await?;
    tx.roll_back().await;
    found.ok_or(Error::NotFound { what: "task" })
}

pub async fn get(app: &App, caller: &Caller, task: TaskId) -> Result<ade_api::tasks::Task, Error> {
    let mut tx = look(app, caller).await?;
    let mut shown = present::viewed(app, &visible_in(app, caller, &mut tx, task).await?)?;
    let book = app.books.current(&mut tx).await?;
    present::warn(app, &book, &mut shown);
    Ok(shown)
}

/// Reads a task for a caller that knows a version: that one or a newer one, from a read model if
/// available.
pub async fn get_since(
    app: &App,
    caller: &Caller,
    task: TaskId,
    since: u64,
) -> Result<ade_api::tasks::Task, Error> {
    match read_models::task(app, caller, task, since).await? {
        Some(shown) => Ok(shown),
        None => get(app, caller, task).await,
    }
}

/// Returns when the task has changed since version `since`, or on timeout, which a shutdown of the
/// process brings forward. Events trigger it: of this process immediately, of others through the
/// event hub, and if no event arrives for long, a poll of PostgreSQL.
pub async fn wait(
    app: &App,
    caller: &Caller,
    task: TaskId,
    since: u64,
    patience: Duration,
) -> Result<Watched, Error> {
    // The subscription comes before the first read, so that no change is missed in between.
    let mut versions = app.watch.follow(caller.tenant, task, since);
    let _attending = events::attend(app, caller.tenant).await?;
    let shown = get(app, caller, task).await?;
    if shown.summary.version > since {
        return Ok(Watched { task: shown, timed_out: false });
    }
    let moved = async {
        while *versions.borrow_and_update() <= since {
            if versions.changed().await.is_err() {
                return false;
            }
        }
        true
    };
    let moved = tokio::select! {
        moved = tokio::time::timeout(patience.min(WAIT_MAX), moved) => moved.unwrap_or(false),
        () = app.shutdown.begun() => false,
    };
    let shown = get_since(app, caller, task, since.saturating_add(1)).await?;
    let timed_out = !moved && shown.summary.version <= since;
    Ok(Watched { task: shown, timed_out })
}

/// Returns when the task is as `until` asks, or on timeout.
pub async fn wait_until(
    app: &App,
    caller: &Caller,
    task: TaskId,
    until: WaitUntil,
    patience: Duration,
) -> Result<Watched, Error> {
    let end = Instant::now() + patience.min(WAIT_MAX);
    let mut shown = get(app, caller, task).await?;
    while !until.is_reached(&shown.summary) {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() || app.shutdown.has_begun() {
            return Ok(Watched { task: shown, timed_out: true });
        }
        shown = wait(app, caller, task, shown.summary.version, left).await?.task;
    }
    Ok(Watched { task: shown, timed_out: false })
}

/// Lists tasks. Agents see what they or their owner proposed.
pub async fn list(
    app: &App,
    caller: &Caller,
    mut filter: TaskFilter,
    span: Span<TaskId>,
) -> Result<Paged<TaskSummary, TaskId>, Error> {
    if let Actor::Agent { on_behalf_of, .. } = caller.actor {
        if filter.author.is_some_and(|author| author != on_behalf_of) {
            return Ok(Paged { items: Vec::new(), next: None });
        }
        filter.author = Some(on_behalf_of);
    }
    let mut tx = look(app, caller).await?;
    let page = tasks::list(&mut tx, &filter, span.after, span.limit).await?;
    let items = page.tasks.into_iter().map(|task| present::listed(app, task)).collect();
    Ok(Paged { items, next: page.next })
}

pub async fn revisions(app: &App, caller: &Caller, task: TaskId) -> Result<Revisions, Error> {
    let mut tx = look(app, caller).await?;
    visible_in(app, caller, &mut tx, task).await?;
    let heads = tasks::revisions(&mut tx, task).await?;
    Ok(Revisions { items: heads.iter().map(present::revision_head).collect() })
}

pub async fn revision(
    app: &App,
    caller: &Caller,
    task: TaskId,
    number: u32,
) -> Result<Revision, Error> {
    let mut tx = look(app, caller).await?;
    visible_in(app, caller, &mut tx, task).await?;
    let found = tasks::revision(&mut tx, task, number).await?;
    present::revision(&found.ok_or(Error::NotFound { what: "revision" })?)
}

pub async fn comments(
    app: &App,
    caller: &Caller,
    task: TaskId,
    span: Span<i64>,
) -> Result<Paged<Comment, i64>, Error> {
    let mut tx = look(app, caller).await?;
    visible_in(app, caller, &mut tx, task).await?;
    let limit = span.limit.saturating_add(1);
    let found = tasks::comments(&mut tx, task, span.after, limit).await?;
    let page = paged(found, span.limit, |comment| comment.seq);
    let items = page.items.iter().map(present::comment).collect::<Result<_, Error>>()?;
    Ok(Paged { items, next: page.next })
}

pub async fn risk(app: &App, caller: &Caller, task: TaskId) -> Result<RiskAssessment, Error> {
    let mut tx = look(app, caller).await?;
    let view = visible_in(app, caller, &mut tx, task).await?;
    let found = tasks::risk(&mut tx, task).await?;
    let found = found.ok_or(Error::NotFound { what: "risk assessment" })?;
    present::assessment(view.revision.head.revision, &found)
}

pub async fn approvals(app: &App, caller: &Caller, task: TaskId) -> Result<TaskApprovals, Error> {
    let mut tx = look(app, caller).await?;
    visible_in(app, caller, &mut tx, task).await?;
    let now = tx.now();
    let asked = requests::of_task(&mut tx, task).await?;
    let votes = requests::votes(&mut tx, task).await?;
    Ok(TaskApprovals {
        approvals: asked
            .into_iter()
            .map(|request| present::request(request, now))
            .collect::<Result<_, Error>>()?,
        votes: votes.into_iter().map(|(_, vote)| present::vote(vote)).collect(),
    })
}
