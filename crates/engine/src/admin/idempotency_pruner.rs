//! Deletes stored responses after their retention, a limited number per tenant and round.

use ade_core::limits::{PRUNE_PERIOD, WORKER_BATCH};
use ade_store::idempotency;

use crate::app::App;
use crate::error::Error;
use crate::worker::{Activation, Done, Worker, begin};

pub const WORKER: Worker =
    Worker { name: "idempotency_pruner", period: Some(PRUNE_PERIOD), signal: None, run };

fn run(app: &App) -> Activation<'_> {
    Box::pin(prune(app))
}

async fn prune(app: &App) -> Result<Done, Error> {
    let now = app.pools.worker.clock().await?;
    let mut done = Done::default();
    let tenants = idempotency::tenants_to_prune(&app.pools.worker, now, None, WORKER_BATCH).await?;
    for tenant in tenants {
        let mut tx = begin(app, WORKER, tenant).await?;
        let pruned = idempotency::prune(&mut tx, now, WORKER_BATCH).await?;
        tx.commit().await?;
        done.items += pruned;
        done.has_more |= pruned >= u64::from(WORKER_BATCH);
    }
    Ok(done)
}
