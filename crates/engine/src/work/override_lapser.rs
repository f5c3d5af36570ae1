//! What time does to overrides. One that no second admin confirmed is dropped, and its task stays
//! where it is; a review that one owes and that nobody has written in time is told to all admins.

use ade_core::ids::{AfterReviewId, TaskId, TenantId};
use ade_core::limits::{WORKER_AT_ONCE, WORKER_BATCH};
use ade_core::task::Command;
use ade_store::after_reviews::WATCH;

use super::{Activation, Done, Worker};
use crate::app::App;
use crate::error::Error;
use crate::ops::deadline::{self, Deadline};
use crate::ops::decision::Work;
use crate::ops::overrides::tell_overdue;

pub const WORKER: Worker = Worker { name: "override_lapser", period: None, signal: None, run };

fn run(app: &App) -> Activation<'_> {
    Box::pin(look(app))
}

async fn look(app: &App) -> Result<Done, Error> {
    let lapsed = deadline::for_each_due(app, Deadline::LapseOverride, WORKER_BATCH, step).await?;
    let tell =
        |tenant, review| tell_overdue(app, WORKER.name, tenant, AfterReviewId::from_uuid(review));
    let told = deadline::take_up(app, WATCH, WORKER_BATCH, WORKER_AT_ONCE, tell).await?;
    let has_more = lapsed.has_more || told.has_more;
    Ok(Done { items: lapsed.items + told.items, has_more })
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
