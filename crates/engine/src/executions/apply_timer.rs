//! Ends attempts that take too long: first by a request, then by ending their hold.

use ade_core::ids::{TaskId, TenantId};
use ade_core::limits::WORKER_BATCH;

use super::time_out;
use crate::app::App;
use crate::command::schedule::{self, JobKind};
use crate::worker::{Activation, Worker};

pub const WORKER: Worker = Worker { name: "apply_timer", period: None, signal: None, run };

fn run(app: &App) -> Activation<'_> {
    Box::pin(schedule::for_each_due(app, JobKind::TimeApply, WORKER_BATCH, step))
}

fn step(app: &App, tenant: TenantId, task: TaskId) -> schedule::Step<'_> {
    Box::pin(time_out(app, WORKER.name, tenant, task))
}
