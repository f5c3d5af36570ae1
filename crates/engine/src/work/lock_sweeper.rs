//! Lets time pass in queues that nobody uses: leases run out, waits time out, and whoever is next
//! is told. Queues in use do that by themselves.

use ade_core::limits::{LOCK_SWEEP_BATCH, LOCK_SWEEP_PERIOD};

use super::{Activation, Done, Worker, spaces};
use crate::app::App;
use crate::error::Error;

pub const WORKER: Worker =
    Worker { name: "lock_sweeper", period: Some(LOCK_SWEEP_PERIOD), signal: None, run };

fn run(app: &App) -> Activation<'_> {
    Box::pin(sweep(app))
}

async fn sweep(app: &App) -> Result<Done, Error> {
    let Some(keeper) = &app.locks else { return Ok(Done::default()) };
    let mut done = Done::default();
    for tenant in spaces(app).await? {
        let swept = keeper.sweep(tenant, LOCK_SWEEP_BATCH).await?;
        done.items += u64::try_from(swept).unwrap_or(u64::MAX);
        done.has_more |= swept >= LOCK_SWEEP_BATCH;
    }
    Ok(done)
}
