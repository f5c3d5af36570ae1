//! Ends tasks that were not decided in time, and expired approvals. Time is neither an approval nor
//! a rejection: such a task expires.

use ade_core::ids::{TaskId, TenantId};
use ade_core::limits::WORKER_BATCH;
use ade_core::task::{Command, Refusal, Reopen};

use crate::app::App;
use crate::command::schedule::{self, JobKind};
use crate::command::task_command::TaskCommand;
use crate::worker::{Activation, Worker};

pub const WORKER: Worker = Worker { name: "task_expirer", period: None, signal: None, run };

fn run(app: &App) -> Activation<'_> {
    Box::pin(
        async move { schedule::for_each_due(app, JobKind::Expire, WORKER_BATCH, expire).await },
    )
}

fn expire(app: &App, tenant: TenantId, task: TaskId) -> schedule::Step<'_> {
    Box::pin(async move {
        let Some(work) = TaskCommand::by_worker(app, WORKER.name, tenant, task).await? else {
            return Ok(());
        };
        let decided = work.decide(&Command::Expire);
        if matches!(decided, Err(Refusal::BasisLost(_))) {
            // Rules or people have changed, and `basis_checker` has not checked the task yet.
            let again = Command::ReopenReview(Reopen::BasisLost);
            let decided = work.decide(&again);
            return work.settle(JobKind::Expire, &again, decided).await;
        }
        work.settle(JobKind::Expire, &Command::Expire, decided).await
    })
}
