//! Lets time pass in queues that nobody uses: leases run out, waits time out, and whoever is next
//! is told. Queues in use do that by themselves.

use ade_core::limits::{LOCK_SWEEP_BATCH, LOCK_SWEEP_PERIOD};

use super::{Activation, Done, Worker, in_each_space};
use crate::app::App;
use crate::error::Error;

pub const WORKER: Worker =
    Worker { name: "lock_sweeper", period: Some(LOCK_SWEEP_PERIOD), signal: None, run };

fn run(app: &App) -> Activation<'_> {
    Box::pin(sweep(app))
}

async fn sweep(app: &App) -> Result<Done, Error> {
    let Some(keeper) = &app.locks else { return Ok(Done::default()) };
    let items = in_each_space(app, |tenant| async move {
        let swept = keeper.sweep(tenant, LOCK_SWEEP_BATCH).await?;
        Ok(u64::try_from(swept).unwrap_or(u64::MAX))
    });
    let items = items.await?;
    Ok(Done { items, has_more: items >= u64::try_from(LOCK_SWEEP_BATCH).unwrap_or(u64::MAX) })
}
