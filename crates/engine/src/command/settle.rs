//! How workers conclude a decision: they store it, try again later, or leave the task alone because
//! it has moved on.

use std::collections::BTreeSet;

use ade_core::audit::Why;
use ade_core::ids::{TaskId, TenantId, UserId};
use ade_core::task::{Command, Decision, LoadedGates, Refusal};
use ade_store::installation;
use ade_store::scheduled_jobs::{self, ScheduledJob};

use super::schedule::JobKind;
use super::task_command::TaskCommand;
use crate::app::App;
use crate::error::Error;

impl TaskCommand<'_> {
    /// Loads what a permit depends on. A concurrent freeze of the installation waits for this
    /// transaction.
    pub async fn load_gates(
        &mut self,
        environments: BTreeSet<String>,
    ) -> Result<LoadedGates, Error> {
        let installation = installation::pass_gate(&mut self.tx).await?;
        Ok(LoadedGates::loaded(installation, environments))
    }

    /// Runs the single command of a worker's job, and concludes the job whatever the result.
    pub async fn try_out(
        app: &App,
        worker: &'static str,
        tenant: TenantId,
        task: TaskId,
        deadline: JobKind,
        command: Command,
    ) -> Result<(), Error> {
        let Some(work) = TaskCommand::by_worker(app, worker, tenant, task).await? else {
            return Ok(());
        };
        let decided = work.decide(&command);
        work.settle(deadline, &command, decided).await
    }

    /// Concludes a worker's decision: stores it, tries again later, or leaves the task alone
    /// because it has moved on.
    pub async fn settle(
        mut self: Box<Self>,
        deadline: JobKind,
        command: &Command,
        decided: Result<Decision, Refusal>,
    ) -> Result<(), Error> {
        match decided {
            Ok(decision) => self.keep_decision(command, &decision, Some(deadline)).await,
            Err(Refusal::NotDue { at }) => {
                let object = self.task.id.uuid();
                scheduled_jobs::set(
                    &mut self.tx,
                    &[ScheduledJob { kind: deadline.as_str(), object, at }],
                )
                .await?;
                Ok(self.tx.commit().await?)
            }
            Err(refusal) => {
                tracing::debug!(task = %self.task.id, %refusal, "command refused; nothing to do");
                self.forget(deadline).await
            }
        }
    }

    /// Stores the decision of a worker. `settled` is the scheduled job that is done.
    pub async fn keep_decision(
        mut self: Box<Self>,
        command: &Command,
        decision: &Decision,
        settled: Option<JobKind>,
    ) -> Result<(), Error> {
        self.settled = settled;
        let committed = self.write(command, decision, None, Why::default(), None).await?;
        self.commit(&committed).await
    }

    /// Removes the scheduled job, because nothing is left to do.
    pub async fn forget(mut self: Box<Self>, deadline: JobKind) -> Result<(), Error> {
        scheduled_jobs::clear(&mut self.tx, deadline.as_str(), self.task.id.uuid()).await?;
        Ok(self.tx.commit().await?)
    }

    /// Removes the jobs of an apply, because the task is no longer being applied.
    pub(crate) async fn forget_apply(mut self: Box<Self>) -> Result<(), Error> {
        let object = self.task.id.uuid();
        for deadline in [JobKind::RescueApply, JobKind::TimeApply] {
            scheduled_jobs::clear(&mut self.tx, deadline.as_str(), object).await?;
        }
        Ok(self.tx.commit().await?)
    }

    /// Returns a requested reviewer who can no longer answer.
    pub fn gone_reviewer(&self) -> Option<UserId> {
        let directory = &self.knowledge.book.directory;
        let mut reviewers = self.task.open_requests().map(|request| request.reviewer);
        reviewers.find(|reviewer| !directory.is_active(*reviewer))
    }
}
