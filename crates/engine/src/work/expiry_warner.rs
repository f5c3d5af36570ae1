//! Tells the author, and those who have not answered, that a review or an agreement is about to
//! end.

use ade_core::ids::{TaskId, TenantId};
use ade_core::limits::WORKER_BATCH;
use ade_core::task::Command;

use super::{Activation, Worker};
use crate::app::App;
use crate::ops::deadline::{self, Deadline};
use crate::ops::decision::Work;

pub const WORKER: Worker = Worker { name: "expiry_warner", period: None, signal: None, run };

fn run(app: &App) -> Activation<'_> {
    Box::pin(
        async move { deadline::for_each_due(app, Deadline::WarnExpiry, WORKER_BATCH, warn).await },
    )
}

fn warn(app: &App, tenant: TenantId, task: TaskId) -> deadline::Step<'_> {
    Box::pin(Work::try_out(
        app,
        WORKER.name,
        tenant,
        task,
        Deadline::WarnExpiry,
        Command::WarnExpiry,
    ))
}
