//! Detects that a different Redis master answers for a tenant. Acknowledged writes may be lost, so
//! a new epoch starts: the queue is rebuilt from the registered holds, and advisory leases are
//! refused until the last of the old ones must have expired.

use std::time::Duration;

use ade_core::ids::TenantId;
use ade_store::locks::epochs;

use crate::app::App;
use crate::error::Error;
use crate::services::locks::LockQueue;
use crate::worker::{Activation, Done, Worker, begin, in_each_space};

/// Detection may be late because safety does not depend on it; it only affects advisory leases.
const LOCK_EPOCH_PERIOD: Duration = Duration::from_secs(1);

pub const WORKER: Worker =
    Worker { name: "epoch_keeper", period: Some(LOCK_EPOCH_PERIOD), signal: None, run };

fn run(app: &App) -> Activation<'_> {
    Box::pin(keep(app))
}

async fn keep(app: &App) -> Result<Done, Error> {
    let queue = app.locks.as_ref().map(|keeper| keeper.queue.as_ref());
    let Some(queue) = queue.filter(|queue| queue.is_separate()) else {
        return Ok(Done::default());
    };
    let begun = |tenant| async move { Ok(u64::from(look(app, queue, tenant).await?)) };
    Ok(Done { items: in_each_space(app, begun).await?, has_more: false })
}

/// Checks one tenant. Returns whether a new epoch has begun.
async fn look(app: &App, queue: &dyn LockQueue, tenant: TenantId) -> Result<bool, Error> {
    let Some(answering) = queue.master(tenant).await? else { return Ok(false) };
    let mut tx = begin(app, WORKER, tenant).await?;
    let noted = epochs::replid(&mut tx).await?;
    tx.roll_back().await;
    if noted.as_ref() == Some(&answering) {
        return Ok(false);
    }
    // The master is stored last: a crash in between starts one epoch too many, never one too few.
    if noted.is_some() {
        queue.begin_epoch(tenant, "Redis master changed").await?;
    }
    let mut tx = begin(app, WORKER, tenant).await?;
    epochs::note_replid(&mut tx, &answering).await?;
    tx.commit().await?;
    Ok(noted.is_some())
}
