//! Follow-up steps of an attempt outside of its transaction: the queue is updated, the task moves
//! on, and waiters are woken. None of this is needed for safety; missed steps are made up for by
//! later polls.

use ade_core::ids::{LeaseId, TaskId, TenantId};
use ade_core::task::{Command, Reopen};

use crate::app::App;
use crate::command::task_command::TaskCommand;
use crate::error::Error;

/// Reopens the review, because the permit found that the approval is no longer valid. The task then
/// shows what is missing.
pub(super) async fn reopen(app: &App, tenant: TenantId, task: TaskId) -> Result<(), Error> {
    let Some(work) = TaskCommand::by_worker(app, "permit", tenant, task).await? else {
        return Ok(());
    };
    let command = Command::ReopenReview(Reopen::BasisLost);
    match work.decide(&command) {
        Ok(decision) => work.keep_decision(&command, &decision, None).await,
        Err(refusal) => {
            tracing::debug!(%task, %refusal, "re-review not needed");
            work.roll_back().await;
            Ok(())
        }
    }
}

/// Records the permit in the queue, which from then on keeps the resources until the lock delay is
/// over if the holder falls silent. A grant that the queue does not know is imported.
pub(super) async fn tell_queue(app: &App, tenant: TenantId, lease: LeaseId, is_queued: bool) {
    let Some(keeper) = &app.locks else { return };
    let update = async {
        if is_queued {
            keeper.queue.registered(tenant, lease).await?;
            return keeper.queue.refresh(tenant, lease).await;
        }
        keeper.queue.adopt(tenant, &[lease]).await
    };
    if let Err(error) = update.await {
        tracing::debug!(
            %error,
            "failed to record permit in the lock queue; it will be corrected later"
        );
    }
}

/// Leaves the queue, or releases what was granted.
pub(super) async fn withdraw(app: &App, tenant: TenantId, lease: LeaseId) {
    let Some(keeper) = &app.locks else { return };
    if let Err(error) = keeper.queue.release(tenant, lease).await {
        tracing::debug!(%error, "failed to release locks in the queue; they will expire");
    }
}

/// Releases the locks of an ended attempt, and notifies claimers of the free slot.
pub(super) async fn over(app: &App, tenant: TenantId, lease: LeaseId) {
    withdraw(app, tenant, lease).await;
    app.claims.announce(tenant);
}
