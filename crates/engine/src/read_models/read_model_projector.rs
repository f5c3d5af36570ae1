//! Projects events into the read models, tenant by tenant.

use std::time::Duration;

use ade_core::limits::WORKER_BATCH;
use ade_store::events;

use super::{CONSUMER, project};
use crate::app::App;
use crate::error::Error;
use crate::worker::{Activation, Done, Worker};

/// Poll interval for new events without a hint.
const MODEL_PERIOD: Duration = Duration::from_millis(250);

pub const WORKER: Worker = Worker {
    name: "read_model_projector",
    period: Some(MODEL_PERIOD),
    signal: Some(|app| &app.wake.read_model_projector),
    run,
};

fn run(app: &App) -> Activation<'_> {
    Box::pin(project_all(app))
}

/// Projects the events of all tenants. Each tenant has its turn before any has a second one. A
/// tenant whose part of Redis is unavailable does not delay the others; its error is returned.
async fn project_all(app: &App) -> Result<Done, Error> {
    let mut done = Done::default();
    let Some(models) = &app.live.models else { return Ok(done) };
    let (mut after, mut failed) = (None, None);
    loop {
        let page = events::behind(&app.pools.worker, CONSUMER, after, WORKER_BATCH).await?;
        after = page.last().copied();
        for tenant in page {
            match project(app, models, tenant).await {
                Ok((items, has_more)) => {
                    done.items += items;
                    done.has_more |= has_more;
                }
                Err(error) => failed = Some(error),
            }
        }
        if after.is_none() {
            return failed.map_or(Ok(done), Err);
        }
    }
}
