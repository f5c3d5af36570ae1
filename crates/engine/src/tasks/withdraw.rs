//! Commands on a task as a whole that leave its content unchanged: cancel, delete, comment, extend
//! and retry.

use ade_api::tasks::{Cancellation, Extension, NewComment};
use ade_core::audit::Why;
use ade_core::task::{Command, State, Task};

use crate::app::App;
use crate::caller::{Caller, IdempotentRequest};
use crate::command::Reply;
use crate::command::run::carry_out;
use crate::command::task_command::{TaskCommand, TaskTarget};
use crate::error::Error;

/// Cancels a task. The status is 202 while it is being applied: the executor was asked to stop, but
/// has not stopped yet.
pub async fn cancel(
    app: &App,
    caller: &Caller,
    attempt: &IdempotentRequest,
    target: TaskTarget,
    cancellation: Cancellation,
) -> Result<Reply, Error> {
    let reason = cancellation.reason.filter(|reason| !reason.trim().is_empty());
    let command = Command::Cancel { reason: reason.clone() };
    let work = TaskCommand::begin(app, caller, attempt, target).await?;
    let status = |task: &Task| if task.state == State::Applying { 202 } else { 200 };
    carry_out(work, command, Why { reason, ticket: None }, status).await
}

/// Extends a review, by a requested reviewer or an admin.
pub async fn extend(
    app: &App,
    caller: &Caller,
    attempt: &IdempotentRequest,
    target: TaskTarget,
    Extension { until, reason }: Extension,
) -> Result<Reply, Error> {
    let command = Command::Extend { until, reason: reason.clone() };
    let work = TaskCommand::begin(app, caller, attempt, target).await?;
    carry_out(work, command, Why { reason: Some(reason), ticket: None }, |_| 200).await
}

pub async fn retry(
    app: &App,
    caller: &Caller,
    attempt: &IdempotentRequest,
    target: TaskTarget,
) -> Result<Reply, Error> {
    let work = TaskCommand::begin(app, caller, attempt, target).await?;
    carry_out(work, Command::Retry, Why::default(), |_| 202).await
}

pub async fn comment(
    app: &App,
    caller: &Caller,
    attempt: &IdempotentRequest,
    target: TaskTarget,
    comment: NewComment,
) -> Result<Reply, Error> {
    let command = Command::Comment { text: comment.text };
    let work = TaskCommand::begin(app, caller, attempt, target).await?;
    carry_out(work, command, Why::default(), |_| 201).await
}

/// Deletes a draft with everything that belongs to it; the audit log keeps the fact.
pub async fn delete(
    app: &App,
    caller: &Caller,
    attempt: &IdempotentRequest,
    target: TaskTarget,
) -> Result<Reply, Error> {
    let work = TaskCommand::begin(app, caller, attempt, target).await?;
    carry_out(work, Command::Delete, Why::default(), |_| 200).await
}
