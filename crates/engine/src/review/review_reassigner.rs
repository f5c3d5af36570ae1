//! Asks another person in place of a deactivated reviewer: their delegate, or their manager. This
//! is not an escalation step.

use ade_core::ids::{TaskId, TenantId};
use ade_core::limits::WORKER_BATCH;
use ade_core::task::{Command, Escalation};

use crate::app::App;
use crate::command::schedule::{self, JobKind};
use crate::command::task_command::TaskCommand;
use crate::worker::{Activation, Worker};

pub const WORKER: Worker = Worker { name: "review_reassigner", period: None, signal: None, run };

fn run(app: &App) -> Activation<'_> {
    Box::pin(
        async move { schedule::for_each_due(app, JobKind::Reassign, WORKER_BATCH, reassign).await },
    )
}

/// Makes one decision per deactivated reviewer; the job is removed once none is left.
fn reassign(app: &App, tenant: TenantId, task: TaskId) -> schedule::Step<'_> {
    Box::pin(async move {
        while let Some(work) = TaskCommand::by_worker(app, WORKER.name, tenant, task).await? {
            let Some(reviewer) = work.gone_reviewer() else {
                return work.forget(JobKind::Reassign).await;
            };
            let command = Command::Escalate(Escalation::Deactivated { reviewer });
            let decision = work.decide(&command)?;
            work.keep_decision(&command, &decision, None).await?;
        }
        Ok(())
    })
}
