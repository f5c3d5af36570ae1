//! Checks, after the rules have changed, whether approvals are still valid; invalid ones return to
//! review. A permit would notice as well, but only when the task is applied.

use ade_core::ids::{TaskId, TenantId};
use ade_core::limits::WORKER_BATCH;
use ade_core::task::{Command, Reopen};

use crate::app::App;
use crate::command::schedule::{self, JobKind};
use crate::command::task_command::TaskCommand;
use crate::worker::{Activation, Worker};

pub const WORKER: Worker = Worker { name: "basis_checker", period: None, signal: None, run };

fn run(app: &App) -> Activation<'_> {
    Box::pin(
        async move { schedule::for_each_due(app, JobKind::CheckBasis, WORKER_BATCH, check).await },
    )
}

fn check(app: &App, tenant: TenantId, task: TaskId) -> schedule::Step<'_> {
    Box::pin(TaskCommand::try_out(
        app,
        WORKER.name,
        tenant,
        task,
        JobKind::CheckBasis,
        Command::ReopenReview(Reopen::BasisLost),
    ))
}
