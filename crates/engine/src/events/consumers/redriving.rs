//! Dead letters that an operator has sent through their group again. Each is processed alone and
//! out of order, since the events after it were processed long ago.

use ade_core::actor::Actor;
use ade_core::consumer::{Consumer, ConsumerFault};
use ade_core::ids::{DeadEventId, TenantId};
use ade_core::limits::{GROUP_AWAY_PAUSE, WORKER_BATCH};
use ade_store::consumers::{self, DeadEvent, DeadState, REDRIVE};
use ade_store::scheduled_jobs::{self, JobBatch, ScheduledJob};
use ade_store::{TenantLock, Tx};

use super::reading::{begin, is_exported};
use super::{DeliveryMode, Job};
use crate::app::App;
use crate::error::Error;
use crate::services::export::Trouble;
use crate::worker::Done;

/// The name of the redriver in the audit log.
pub(crate) const WORKER: &str = "event_redriver";

pub(crate) async fn redrive_due(
    app: &App,
    jobs: fn(Consumer) -> Option<Job>,
) -> Result<Done, Error> {
    let batch = JobBatch::shared(WORKER_BATCH);
    let due = scheduled_jobs::next(&app.pools.worker, REDRIVE, batch).await?;
    let mut done = Done { items: 0, has_more: batch.is_used_up(&due) };
    for (tenant, due) in due {
        match redrive(app, jobs, tenant, &due).await {
            Ok(()) => done.items += 1,
            Err(error) => {
                done.has_more = false;
                tracing::warn!(%tenant, %error, "dead event redrive failed; will retry");
            }
        }
    }
    Ok(done)
}

async fn redrive(
    app: &App,
    jobs: fn(Consumer) -> Option<Job>,
    tenant: TenantId,
    due: &ScheduledJob,
) -> Result<(), Error> {
    let id = DeadEventId::from_uuid(due.object);
    let actor = Actor::system(WORKER);
    let mut tx = Tx::begin(&app.pools.worker, tenant, actor, TenantLock::None).await?;
    let found = consumers::find_dead(&mut tx, id).await?;
    let wanted = found.filter(|dead| dead.state == DeadState::Redriving);
    let job = wanted.as_ref().and_then(|dead| jobs(dead.group));
    let (Some(dead), Some(job)) = (wanted, job) else {
        scheduled_jobs::clear(&mut tx, REDRIVE, due.object).await?;
        return Ok(tx.commit().await?);
    };
    tx.roll_back().await;
    match take(app, job, &dead).await {
        Ok(()) => Ok(()),
        Err(trouble) => put_back(app, &dead, due, &trouble).await,
    }
}

async fn take(app: &App, job: Job, dead: &DeadEvent) -> Result<(), Trouble> {
    let events = std::slice::from_ref(&dead.event);
    let (group, tenant) = (dead.group, dead.event.tenant);
    let mut tx = match job.way {
        DeliveryMode::Transactional(take) => {
            let mut tx = begin(app, group, tenant).await?;
            if let Err(trouble) = take(app, &mut tx, events).await {
                tx.roll_back().await;
                return Err(trouble);
            }
            tx
        }
        DeliveryMode::Outward(send) => {
            let mut tx = begin(app, group, tenant).await?;
            let is_exported = is_exported(app, &mut tx).await?;
            tx.roll_back().await;
            if !is_exported {
                return Err(Trouble::of_event("the export sink does not serve this tenant"));
            }
            send(app, events).await?;
            begin(app, group, tenant).await?
        }
    };
    // Another process may have been faster: then this result is discarded.
    if consumers::settle(&mut tx, dead.id, DeadState::Taken, None).await? {
        tx.commit().await?;
        (job.then)(app);
    } else {
        tx.roll_back().await;
    }
    Ok(())
}

/// Returns the event to the dead letters with the new reason; if only the dependency is
/// unavailable, the event is retried.
async fn put_back(
    app: &App,
    dead: &DeadEvent,
    due: &ScheduledJob,
    why: &Trouble,
) -> Result<(), Error> {
    let mut tx = begin(app, dead.group, dead.event.tenant).await?;
    match why.fault {
        ConsumerFault::Away => {
            let later = tx.now().plus(GROUP_AWAY_PAUSE);
            scheduled_jobs::postpone(&mut tx, due, later).await?;
        }
        ConsumerFault::Event => {
            consumers::settle(&mut tx, dead.id, DeadState::Dead, Some(&why.problem)).await?;
        }
    }
    Ok(tx.commit().await?)
}
