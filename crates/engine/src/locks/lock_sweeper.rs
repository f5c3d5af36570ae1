//! Advances time in idle lock queues: leases expire, waits time out, and the next waiter is
//! notified. Queues in use do that on their own.

use std::time::Duration;

use crate::app::App;
use crate::error::Error;
use crate::worker::{Activation, Done, Worker, in_each_space};

const LOCK_SWEEP_PERIOD: Duration = Duration::from_secs(1);
/// Due entries that one round processes per tenant.
const LOCK_SWEEP_BATCH: usize = 500;

pub const WORKER: Worker =
    Worker { name: "lock_sweeper", period: Some(LOCK_SWEEP_PERIOD), signal: None, run };

fn run(app: &App) -> Activation<'_> {
    Box::pin(sweep(app))
}

async fn sweep(app: &App) -> Result<Done, Error> {
    let Some(keeper) = &app.locks else { return Ok(Done::default()) };
    let items = in_each_space(app, |tenant| async move {
        let swept = keeper.queue.sweep(tenant, LOCK_SWEEP_BATCH).await?;
        Ok(u64::try_from(swept).unwrap_or(u64::MAX))
    });
    let items = items.await?;
    Ok(Done { items, has_more: items >= u64::try_from(LOCK_SWEEP_BATCH).unwrap_or(u64::MAX) })
}
