//! Deletes deliveries after their retention, a limited number per tenant and round, and skips
//! events without subscribers.

use ade_core::consumer::Consumer;
use ade_core::limits::{PRUNE_PERIOD, WEBHOOK_DELIVERIES_KEPT, WORKER_BATCH};
use ade_store::webhooks;

use crate::app::App;
use crate::error::Error;
use crate::worker::{Activation, Done, Worker, begin};

/// Tenants without an endpoint whose events one statement skips.
const WEBHOOK_PASS_OVER_BATCH: u32 = 5_000;

pub const WORKER: Worker =
    Worker { name: "webhook_pruner", period: Some(PRUNE_PERIOD), signal: None, run };

fn run(app: &App) -> Activation<'_> {
    Box::pin(prune(app))
}

async fn prune(app: &App) -> Result<Done, Error> {
    let until = app.pools.worker.clock().await?.minus(WEBHOOK_DELIVERIES_KEPT);
    let (pool, group) = (&app.pools.worker, Consumer::WebhookDispatcher.as_str());
    let passed = webhooks::pass_over_unheard(pool, group, WEBHOOK_PASS_OVER_BATCH).await?;
    let has_more = passed >= u64::from(WEBHOOK_PASS_OVER_BATCH);
    let mut done = Done { items: passed, has_more };
    for tenant in webhooks::tenants_to_prune(&app.pools.worker, until, WORKER_BATCH).await? {
        let mut tx = begin(app, WORKER, tenant).await?;
        let pruned = webhooks::prune(&mut tx, until, WORKER_BATCH).await?;
        tx.commit().await?;
        done.items += pruned;
        done.has_more |= pruned >= u64::from(WORKER_BATCH);
    }
    Ok(done)
}
