//! Ends holds and sessions that are not kept alive, after their deadline and lock delay. From then
//! on their holders cannot commit, whether or not others want their resources.

use ade_core::event::EventKind;
use ade_core::ids::{LeaseId, TenantId};
use ade_core::limits::WORKER_BATCH;
use ade_store::locks::{many, sessions};
use ade_store::scheduled_jobs::{self, ScheduledJob};
use uuid::Uuid;

use super::{REAP, record_change};
use crate::app::App;
use crate::command::schedule::{take_up, worker_caller};
use crate::error::Error;
use crate::worker::{Activation, Done, Worker, begin, in_each_space};

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

/// Ends a silent hold. Returns whether it was ended; a hold that was kept alive is checked again at
/// its next deadline.
async fn end(app: &App, tenant: TenantId, lease: LeaseId) -> Result<bool, Error> {
    let mut tx = begin(app, WORKER, tenant).await?;
    let is_ended = many::reap(&mut tx, lease, LeaseId::from_uuid(Uuid::new_v4())).await?;
    if is_ended {
        let caller = worker_caller(app, WORKER.name, tenant);
        let kind = EventKind::LockExpired;
        record_change(&mut tx, &caller, "lock.expire", kind, lease, None, None).await?;
    }
    match many::due_at(&mut tx, lease).await? {
        Some(at) => {
            scheduled_jobs::set(&mut tx, &[ScheduledJob { kind: REAP, object: lease.uuid(), at }])
                .await?;
        }
        None => drop(scheduled_jobs::clear(&mut tx, REAP, lease.uuid()).await?),
    }
    tx.commit().await?;
    Ok(is_ended)
}
