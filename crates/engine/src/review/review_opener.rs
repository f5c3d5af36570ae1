//! Opens the review of submitted tasks: a task is auto-approved if every policy allows it,
//! otherwise the reviewers that the rules name are asked.

use ade_core::ids::{TaskId, TenantId};
use ade_core::limits::WORKER_BATCH;
use ade_core::task::{Command, Refusal};

use crate::app::App;
use crate::command::schedule::{self, JobKind};
use crate::command::task_command::TaskCommand;
use crate::worker::{Activation, Worker};

pub const WORKER: Worker = Worker {
    name: "review_opener",
    period: None,
    signal: Some(|app| &app.wake.review_opener),
    run,
};

fn run(app: &App) -> Activation<'_> {
    Box::pin(
        async move { schedule::for_each_due(app, JobKind::OpenReview, WORKER_BATCH, open).await },
    )
}

fn open(app: &App, tenant: TenantId, task: TaskId) -> schedule::Step<'_> {
    Box::pin(async move {
        let Some(work) = TaskCommand::by_worker(app, WORKER.name, tenant, task).await? else {
            return Ok(());
        };
        let passed = work.decide(&Command::AutoApprove);
        if let Err(Refusal::AutoApprovalRefused { .. }) = passed {
            let opened = work.decide(&Command::OpenReview);
            return work.settle(JobKind::OpenReview, &Command::OpenReview, opened).await;
        }
        work.settle(JobKind::OpenReview, &Command::AutoApprove, passed).await
    })
}
