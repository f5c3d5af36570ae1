//! Takes the next step where nobody has answered: tells more people, asks a delegate or a manager,
//! or widens a group. Time never approves; past the last step the review expires.

use ade_core::ids::{TaskId, TenantId};
use ade_core::limits::WORKER_BATCH;
use ade_core::task::{Command, Escalation};

use super::{Activation, Worker};
use crate::app::App;
use crate::ops::deadline::{self, Deadline};
use crate::ops::decision::Work;

pub const WORKER: Worker = Worker { name: "review_escalator", period: None, signal: None, run };

fn run(app: &App) -> Activation<'_> {
    Box::pin(
        async move { deadline::for_each_due(app, Deadline::Escalate, WORKER_BATCH, step).await },
    )
}

fn step(app: &App, tenant: TenantId, task: TaskId) -> deadline::Step<'_> {
    Box::pin(Work::try_out(
        app,
        WORKER.name,
        tenant,
        task,
        Deadline::Escalate,
        Command::Escalate(Escalation::Step),
    ))
}
