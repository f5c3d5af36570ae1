//! Ends attempts that take too long: first by asking, then by taking their hold.

use ade_core::ids::{TaskId, TenantId};
use ade_core::limits::WORKER_BATCH;

use super::{Activation, Worker};
use crate::app::App;
use crate::ops::deadline::{self, Deadline};
use crate::ops::executions::time_out;

pub const WORKER: Worker = Worker { name: "apply_timer", period: None, signal: None, run };

fn run(app: &App) -> Activation<'_> {
    Box::pin(deadline::for_each_due(app, Deadline::TimeApply, WORKER_BATCH, step))
}

fn step(app: &App, tenant: TenantId, task: TaskId) -> deadline::Step<'_> {
    Box::pin(time_out(app, WORKER.name, tenant, task))
}
