//! Dead letters that an operator has sent through their group again: each alone, and out of order
//! by its nature, since what came after it was taken long ago.

use ade_core::actor::Actor;
use ade_core::group::Fault;
use ade_core::ids::{DeadEventId, TenantId};
use ade_core::limits::{GROUP_AWAY_PAUSE, WORKER_BATCH};
use ade_store::due::{self, Due};
use ade_store::groups::{self, DeadEvent, DeadState, REDRIVE};
use ade_store::{Gate, Tx};

use super::reading::begin;
use super::{Job, Trouble, Way};
use crate::app::App;
use crate::error::Error;
use crate::work::{Done, JOBS};

/// As the audit names whoever redrives.
pub(crate) const WORKER: &str = "event_redriver";

pub(crate) async fn redrive_due(app: &App) -> Result<Done, Error> {
    let due = due::next(&app.pools.worker, REDRIVE, WORKER_BATCH).await?;
    let has_more = due.len() >= usize::try_from(WORKER_BATCH).unwrap_or(usize::MAX);
    let mut done = Done { items: 0, has_more };
    for (tenant, due) in due {
        match redrive(app, tenant, &due).await {
            Ok(()) => done.items += 1,
            Err(error) => tracing::warn!(%tenant, %error, "a dead letter waits a little longer"),
        }
    }
    Ok(done)
}

async fn redrive(app: &App, tenant: TenantId, due: &Due) -> Result<(), Error> {
    let id = DeadEventId::from_uuid(due.object);
    let actor = Actor::system(WORKER);
    let mut tx = Tx::begin(&app.pools.worker, tenant, actor, Gate::Unasked).await?;
    let found = groups::find_dead(&mut tx, id).await?;
    let wanted = found.filter(|dead| dead.state == DeadState::Redriving);
    let job = wanted.as_ref().and_then(|dead| JOBS.iter().find(|job| job.group == dead.group));
    let (Some(dead), Some(job)) = (wanted, job) else {
        due::clear(&mut tx, REDRIVE, due.object).await?;
        return Ok(tx.commit().await?);
    };
    tx.roll_back().await;
    match take(app, *job, &dead).await {
        Ok(()) => Ok(()),
        Err(trouble) => put_back(app, &dead, due, &trouble).await,
    }
}

async fn take(app: &App, job: Job, dead: &DeadEvent) -> Result<(), Trouble> {
    let events = std::slice::from_ref(&dead.event);
    let (group, tenant) = (dead.group, dead.event.tenant);
    let mut tx = match job.way {
        Way::Within(take) => {
            let mut tx = begin(app, group, tenant).await?;
            if let Err(trouble) = take(app, &mut tx, events).await {
                tx.roll_back().await;
                return Err(trouble);
            }
            tx
        }
        Way::Outward(send) => {
            send(app, events).await?;
            begin(app, group, tenant).await?
        }
    };
    // Somebody else may have been faster: then nothing of ours counts.
    if groups::settle(&mut tx, dead.id, DeadState::Taken, None).await? {
        tx.commit().await?;
        (job.then)(app);
    } else {
        tx.roll_back().await;
    }
    Ok(())
}

/// Dead as before with the new reason; what is only away is asked again.
async fn put_back(app: &App, dead: &DeadEvent, due: &Due, why: &Trouble) -> Result<(), Error> {
    let mut tx = begin(app, dead.group, dead.event.tenant).await?;
    match why.fault {
        Fault::Away => {
            let later = tx.now().plus(GROUP_AWAY_PAUSE);
            due::postpone(&mut tx, due, later).await?;
        }
        Fault::Event => {
            groups::settle(&mut tx, dead.id, DeadState::Dead, Some(&why.problem)).await?;
        }
    }
    Ok(tx.commit().await?)
}
