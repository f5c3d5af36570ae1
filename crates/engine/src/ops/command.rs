//! A command that leaves the content of a task as it is: decided, written and answered with how
//! the task then stands. What differs from one to the next is the command and the status.

use ade_core::audit::Why;
use ade_core::step_up::Subject;
use ade_core::task::{Command, Decision, Task};

use super::Reply;
use super::decision::{Begun, Work};
use crate::error::Error;
use crate::present;

impl<'a> Work<'a> {
    /// What the rules say to it; what they deny is kept.
    pub(super) async fn decide_or_refuse(
        self: Box<Self>,
        command: &Command,
    ) -> Result<(Box<Work<'a>>, Decision), Error> {
        match self.decide(command) {
            Ok(decision) => Ok((self, decision)),
            Err(refusal) => Err(self.refuse(command, refusal).await),
        }
    }
}

/// The status may depend on where the task ends up; a task that is gone is shown as it was.
pub(super) async fn carry_out(
    begun: Begun<'_>,
    command: Command,
    why: Why,
    status: impl FnOnce(&Task) -> u16,
) -> Result<Reply, Error> {
    carry_out_confirmed(begun, command, why, |_| None, status).await
}

/// The same, once a passkey has given its word for what the task says of it; asked only of those
/// who may do it at all.
pub(super) async fn carry_out_confirmed(
    begun: Begun<'_>,
    command: Command,
    why: Why,
    subject: impl FnOnce(&Task) -> Option<Subject>,
    status: impl FnOnce(&Task) -> u16,
) -> Result<Reply, Error> {
    let work = match begun {
        Begun::Work(work) => work,
        Begun::Repeated(reply) => return Ok(reply),
    };
    let (work, decision) = work.decide_or_refuse(&command).await?;
    let subject = subject(&work.task);
    let work = work.confirmed(subject).await?;
    let (label, now, before) = (work.label.clone(), work.now(), work.task.clone());
    work.finish(&command, &decision, None, why, |next, _| {
        let task = next.unwrap_or(&before);
        Ok((status(task), present::decided(&label, task, now)))
    })
    .await
}
