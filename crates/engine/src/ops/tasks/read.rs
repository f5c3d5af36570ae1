//! Looking at tasks. Reads lock nothing and see what is committed; whoever may not know of a task
//! is told that there is none.

use std::time::Duration;

use ade_api::approvals::TaskApprovals;
use ade_api::tasks::{Comment, Revision, Revisions, RiskAssessment, TaskSummary, Watched};
use ade_core::access::{Action, Object};
use ade_core::actor::Actor;
use ade_core::ids::TaskId;
use ade_core::limits::WAIT_MAX;
use ade_store::tasks::{self, Filter, View};
use ade_store::{Tx, approvals as requests};

use crate::app::App;
use crate::caller::Caller;
use crate::error::Error;
use crate::ops::act::{look, permit};
use crate::ops::decision::standing;
use crate::ops::{Paged, Span, paged};
use crate::{live, models, present};

pub async fn get(app: &App, caller: &Caller, task: TaskId) -> Result<ade_api::tasks::Task, Error> {
    let mut tx = look(app, caller).await?;
    present::viewed(&visible_in(app, caller, &mut tx, task).await?)
}

/// For whoever knows a version of it: that one or a newer one, from a model if one has it.
pub async fn get_since(
    app: &App,
    caller: &Caller,
    task: TaskId,
    since: u64,
) -> Result<ade_api::tasks::Task, Error> {
    match models::task(app, caller, task, since).await? {
        Some(shown) => Ok(shown),
        None => get(app, caller, task).await,
    }
}

/// Answers when the task has moved past `since`, or when the time is over. Events tell of it: of
/// this process at once, of others by the hub that listeners have too, and where no event comes
/// for long, a look at the record does.
pub async fn wait(
    app: &App,
    caller: &Caller,
    task: TaskId,
    since: u64,
    patience: Duration,
) -> Result<Watched, Error> {
    // Before the first look, so that nothing moves unseen in between.
    let mut versions = app.watch.follow(caller.tenant, task, since);
    let _attending = live::attend(app, caller.tenant).await?;
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
    let moved = tokio::time::timeout(patience.min(WAIT_MAX), moved).await.unwrap_or(false);
    let shown = get_since(app, caller, task, since.saturating_add(1)).await?;
    let timed_out = !moved && shown.summary.version <= since;
    Ok(Watched { task: shown, timed_out })
}

/// Agents see what they or their person proposed.
pub async fn list(
    app: &App,
    caller: &Caller,
    mut filter: Filter,
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
    let items = page.tasks.into_iter().map(present::listed).collect();
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

pub(in crate::ops) async fn visible_in(
    app: &App,
    caller: &Caller,
    tx: &mut Tx,
    task: TaskId,
) -> Result<View, Error> {
    let missing = Error::NotFound { what: "task" };
    let Some(view) = tasks::view(tx, task).await? else { return Err(missing) };
    let book = app.books.current(tx).await?;
    let involvement = &view.involvement;
    let task_type = &view.revision.head.task_type;
    let standing = standing(&book, &caller.actor, involvement.author, involvement.agent, task_type);
    let object = Object::Task(standing);
    permit(app, &book, &caller.actor, Action::ReadTask, object).map_err(|_| missing)?;
    Ok(view)
}
