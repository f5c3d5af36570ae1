//! Applying a task. One grant runs one attempt, and every report must name that grant. An outcome
//! that is not known is never guessed: the task is UNKNOWN until a person reconciles it.

use std::time::Duration;

use super::basis;
use super::command::{ApplyResult, Content, Hold, ReconcileFinding, Remains};
use super::decision::{Decision, Write};
use super::{DecisionOutcome, Execution, Facts, LoadedGates, Refusal, State, Task, content};
use crate::change::Drift;
use crate::event::EventKind;
use crate::ids::ExecutionId;
use crate::limits::{APPLY_ATTEMPTS_MAX, APPLY_BACKOFF_BASE, APPLY_BACKOFF_MAX};
use crate::time::Timestamp;

/// Checks what a permit depends on: everything that made the task APPROVED, and no freeze. Returns
/// until when the approval holds.
fn check_permit(
    task: &Task,
    gates: &LoadedGates,
    facts: &Facts<'_>,
    now: Timestamp,
) -> Result<Timestamp, Refusal> {
    facts.require_pins(task)?;
    let until = basis::check(task, facts, now).map_err(Refusal::BasisLost)?;
    if let Some(freeze) = gates.installation() {
        return Err(Refusal::InstallationFrozen(freeze.clone()));
    }
    if let Some(freeze) = gates.freeze(facts.freezes, task, now) {
        return Err(Refusal::Frozen {
            id: freeze.id,
            reason: freeze.reason.clone(),
            ends_at: freeze.ends_at,
        });
    }
    Ok(until)
}

/// Grants the permit. Everything that made the task APPROVED is checked again.
pub fn start(
    task: &Task,
    id: ExecutionId,
    hold: Hold,
    gates: &LoadedGates,
    facts: &Facts<'_>,
    now: Timestamp,
) -> Result<Decision, Refusal> {
    check_permit(task, gates, facts, now)?;
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
        holder: facts.actor.without_credential(),
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

/// Returns the attempt that may still begin or end without any effect.
fn require_open(task: &Task, hold: Hold) -> Result<(), Refusal> {
    let execution = held(task, hold)?;
    require_not_begun(execution)?;
    if execution.abort_requested {
        return Err(Refusal::AbortRequested);
    }
    Ok(())
}

/// Begins the attempt. The permit may be minutes old, so what it depends on is checked again.
pub fn begin(
    task: &Task,
    hold: Hold,
    gates: &LoadedGates,
    facts: &Facts<'_>,
    now: Timestamp,
) -> Result<Decision, Refusal> {
    require_open(task, hold)?;
    check_permit(task, gates, facts, now)?;
    Ok(Decision::stay(task).write(Write::Begin).tell(EventKind::TaskStarted))
}

/// Takes back a permit that would not be granted now. An approval that is still valid waits for the
/// end of the freeze; one that is not goes back to the reviewers. Neither counts against the task.
pub fn withdraw_permit(
    task: &Task,
    hold: Hold,
    gates: &LoadedGates,
    facts: &Facts<'_>,
    now: Timestamp,
) -> Result<Decision, Refusal> {
    require_open(task, hold)?;
    let decision = match check_permit(task, gates, facts, now) {
        Ok(until) => return Err(Refusal::BasisStands { until }),
        Err(Refusal::BasisLost(_)) => Decision::to(task, State::Submitted)
            .write(Write::ClearBasis)
            .tell(EventKind::TaskReviewReopened),
        Err(Refusal::Frozen { .. } | Refusal::InstallationFrozen(_)) => {
            Decision::to(task, State::Approved).tell(EventKind::TaskRequeued)
        }
        Err(refusal) => return Err(refusal),
    };
    Ok(decision.write(Write::EndExecution).write(Write::ResetAttempts))
}

/// Returns the task to its reviewers, because its effect has changed, or a resource that the
/// preview saw. `moved` is what [`PreviewVersions::drift`] found.
///
/// [`PreviewVersions::drift`]: crate::change::PreviewVersions::drift
pub fn drift(
    task: &Task,
    hold: Hold,
    seen: &Content,
    moved: &[Drift],
) -> Result<Decision, Refusal> {
    require_not_begun(held(task, hold)?)?;
    if seen.digest == task.content.digest && moved.is_empty() {
        return Err(Refusal::NotDrifted);
    }
    Ok(Decision::to(task, State::Submitted)
        .write(Write::EndExecution)
        .write(Write::ClearBasis)
        .write(Write::preview(seen))
        .tell(EventKind::TaskDrifted))
}

/// Requeues a task whose holder died before it began, unless a cancellation was requested.
pub fn requeue(task: &Task, facts: &Facts<'_>, now: Timestamp) -> Result<Decision, Refusal> {
    let execution = running(task)?;
    require_not_begun(execution)?;
    if !facts.apply.hold_is_fenced {
        return Err(Refusal::HolderMayLive);
    }
    Ok(end_unbegun(task, execution, facts, now))
}

/// Ends an attempt that never began. The task fails after too many attempts.
fn end_unbegun(task: &Task, execution: &Execution, facts: &Facts<'_>, now: Timestamp) -> Decision {
    let end = |state, event| Decision::to(task, state).write(Write::EndExecution).tell(event);
    if execution.abort_requested {
        let reason = "a cancellation was requested before the apply began";
        return end(State::Cancelled, EventKind::TaskCancelled).write(Write::ClearBasis).write(
            Write::Decide(facts.decided(task, DecisionOutcome::Cancelled, Some(reason), now)),
        );
    }
    if task.attempts >= APPLY_ATTEMPTS_MAX {
        return end(State::Failed, EventKind::TaskFailed);
    }
    // The first lost attempt is attributed to its holder, so there is no delay.
    let pause = if task.attempts > 1 { backoff(task.attempts) } else { Duration::ZERO };
    end(State::Approved, EventKind::TaskRequeued).write(Write::NotBefore(now.plus(pause)))
}

pub fn finish(task: &Task, hold: Hold, result: ApplyResult) -> Result<Decision, Refusal> {
    if held(task, hold)?.begun_at.is_none() {
        return Err(Refusal::NotBegun);
    }
    let decision = Decision::to(task, State::Completed).write(Write::EndExecution);
    let decision = match result {
        ApplyResult::Succeeded => decision,
        ApplyResult::ReleasedToHost => decision.write(Write::ReleaseToHost),
    };
    Ok(decision.tell(EventKind::TaskCompleted))
}

pub fn fail(
    task: &Task,
    hold: Hold,
    remains: Remains,
    facts: &Facts<'_>,
    now: Timestamp,
) -> Result<Decision, Refusal> {
    let execution = held(task, hold)?;
    let has_begun = execution.begun_at.is_some();
    let is_clean = match remains {
        Remains::Nothing | Remains::RolledBack => true,
        Remains::Changed => false,
    };
    if !has_begun && execution.abort_requested {
        return Ok(end_unbegun(task, execution, facts, now));
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

/// Returns the delay before the next attempt. It doubles each time; the caller adds jitter.
fn backoff(attempts: u32) -> Duration {
    let doublings = attempts.saturating_sub(1);
    let factor = 2_u32.saturating_pow(doublings);
    APPLY_BACKOFF_BASE.saturating_mul(factor).min(APPLY_BACKOFF_MAX)
}

/// Records that the holder died after it began. Its execution stays on the task until it is
/// reconciled.
pub fn lose(task: &Task, facts: &Facts<'_>) -> Result<Decision, Refusal> {
    if running(task)?.begun_at.is_none() {
        return Err(Refusal::NotBegun);
    }
    if !facts.apply.hold_is_over {
        return Err(Refusal::HolderMayLive);
    }
    Ok(Decision::to(task, State::Unknown).tell(EventKind::TaskUnknown))
}

/// Records a late report of the lost holder, as evidence for the reconciliation only.
pub fn report_late(task: &Task, hold: Hold, remains: Option<Remains>) -> Result<Decision, Refusal> {
    held(task, hold)?;
    Ok(Decision::stay(task).write(Write::LateReport { remains }).tell(EventKind::TaskLateReport))
}

pub fn reconcile(
    task: &Task,
    found: ReconcileFinding,
    reason: &str,
    facts: &Facts<'_>,
) -> Result<Decision, Refusal> {
    content::require_reason(Some(reason))?;
    let state = match found {
        ReconcileFinding::Completed => State::Completed,
        ReconcileFinding::Failed => State::Failed,
        ReconcileFinding::NotApplied
            if facts.apply.hold_is_fenced && facts.apply.lock_delay_is_over =>
        {
            State::Approved
        }
        ReconcileFinding::NotApplied => return Err(Refusal::HolderMayLive),
    };
    let decision = Decision::to(task, state).write(Write::EndExecution);
    // A person has reconciled the task: earlier attempts do not count against it.
    let decision = match found {
        ReconcileFinding::NotApplied => decision.write(Write::ResetAttempts),
        ReconcileFinding::Completed | ReconcileFinding::Failed => decision,
    };
    Ok(decision.tell(EventKind::TaskReconciled))
}

/// Returns the task to the apply queue if the approval still holds, or else to the reviewers.
pub fn retry(task: &Task, facts: &Facts<'_>, now: Timestamp) -> Decision {
    let decision = if basis::check(task, facts, now).is_ok() {
        Decision::to(task, State::Approved)
    } else {
        Decision::to(task, State::Submitted).write(Write::ClearBasis)
    };
    decision.write(Write::ResetAttempts).tell(EventKind::TaskRetried)
}
