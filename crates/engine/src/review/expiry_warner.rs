//! Notifies the author and the reviewers who have not answered that a review or an approval is
//! about to expire.

use ade_core::ids::{TaskId, TenantId};
use ade_core::limits::WORKER_BATCH;
use ade_core::task::Command;

use crate::app::App;
use crate::command::schedule::{self, JobKind};
use crate::command::task_command::TaskCommand;
use crate::worker::{Activation, Worker};

pub const WORKER: Worker = Worker { name: "expiry_warner", period: None, signal: None, run };

fn run(app: &App) -> Activation<'_> {
    Box::pin(
        async move { schedule::for_each_due(app, JobKind::WarnExpiry, WORKER_BATCH, warn).await },
    )
}

fn warn(app: &App, tenant: TenantId, task: TaskId) -> schedule::Step<'_> {
    Box::pin(TaskCommand::try_out(
        app,
        WORKER.name,
        tenant,
        task,
        JobKind::WarnExpiry,
        Command::WarnExpiry,
    ))
}
