//! Deletes tokens and sessions that ended long ago, a limited number per tenant and round. Their
//! use stays in the audit log.

use ade_core::limits::{PRUNE_PERIOD, SESSION_KEPT, TOKEN_KEPT, WORKER_BATCH};
use ade_store::{sessions, tokens};

use crate::app::App;
use crate::error::Error;
use crate::worker::{Activation, Done, Worker, begin};

pub const WORKER: Worker =
    Worker { name: "token_pruner", period: Some(PRUNE_PERIOD), signal: None, run };

fn run(app: &App) -> Activation<'_> {
    Box::pin(prune(app))
}

async fn prune(app: &App) -> Result<Done, Error> {
    let pool = &app.pools.worker;
    let now = pool.clock().await?;
    let (old, over) = (now.minus(TOKEN_KEPT), now.minus(SESSION_KEPT));
    let mut done = Done::default();
    for tenant in tokens::tenants_to_prune(pool, old, over, WORKER_BATCH).await? {
        let mut tx = begin(app, WORKER, tenant).await?;
        let forgotten = [
            tokens::prune(&mut tx, old, WORKER_BATCH).await?,
            sessions::prune(&mut tx, over, WORKER_BATCH).await?,
        ];
        tx.commit().await?;
        done.items += forgotten.iter().sum::<u64>();
        done.has_more |= forgotten.iter().any(|count| *count >= u64::from(WORKER_BATCH));
    }
    Ok(done)
}
