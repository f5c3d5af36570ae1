//! What follows an attempt's steps outside its transaction: the queue learns, the task goes where
//! it belongs, whoever waits is stirred. None of it is needed for safety; what is missed is found
//! by those who look again.

use ade_core::ids::{LeaseId, TaskId, TenantId};
use ade_core::task::{Command, Reopen};

use crate::app::App;
use crate::error::Error;
use crate::locks::Queue;
use crate::ops::decision::Work;

/// The permit found the basis gone: people are asked again, and the task says what is missing.
pub(super) async fn reopen(app: &App, tenant: TenantId, task: TaskId) -> Result<(), Error> {
    let Some(work) = Work::by_worker(app, "permit", tenant, task).await? else { return Ok(()) };
    let command = Command::ReopenReview(Reopen::BasisLost);
    match work.decide(&command) {
        Ok(decision) => work.keep_decision(&command, &decision, None).await,
        Err(refusal) => {
            tracing::debug!(%task, %refusal, "nothing to ask again");
            work.roll_back().await;
            Ok(())
        }
    }
}

/// From here on the queue keeps its resources until the lock delay is over, should it fall silent.
/// A grant that it does not know yet it learns of.
pub(super) async fn tell_queue(app: &App, tenant: TenantId, lease: LeaseId, is_queued: bool) {
    let Some(keeper) = &app.locks else { return };
    let Queue::Redis(redis) = &keeper.queue else { return };
    let told = async {
        if is_queued {
            redis.desk.registered(tenant, lease).await?;
            redis.desk.renew(tenant, &[lease]).await?;
            return Ok(());
        }
        redis.desk.adopt(tenant, &[lease]).await
    };
    if let Err(error) = told.await {
        tracing::debug!(%error, "the queue learns of a permit later");
    }
}

/// Out of the line, or back what it was granted.
pub(super) async fn withdraw(app: &App, tenant: TenantId, lease: LeaseId) {
    let Some(keeper) = &app.locks else { return };
    if let Err(error) = keeper.release(tenant, lease).await {
        tracing::debug!(%error, "the queue learns of a release when it runs out");
    }
}

/// An attempt has ended: what it held is free, and so is a slot of its agent.
pub(super) async fn over(app: &App, tenant: TenantId, lease: LeaseId) {
    withdraw(app, tenant, lease).await;
    app.claims.announce(tenant);
}
