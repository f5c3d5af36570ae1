//! Ends what nobody decided in time, and approvals that have run out. Time is neither a yes nor
//! a no: such a task expires.

use ade_core::ids::{TaskId, TenantId};
use ade_core::limits::WORKER_BATCH;
use ade_core::task::{Command, Refusal, Reopen};

use super::{Activation, Worker};
use crate::app::App;
use crate::ops::deadline::{self, Deadline};
use crate::ops::decision::Work;

pub const WORKER: Worker = Worker { name: "task_expirer", period: None, signal: None, run };

fn run(app: &App) -> Activation<'_> {
    Box::pin(
        async move { deadline::for_each_due(app, Deadline::Expire, WORKER_BATCH, expire).await },
    )
}

fn expire(app: &App, tenant: TenantId, task: TaskId) -> deadline::Step<'_> {
    Box::pin(async move {
        let Some(work) = Work::by_worker(app, WORKER.name, tenant, task).await? else {
            return Ok(());
        };
        let decided = work.decide(&Command::Expire);
        if matches!(decided, Err(Refusal::BasisLost(_))) {
            // Rules or people have changed, and `basis_checker` has not come to it yet.
            let again = Command::ReopenReview(Reopen::BasisLost);
            let decided = work.decide(&again);
            return work.settle(Deadline::Expire, &again, decided).await;
        }
        work.settle(Deadline::Expire, &Command::Expire, decided).await
    })
}
