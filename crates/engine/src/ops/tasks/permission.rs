//! Who may have something previewed. A preview runs statements of the caller's choosing on a
//! target, so the rules are asked before it, and once more when its outcome is written.

use ade_core::access::{Action, Object};
use ade_core::task::{Command, CommandKind, Content};
use ade_store::Gate;
use ade_store::tasks::View;

use super::read::visible_in;
use crate::app::App;
use crate::caller::{Attempt, Caller};
use crate::error::Error;
use crate::ops::Reply;
use crate::ops::act::{begin, look, permit, refuse, told_before};
use crate::ops::decision::{Begun, Target, Work, claim, standing};

/// Nothing, or the answer that was given before to somebody who may not ask any more.
pub(super) async fn to_create(
    app: &App,
    caller: &Caller,
    attempt: &Attempt,
) -> Result<Option<Reply>, Error> {
    let mut tx = look(app, caller).await?;
    let book = app.books.current(&mut tx).await?;
    tx.roll_back().await;
    let asked = permit(app, &book, &caller.actor, Action::Create, Object::Tenant);
    let Err(denied) = asked else { return Ok(None) };
    let mut tx = begin(&app.pools.api, caller, Gate::Shared).await?;
    match claim(&mut tx, caller, attempt).await {
        Ok(None) => {}
        answered => return told_before(tx, answered).await.map(Some),
    }
    let object = caller.tenant.to_string();
    refuse(tx, caller, Action::Create.as_str(), object, &denied).await?;
    Err(denied.into())
}

pub(super) enum Permitted {
    /// The task as the caller sees it, before anything is locked.
    View(Box<View>),
    Repeated(Reply),
}

pub(super) async fn to_change(
    app: &App,
    caller: &Caller,
    attempt: &Attempt,
    target: Target,
    change: CommandKind,
) -> Result<Permitted, Error> {
    let mut tx = look(app, caller).await?;
    let view = visible_in(app, caller, &mut tx, target.task).await?;
    let book = app.books.current(&mut tx).await?;
    tx.roll_back().await;
    let involvement = &view.involvement;
    let task_type = &view.revision.head.task_type;
    let standing = standing(&book, &caller.actor, involvement.author, involvement.agent, task_type);
    let asked = permit(app, &book, &caller.actor, change.action(), Object::Task(standing));
    let Err(denied) = asked else { return Ok(Permitted::View(Box::new(view))) };
    let work = match Work::begin(app, caller, attempt, target).await? {
        Begun::Work(work) => work,
        Begun::Repeated(reply) => return Ok(Permitted::Repeated(reply)),
    };
    // Decided on the content that is there: a refusal does not depend on the new one.
    let command = command(change, work.task.content.clone());
    match work.decide(&command) {
        Err(refusal) => Err(work.refuse(&command, refusal).await),
        Ok(_) => Err(denied.into()),
    }
}

fn command(change: CommandKind, content: Content) -> Command {
    match change {
        CommandKind::Amend => Command::Amend { content },
        CommandKind::Submit => Command::Submit { content, pins: Vec::new() },
        _ => Command::Resubmit,
    }
}
