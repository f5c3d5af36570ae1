//! Handles attempts whose holder may have died: one that was not begun returns to the queue, one
//! that was begun becomes UNKNOWN.

use ade_core::ids::{TaskId, TenantId};
use ade_core::limits::WORKER_BATCH;

use super::rescue;
use crate::app::App;
use crate::command::schedule::{self, JobKind};
use crate::worker::{Activation, Worker};

pub const WORKER: Worker = Worker { name: "apply_rescuer", period: None, signal: None, run };

fn run(app: &App) -> Activation<'_> {
    Box::pin(schedule::for_each_due(app, JobKind::RescueApply, WORKER_BATCH, step))
}

fn step(app: &App, tenant: TenantId, task: TaskId) -> schedule::Step<'_> {
    Box::pin(rescue(app, WORKER.name, tenant, task))
}
