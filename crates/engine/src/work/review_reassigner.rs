//! Asks somebody else where a reviewer was asked who is here no more: their delegate, or their
//! manager. It takes no step of the escalation, which goes on by its own time.

use ade_core::ids::{TaskId, TenantId};
use ade_core::limits::WORKER_BATCH;
use ade_core::task::{Command, Escalation};

use super::{Activation, Worker};
use crate::app::App;
use crate::ops::deadline::{self, Deadline};
use crate::ops::decision::Work;

pub const WORKER: Worker = Worker { name: "review_reassigner", period: None, signal: None, run };

fn run(app: &App) -> Activation<'_> {
    Box::pin(async move {
        deadline::for_each_due(app, Deadline::Reassign, WORKER_BATCH, reassign).await
    })
}

/// One decision for each who is gone; the word about them is forgotten once nobody is left.
fn reassign(app: &App, tenant: TenantId, task: TaskId) -> deadline::Step<'_> {
    Box::pin(async move {
        while let Some(work) = Work::by_worker(app, WORKER.name, tenant, task).await? {
            let Some(reviewer) = work.gone_reviewer() else {
                return work.forget(Deadline::Reassign).await;
            };
            let command = Command::Escalate(Escalation::Deactivated { reviewer });
            let decision = work.decide(&command)?;
            work.keep_decision(&command, &decision, None).await?;
        }
        Ok(())
    })
}
