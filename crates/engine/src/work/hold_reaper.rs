//! Ends what nobody keeps alive: holds whose deadline and lock delay are over, and sessions. From
//! then on their holders cannot commit, whether or not somebody else came for their resources.

use ade_core::event::EventKind;
use ade_core::ids::{LeaseId, TenantId};
use ade_core::limits::WORKER_BATCH;
use ade_store::due::{self, Due};
use ade_store::locks::{many, sessions};
use uuid::Uuid;

use super::{Activation, Done, Worker, begin, in_each_space};
use crate::app::App;
use crate::error::Error;
use crate::ops::deadline::{take_up, worker_caller};
use crate::ops::locks::{REAP, told};

pub const WORKER: Worker = Worker { name: "hold_reaper", period: None, signal: None, run };

fn run(app: &App) -> Activation<'_> {
    Box::pin(reap(app))
}

async fn reap(app: &App) -> Result<Done, Error> {
    let end = |tenant, lease| end(app, tenant, LeaseId::from_uuid(lease));
    let mut done = take_up(app, REAP, WORKER_BATCH, 1, end).await?;
    if done.items == 0 {
        let close = |tenant| async move {
            let mut tx = begin(app, WORKER, tenant).await?;
            let closed = sessions::close_silent(&mut tx).await?;
            tx.commit().await?;
            Ok(closed)
        };
        done.items = in_each_space(app, close).await?;
    }
    Ok(done)
}

/// Whether it was ended; one that was kept alive is looked at again when it may be over.
async fn end(app: &App, tenant: TenantId, lease: LeaseId) -> Result<bool, Error> {
    let mut tx = begin(app, WORKER, tenant).await?;
    let is_ended = many::reap(&mut tx, lease, LeaseId::from_uuid(Uuid::new_v4())).await?;
    if is_ended {
        let caller = worker_caller(app, WORKER.name, tenant);
        let kind = EventKind::LockExpired;
        told(&mut tx, &caller, "lock.expire", kind, lease, None, None).await?;
    }
    match many::due_at(&mut tx, lease).await? {
        Some(at) => due::set(&mut tx, &[Due { kind: REAP, object: lease.uuid(), at }]).await?,
        None => drop(due::clear(&mut tx, REAP, lease.uuid()).await?),
    }
    tx.commit().await?;
    Ok(is_ended)
}
