//! Opens the review of what was submitted: lets it pass where every policy has a clause for it,
//! else asks the people the rules name.

use ade_core::ids::{TaskId, TenantId};
use ade_core::limits::WORKER_BATCH;
use ade_core::task::{Command, Refusal};

use super::{Activation, Worker};
use crate::app::App;
use crate::ops::deadline::{self, Deadline};
use crate::ops::decision::Work;

pub const WORKER: Worker = Worker {
    name: "review_opener",
    period: None,
    signal: Some(|app| &app.wake.review_opener),
    run,
};

fn run(app: &App) -> Activation<'_> {
    Box::pin(
        async move { deadline::for_each_due(app, Deadline::OpenReview, WORKER_BATCH, open).await },
    )
}

fn open(app: &App, tenant: TenantId, task: TaskId) -> deadline::Step<'_> {
    Box::pin(async move {
        let Some(work) = Work::by_worker(app, WORKER.name, tenant, task).await? else {
            return Ok(());
        };
        let passed = work.decide(&Command::AutoApprove);
        if let Err(Refusal::AutoApprovalRefused { .. }) = passed {
            let opened = work.decide(&Command::OpenReview);
            return work.settle(Deadline::OpenReview, &Command::OpenReview, opened).await;
        }
        work.settle(Deadline::OpenReview, &Command::AutoApprove, passed).await
    })
}
