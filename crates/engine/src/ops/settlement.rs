//! What workers do with a decision: keep it, come back later, or leave the task alone because it
//! has moved on.

use ade_core::audit::Why;
use ade_core::ids::{TaskId, TenantId, UserId};
use ade_core::task::{Command, Decision, Refusal};
use ade_store::due::{self, Due};
use ade_store::installation;

use super::deadline::Deadline;
use super::decision::Work;
use crate::app::App;
use crate::error::Error;

impl Work<'_> {
    /// Whether the whole installation is frozen. Whoever gives a permit asks before it decides:
    /// nobody freezes between here and the commit without waiting for it.
    pub async fn ask_installation(&mut self) -> Result<(), Error> {
        self.knowledge.installation = installation::pass_gate(&mut self.tx).await?;
        Ok(())
    }

    /// For a worker that has one command for what is due: whatever comes of it is settled.
    pub async fn try_out(
        app: &App,
        worker: &'static str,
        tenant: TenantId,
        task: TaskId,
        deadline: Deadline,
        command: Command,
    ) -> Result<(), Error> {
        let Some(work) = Work::by_worker(app, worker, tenant, task).await? else { return Ok(()) };
        let decided = work.decide(&command);
        work.settle(deadline, &command, decided).await
    }

    /// What a worker does with what was decided: keep it, come back later, or leave it alone
    /// because the task has moved on.
    pub async fn settle(
        mut self: Box<Self>,
        deadline: Deadline,
        command: &Command,
        decided: Result<Decision, Refusal>,
    ) -> Result<(), Error> {
        match decided {
            Ok(decision) => self.keep_decision(command, &decision, Some(deadline)).await,
            Err(Refusal::NotDue { at }) => {
                let object = self.task.id.uuid();
                due::set(&mut self.tx, &[Due { kind: deadline.as_str(), object, at }]).await?;
                Ok(self.tx.commit().await?)
            }
            Err(refusal) => {
                tracing::debug!(task = %self.task.id, %refusal, "nothing to do");
                self.forget(deadline).await
            }
        }
    }

    /// What a worker decided. `settled` is what it was told to look for and need not be told again.
    pub async fn keep_decision(
        mut self: Box<Self>,
        command: &Command,
        decision: &Decision,
        settled: Option<Deadline>,
    ) -> Result<(), Error> {
        self.settled = settled;
        let committed = self.write(command, decision, None, Why::default(), None).await?;
        self.commit(&committed).await
    }

    /// There is nothing to do any more for a worker who was told to look.
    pub async fn forget(mut self: Box<Self>, deadline: Deadline) -> Result<(), Error> {
        due::clear(&mut self.tx, deadline.as_str(), self.task.id.uuid()).await?;
        Ok(self.tx.commit().await?)
    }

    /// It is not being applied any more: nobody has to look after it.
    pub(super) async fn forget_apply(mut self: Box<Self>) -> Result<(), Error> {
        let object = self.task.id.uuid();
        for deadline in [Deadline::RescueApply, Deadline::TimeApply] {
            due::clear(&mut self.tx, deadline.as_str(), object).await?;
        }
        Ok(self.tx.commit().await?)
    }

    /// Somebody whose answer is waited for and who cannot give it any more.
    pub fn gone_reviewer(&self) -> Option<UserId> {
        let directory = &self.knowledge.book.directory;
        let mut reviewers = self.task.open_requests().map(|request| request.reviewer);
        reviewers.find(|reviewer| !directory.is_active(*reviewer))
    }
}
