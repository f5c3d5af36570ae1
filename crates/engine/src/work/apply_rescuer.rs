//! Looks after attempts whose holder may have died: what was not begun goes back into the queue,
//! what was begun is UNKNOWN from then on.

use ade_core::ids::{TaskId, TenantId};
use ade_core::limits::WORKER_BATCH;

use super::{Activation, Worker};
use crate::app::App;
use crate::ops::deadline::{self, Deadline};
use crate::ops::executions::rescue;

pub const WORKER: Worker = Worker { name: "apply_rescuer", period: None, signal: None, run };

fn run(app: &App) -> Activation<'_> {
    Box::pin(deadline::for_each_due(app, Deadline::RescueApply, WORKER_BATCH, step))
}

fn step(app: &App, tenant: TenantId, task: TaskId) -> deadline::Step<'_> {
    Box::pin(rescue(app, WORKER.name, tenant, task))
}
