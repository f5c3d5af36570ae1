//! Drops an override that no second admin confirmed in time. The task stays where it is.

use ade_core::ids::{TaskId, TenantId};
use ade_core::limits::WORKER_BATCH;
use ade_core::task::Command;

use super::{Activation, Worker};
use crate::app::App;
use crate::ops::deadline::{self, Deadline};
use crate::ops::decision::Work;

pub const WORKER: Worker = Worker { name: "override_lapser", period: None, signal: None, run };

fn run(app: &App) -> Activation<'_> {
    Box::pin(async move {
        deadline::for_each_due(app, Deadline::LapseOverride, WORKER_BATCH, step).await
    })
}

fn step(app: &App, tenant: TenantId, task: TaskId) -> deadline::Step<'_> {
    Box::pin(Work::try_out(
        app,
        WORKER.name,
        tenant,
        task,
        Deadline::LapseOverride,
        Command::LapseOverride,
    ))
}
