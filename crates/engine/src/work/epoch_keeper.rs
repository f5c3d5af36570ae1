//! Notices that another life of a Redis master answers for a tenant. What the old one acknowledged
//! may be lost, so a new epoch begins: the queue is built anew from what is registered, and
//! advisory leases are refused until the last of the old ones must have run out.

use ade_core::ids::TenantId;
use ade_core::limits::LOCK_EPOCH_PERIOD;
use ade_store::locks::epochs;

use super::{Activation, Done, Worker, begin, in_each_space};
use crate::app::App;
use crate::error::Error;
use crate::locks::{Error as LockError, Queue, RedisQueue};

pub const WORKER: Worker =
    Worker { name: "epoch_keeper", period: Some(LOCK_EPOCH_PERIOD), signal: None, run };

fn run(app: &App) -> Activation<'_> {
    Box::pin(keep(app))
}

async fn keep(app: &App) -> Result<Done, Error> {
    let Some(Queue::Redis(redis)) = app.locks.as_ref().map(|keeper| &keeper.queue) else {
        return Ok(Done::default());
    };
    let begun = |tenant| async move { Ok(u64::from(look(app, redis, tenant).await?)) };
    Ok(Done { items: in_each_space(app, begun).await?, has_more: false })
}

/// Whether a new epoch was begun.
async fn look(app: &App, redis: &RedisQueue, tenant: TenantId) -> Result<bool, Error> {
    let answering = redis.cluster.master_replid(tenant).await.map_err(LockError::from)?;
    let mut tx = begin(app, WORKER, tenant).await?;
    let noted = epochs::replid(&mut tx).await?;
    tx.roll_back().await;
    if noted.as_ref() == Some(&answering) {
        return Ok(false);
    }
    // Noted last: whoever dies in between begins one epoch more, and none less.
    if noted.is_some() {
        redis.desk.begin_epoch(tenant, "another master answers").await?;
    }
    let mut tx = begin(app, WORKER, tenant).await?;
    epochs::note_replid(&mut tx, &answering).await?;
    tx.commit().await?;
    Ok(noted.is_some())
}
