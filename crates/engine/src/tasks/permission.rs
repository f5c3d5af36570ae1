//! Checks permissions before a preview. A preview runs statements of the caller's choice on a
//! target, so the rules are checked before it, and again when its result is written.

use ade_core::access::{Action, Object};
use ade_core::task::{Command, CommandKind, Content};
use ade_store::TenantLock;
use ade_store::tasks::View;

use crate::app::App;
use crate::caller::{Caller, IdempotentRequest};
use crate::command::idempotency::reserve_key;
use crate::command::permission::standing;
use crate::command::permission::visible_in;
use crate::command::permission::{begin, look, permit, refuse};
use crate::command::task_command::{TaskCommand, TaskTarget};
use crate::error::Error;

/// Checks the permission to create a task. A caller who no longer has it still gets the stored
/// response of a repeated request.
pub(super) async fn to_create(
    app: &App,
    caller: &Caller,
    attempt: &IdempotentRequest,
) -> Result<(), Error> {
    let mut tx = look(app, caller).await?;
    let book = app.books.current(&mut tx).await?;
    tx.roll_back().await;
    let asked = permit(app, &book, &caller.actor, Action::Create, Object::Tenant);
    let Err(denied) = asked else { return Ok(()) };
    let tx = begin(&app.pools.api, caller, TenantLock::Shared).await?;
    let tx = reserve_key(tx, caller, attempt).await?;
    let object = caller.tenant.to_string();
    refuse(tx, caller, Action::Create.as_str(), object, &denied).await?;
    Err(denied.into())
}

/// Checks the permission to change a task, and returns the task as it is before it is locked.
pub(super) async fn to_change(
    app: &App,
    caller: &Caller,
    attempt: &IdempotentRequest,
    target: TaskTarget,
    change: CommandKind,
) -> Result<Box<View>, Error> {
    let mut tx = look(app, caller).await?;
    let view = visible_in(app, caller, &mut tx, target.task).await?;
    let book = app.books.current(&mut tx).await?;
    tx.roll_back().await;
    let involvement = &view.involvement;
    let task_type = &view.revision.head.task_type;
    let relation = standing(&book, &caller.actor, involvement.author, involvement.agent, task_type);
    let asked = permit(app, &book, &caller.actor, change.action(), Object::Task(relation));
    let Err(denied) = asked else { return Ok(Box::new(view)) };
    let work = TaskCommand::begin(app, caller, attempt, target).await?;
    // The command is decided on the current content: a refusal does not depend on the new one.
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
