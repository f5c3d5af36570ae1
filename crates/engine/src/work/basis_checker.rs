//! Asks, after the rules have changed, whether what was approved still stands; what does not goes
//! back to review. A permit would find out too, but only when somebody wants to apply it.

use ade_core::ids::{TaskId, TenantId};
use ade_core::limits::WORKER_BATCH;
use ade_core::task::{Command, Reopen};

use super::{Activation, Worker};
use crate::app::App;
use crate::ops::deadline::{self, Deadline};
use crate::ops::decision::Work;

pub const WORKER: Worker = Worker { name: "basis_checker", period: None, signal: None, run };

fn run(app: &App) -> Activation<'_> {
    Box::pin(
        async move { deadline::for_each_due(app, Deadline::CheckBasis, WORKER_BATCH, check).await },
    )
}

fn check(app: &App, tenant: TenantId, task: TaskId) -> deadline::Step<'_> {
    Box::pin(Work::try_out(
        app,
        WORKER.name,
        tenant,
        task,
        Deadline::CheckBasis,
        Command::ReopenReview(Reopen::BasisLost),
    ))
}
