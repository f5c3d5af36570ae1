//! Handles the deadlines of overrides. An unconfirmed override is dropped, and its task stays where
//! it is; an overdue review is reported to all admins.

use ade_core::ids::{AfterReviewId, TaskId, TenantId};
use ade_core::limits::{WORKER_AT_ONCE, WORKER_BATCH};
use ade_core::task::Command;
use ade_store::after_reviews::WATCH;

use super::overrides::tell_overdue;
use crate::app::App;
use crate::command::schedule::{self, JobKind};
use crate::command::task_command::TaskCommand;
use crate::error::Error;
use crate::worker::{Activation, Done, Worker};

pub const WORKER: Worker = Worker { name: "override_lapser", period: None, signal: None, run };

fn run(app: &App) -> Activation<'_> {
    Box::pin(look(app))
}

async fn look(app: &App) -> Result<Done, Error> {
    let lapsed = schedule::for_each_due(app, JobKind::LapseOverride, WORKER_BATCH, step).await?;
    let tell =
        |tenant, review| tell_overdue(app, WORKER.name, tenant, AfterReviewId::from_uuid(review));
    let reported = schedule::take_up(app, WATCH, WORKER_BATCH, WORKER_AT_ONCE, tell).await?;
    let has_more = lapsed.has_more || reported.has_more;
    Ok(Done { items: lapsed.items + reported.items, has_more })
}

fn step(app: &App, tenant: TenantId, task: TaskId) -> schedule::Step<'_> {
    Box::pin(TaskCommand::try_out(
        app,
        WORKER.name,
        tenant,
        task,
        JobKind::LapseOverride,
        Command::LapseOverride,
    ))
}
