//! What is done with a task as a whole, without changing its content: cancel, delete, comment,
//! give it more time, try again.

use ade_api::tasks::{Cancellation, Extension, NewComment};
use ade_core::audit::Why;
use ade_core::task::{Command, State, Task};

use crate::app::App;
use crate::caller::{Attempt, Caller};
use crate::error::Error;
use crate::ops::Reply;
use crate::ops::command::carry_out;
use crate::ops::decision::{Target, Work};

/// 202 while it is being applied: the executor was asked to stop, which is not yet an end.
pub async fn cancel(
    app: &App,
    caller: &Caller,
    attempt: &Attempt,
    target: Target,
    cancellation: Cancellation,
) -> Result<Reply, Error> {
    let reason = cancellation.reason.filter(|reason| !reason.trim().is_empty());
    let command = Command::Cancel { reason: reason.clone() };
    let begun = Work::begin(app, caller, attempt, target).await?;
    let status = |task: &Task| if task.state == State::Applying { 202 } else { 200 };
    carry_out(begun, command, Why { reason, ticket: None }, status).await
}

/// More time for a review, by somebody who is asked or an admin.
pub async fn extend(
    app: &App,
    caller: &Caller,
    attempt: &Attempt,
    target: Target,
    Extension { until, reason }: Extension,
) -> Result<Reply, Error> {
    let command = Command::Extend { until, reason: reason.clone() };
    let begun = Work::begin(app, caller, attempt, target).await?;
    carry_out(begun, command, Why { reason: Some(reason), ticket: None }, |_| 200).await
}

pub async fn retry(
    app: &App,
    caller: &Caller,
    attempt: &Attempt,
    target: Target,
) -> Result<Reply, Error> {
    let begun = Work::begin(app, caller, attempt, target).await?;
    carry_out(begun, Command::Retry, Why::default(), |_| 202).await
}

pub async fn comment(
    app: &App,
    caller: &Caller,
    attempt: &Attempt,
    target: Target,
    comment: NewComment,
) -> Result<Reply, Error> {
    let command = Command::Comment { text: comment.text };
    let begun = Work::begin(app, caller, attempt, target).await?;
    carry_out(begun, command, Why::default(), |_| 201).await
}

/// Of a draft, with everything around it; the audit keeps the fact.
pub async fn delete(
    app: &App,
    caller: &Caller,
    attempt: &Attempt,
    target: Target,
) -> Result<Reply, Error> {
    let begun = Work::begin(app, caller, attempt, target).await?;
    carry_out(begun, Command::Delete, Why::default(), |_| 200).await
}
