//! Takes the next escalation step of unanswered reviews: notifies more people, asks a delegate or a
//! manager, or widens a group. Time never approves; after the last step the review expires.

use ade_core::ids::{TaskId, TenantId};
use ade_core::limits::WORKER_BATCH;
use ade_core::task::{Command, Escalation};

use crate::app::App;
use crate::command::schedule::{self, JobKind};
use crate::command::task_command::TaskCommand;
use crate::worker::{Activation, Worker};

pub const WORKER: Worker = Worker { name: "review_escalator", period: None, signal: None, run };

fn run(app: &App) -> Activation<'_> {
    Box::pin(
        async move { schedule::for_each_due(app, JobKind::Escalate, WORKER_BATCH, step).await },
    )
}

fn step(app: &App, tenant: TenantId, task: TaskId) -> schedule::Step<'_> {
    Box::pin(TaskCommand::try_out(
        app,
        WORKER.name,
        tenant,
        task,
        JobKind::Escalate,
        Command::Escalate(Escalation::Step),
    ))
}
