//! Commands that leave the content of a task unchanged: they are decided, written, and answered
//! with the resulting state of the task. They differ in the command and the status.

use ade_core::audit::Why;
use ade_core::step_up::ConfirmationSubject;
use ade_core::task::{Command, Decision, Task};

use super::present;
use super::task_command::TaskCommand;
use super::{Reply, confirmation};
use crate::error::Error;

impl<'a> TaskCommand<'a> {
    /// Decides the command; a denied permission is recorded.
    pub(crate) async fn decide_or_refuse(
        self: Box<Self>,
        command: &Command,
    ) -> Result<(Box<TaskCommand<'a>>, Decision), Error> {
        match self.decide(command) {
            Ok(decision) => Ok((self, decision)),
            Err(refusal) => Err(self.refuse(command, refusal).await),
        }
    }

    /// Continues only if the caller's passkey has confirmed exactly this action, where a
    /// confirmation is required. The decision is returned with a mark if the passkey is too new and
    /// counts only because the tenant is in setup.
    pub(crate) async fn confirmed(
        mut self: Box<Self>,
        command: &Command,
        decision: Decision,
        subject: Option<ConfirmationSubject>,
    ) -> Result<(Box<TaskCommand<'a>>, Decision), Error> {
        let Some(subject) = subject else { return Ok((self, decision)) };
        let (app, caller) = (self.app(), self.caller().clone());
        let used = match confirmation::require(app, &caller, &mut self.tx, &subject).await {
            Ok(used) => used,
            // The key must be free before the caller learns of the refusal, because the caller
            // retries with it.
            Err(error) => {
                self.roll_back().await;
                return Err(error);
            }
        };
        let counts_from = used.counts_from.filter(|_| subject.needs_tenured_passkey());
        match self.knowledge.book.authority.judge_passkey(counts_from, self.now()) {
            Ok(mark) => Ok((self, decision.with_mark(mark))),
            Err(refusal) => Err(self.refuse(command, refusal).await),
        }
    }
}

/// Runs a command. The status may depend on the resulting state of the task; a deleted task is
/// shown as it was.
pub(crate) async fn carry_out(
    work: Box<TaskCommand<'_>>,
    command: Command,
    why: Why,
    status: impl FnOnce(&Task) -> u16,
) -> Result<Reply, Error> {
    carry_out_confirmed(work, command, why, |_| None, status).await
}

/// Runs a command after a passkey confirmation of its subject. The confirmation is requested only
/// from callers who may run the command.
pub(crate) async fn carry_out_confirmed(
    work: Box<TaskCommand<'_>>,
    command: Command,
    why: Why,
    subject: impl FnOnce(&Task) -> Option<ConfirmationSubject>,
    status: impl FnOnce(&Task) -> u16,
) -> Result<Reply, Error> {
    let (work, decision) = work.decide_or_refuse(&command).await?;
    let subject = subject(&work.task);
    let (work, decision) = work.confirmed(&command, decision, subject).await?;
    let (app, now) = (work.app(), work.now());
    let (label, before) = (work.label.clone(), work.task.clone());
    work.finish(&command, &decision, None, why, |next, _| {
        let task = next.unwrap_or(&before);
        Ok((status(task), present::decided(app, &label, task, now)))
    })
    .await
}
