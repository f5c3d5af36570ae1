//! The apply and its ends. One grant runs one attempt; every report must name that grant. What
//! is not known to have happened is never guessed: it is UNKNOWN until a person looks.

use std::time::Duration;

use super::basis;
use super::command::{Content, Found, Hold, Remains};
use super::decide::{Decision, Write};
use super::{Execution, Facts, Refusal, State, Task, content};
use crate::event::EventKind;
use crate::ids::ExecutionId;
use crate::limits::{APPLY_ATTEMPTS_MAX, APPLY_BACKOFF_BASE, APPLY_BACKOFF_MAX};
use crate::time::Timestamp;

/// The permit: everything that made the task APPROVED is asked again, now.
pub fn start(
    task: &Task,
    id: ExecutionId,
    hold: Hold,
    facts: &Facts<'_>,
    now: Timestamp,
) -> Result<Decision, Refusal> {
    facts.require_pins(task)?;
    basis::check(task, facts, now).map_err(Refusal::BasisLost)?;
    if let Some(freeze) = facts.installation {
        return Err(Refusal::InstallationFrozen(freeze.clone()));
    }
    if let Some(freeze) = facts.freeze(task, now) {
        return Err(Refusal::Frozen {
            id: freeze.id,
            reason: freeze.reason.clone(),
            ends_at: freeze.ends_at,
        });
    }
    if task.attempts >= APPLY_ATTEMPTS_MAX {
        return Err(Refusal::AttemptsExhausted);
    }
    if !facts.apply.has_capacity {
        return Err(Refusal::NoCapacity);
    }
    if !facts.apply.blocked.is_empty() {
        return Err(Refusal::ResourcesBlocked(facts.apply.blocked.to_vec()));
    }
    let execution = Execution {
        id,
        holder: facts.actor.clone(),
        hold,
        started_at: now,
        begun_at: None,
        abort_requested: false,
    };
    Ok(Decision::to(task, State::Applying)
        .write(Write::StartExecution(execution))
        .tell(EventKind::TaskApplying))
}

fn held(task: &Task, hold: Hold) -> Result<&Execution, Refusal> {
    task.execution.as_ref().filter(|execution| execution.hold == hold).ok_or(Refusal::NotTheHold)
}

fn running(task: &Task) -> Result<&Execution, Refusal> {
    task.execution.as_ref().ok_or(Refusal::NotTheHold)
}

fn require_not_begun(execution: &Execution) -> Result<(), Refusal> {
    match execution.begun_at {
        Some(at) => Err(Refusal::AlreadyBegun { at }),
        None => Ok(()),
    }
}

pub fn begin(task: &Task, hold: Hold) -> Result<Decision, Refusal> {
    let execution = held(task, hold)?;
    require_not_begun(execution)?;
    if execution.abort_requested {
        return Err(Refusal::AbortAsked);
    }
    Ok(Decision::stay(task).write(Write::Begin).tell(EventKind::TaskApplyBegun))
}

pub fn drift(task: &Task, hold: Hold, seen: &Content) -> Result<Decision, Refusal> {
    require_not_begun(held(task, hold)?)?;
    if seen.digest == task.content.digest {
        return Err(Refusal::NotDrifted);
    }
    Ok(Decision::to(task, State::Submitted)
        .write(Write::EndExecution)
        .write(Write::ClearBasis)
        .write(Write::Revise { content: seen.clone(), editor: None })
        .tell(EventKind::TaskDrifted))
}

/// The holder died before it began: somebody else may try, unless a stop was asked for.
pub fn requeue(task: &Task, facts: &Facts<'_>, now: Timestamp) -> Result<Decision, Refusal> {
    let execution = running(task)?;
    require_not_begun(execution)?;
    if !facts.apply.hold_is_fenced {
        return Err(Refusal::HolderMayLive);
    }
    Ok(end_unbegun(task, execution, now))
}

/// One whose holders die again and again before they begin is not tried for ever.
fn end_unbegun(task: &Task, execution: &Execution, now: Timestamp) -> Decision {
    let end = |state, event| Decision::to(task, state).write(Write::EndExecution).tell(event);
    if execution.abort_requested {
        return end(State::Cancelled, EventKind::TaskCancelled).write(Write::ClearBasis);
    }
    if task.attempts >= APPLY_ATTEMPTS_MAX {
        return end(State::Failed, EventKind::TaskFailed);
    }
    // The first lost attempt is nobody's fault but its holder's.
    let pause = if task.attempts > 1 { backoff(task.attempts) } else { Duration::ZERO };
    end(State::Approved, EventKind::TaskRequeued).write(Write::NotBefore(now.plus(pause)))
}

pub fn finish(task: &Task, hold: Hold) -> Result<Decision, Refusal> {
    if held(task, hold)?.begun_at.is_none() {
        return Err(Refusal::NotBegun);
    }
    Ok(Decision::to(task, State::Completed)
        .write(Write::EndExecution)
        .tell(EventKind::TaskCompleted))
}

pub fn fail(
    task: &Task,
    hold: Hold,
    remains: Remains,
    now: Timestamp,
) -> Result<Decision, Refusal> {
    let execution = held(task, hold)?;
    let has_begun = execution.begun_at.is_some();
    let is_clean = match remains {
        Remains::Nothing | Remains::RolledBack => true,
        Remains::Changed => false,
    };
    if !has_begun && execution.abort_requested {
        return Ok(end_unbegun(task, execution, now));
    }
    let may_retry = is_clean && !execution.abort_requested && task.attempts < APPLY_ATTEMPTS_MAX;
    if may_retry {
        return Ok(Decision::to(task, State::Approved)
            .write(Write::EndExecution)
            .write(Write::NotBefore(now.plus(backoff(task.attempts))))
            .tell(EventKind::TaskRequeued));
    }
    Ok(Decision::to(task, State::Failed).write(Write::EndExecution).tell(EventKind::TaskFailed))
}

/// Doubles with every attempt; the shell adds jitter on top.
fn backoff(attempts: u32) -> Duration {
    let doublings = attempts.saturating_sub(1);
    let factor = 2_u32.saturating_pow(doublings);
    APPLY_BACKOFF_BASE.saturating_mul(factor).min(APPLY_BACKOFF_MAX)
}

/// The holder died after it began. Its execution stays on the task until somebody has looked.
pub fn lose(task: &Task, facts: &Facts<'_>) -> Result<Decision, Refusal> {
    if running(task)?.begun_at.is_none() {
        return Err(Refusal::NotBegun);
    }
    if !facts.apply.hold_is_over {
        return Err(Refusal::HolderMayLive);
    }
    Ok(Decision::to(task, State::Unknown).tell(EventKind::TaskUnknown))
}

/// The lost holder speaks after all: evidence for whoever reconciles, and nothing more.
pub fn report_late(task: &Task, hold: Hold, remains: Option<Remains>) -> Result<Decision, Refusal> {
    held(task, hold)?;
    Ok(Decision::stay(task).write(Write::LateReport { remains }).tell(EventKind::TaskLateReport))
}

pub fn reconcile(
    task: &Task,
    found: Found,
    reason: &str,
    facts: &Facts<'_>,
) -> Result<Decision, Refusal> {
    content::require_reason(Some(reason))?;
    let state = match found {
        Found::Completed => State::Completed,
        Found::Failed => State::Failed,
        Found::NotApplied if facts.apply.hold_is_fenced && facts.apply.lock_delay_is_over => {
            State::Approved
        }
        Found::NotApplied => return Err(Refusal::HolderMayLive),
    };
    let decision = Decision::to(task, state).write(Write::EndExecution);
    // Somebody has looked: what was tried before does not count against it.
    let decision = match found {
        Found::NotApplied => decision.write(Write::ResetAttempts),
        Found::Completed | Found::Failed => decision,
    };
    Ok(decision.tell(EventKind::TaskReconciled))
}

/// Back into the queue if the approval still stands, else back to the reviewers.
pub fn retry(task: &Task, facts: &Facts<'_>, now: Timestamp) -> Decision {
    let decision = if basis::check(task, facts, now).is_ok() {
        Decision::to(task, State::Approved)
    } else {
        Decision::to(task, State::Submitted).write(Write::ClearBasis)
    };
    decision.write(Write::ResetAttempts).tell(EventKind::TaskRetried)
}
