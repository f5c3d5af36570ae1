//! Describes the refusals of locks and of the attempts that run under them: who holds a lock, how a
//! lease was lost, who waits for whom, and what the caller should do next.

use ade_api::code::Code;
use ade_api::locks::LeaseView;
use ade_api::problem::Problem;
use ade_core::change::Digest;
use ade_core::limits::LOCKS_PER_AGENT_MAX;
use ade_engine::error::{LostAttempt, LostLease};

/// Describes who holds a lock that was requested.
pub fn lock_held(problem: Problem, blocked: ade_engine::Blocked) -> Problem {
    let ade_engine::Blocked { on, position, lease, holders } = blocked;
    let problem = problem.with("holders", &holders).with("holder", holders.first());
    let problem = problem.with_some("resource", on).with_some("position", position);
    match lease {
        Some(lease) => problem
            .with("lease_id", lease)
            .next(
                "Send the same `lease_id` within ten seconds to keep your place in the queue, or \
                   release it.",
            )
            .call("POST /v1/locks/acquire"),
        None => problem,
    }
}

/// Describes a request that the lock queue refused or could not process.
pub fn queue_failed(error: &ade_engine::services::locks::LockQueueError) -> Problem {
    use ade_core::lock::LockRefusal as Lock;
    use ade_engine::services::locks::LockQueueError;
    let refusal = match error {
        LockQueueError::Refused(refusal) => refusal,
        LockQueueError::Store(_) | LockQueueError::Unsettled | LockQueueError::Redis(_) => {
            tracing::error!(%error, "lock request failed");
            let detail = "the lock service is unavailable";
            return Problem::new(Code::LocksUnavailable, detail);
        }
    };
    let problem = |code| Problem::new(code, refusal.to_string());
    match refusal {
        Lock::Unsure { until } => problem(Code::LocksUncertain).with("until", until),
        Lock::Busy { resource } => problem(Code::LockHeld).with("resource", resource),
        Lock::QueueFull { resource } => problem(Code::LockQueueFull).with("resource", resource),
        Lock::TooMany { taken } => {
            problem(Code::TooManyLocks).with("taken", taken).with("most", LOCKS_PER_AGENT_MAX)
        }
        Lock::SelfConflict { resource } => {
            problem(Code::LockSelfConflict).with("resource", resource)
        }
        Lock::AlreadyWaiting { .. } => problem(Code::LockAlreadyWaiting),
        Lock::OtherRequest => problem(Code::LeaseReused),
        Lock::StaleEpoch { .. }
        | Lock::Rebuild { .. }
        | Lock::AlreadyRegistered
        | Lock::NotFenced => problem(Code::LocksUnavailable),
    }
}

/// Describes a wait that was ended because of a deadlock, with the leases that wait for each other.
pub fn deadlock(problem: Problem, lease: Digest, cycle: &[LeaseView]) -> Problem {
    let problem = problem.with("lease_hash", lease).call("POST /v1/locks/acquire");
    if cycle.is_empty() { problem } else { problem.with("cycle", cycle) }
}

/// Describes a lost lease. What to do next depends on whether an attempt ran under it and whether
/// the attempt had begun.
pub fn lease_lost(problem: Problem, lost: LostLease) -> Problem {
    let LostLease { state, broken, attempt } = lost;
    let problem = problem.with("state", state).with_some("broken", broken);
    let Some(attempt) = attempt else {
        return problem
            .next("Stop all work under this lease; acquire the locks again to continue.")
            .call("POST /v1/locks/acquire");
    };
    let LostAttempt { task, execution, has_begun, has_ended } = attempt;
    let problem =
        problem.with("task_id", task).with("execution_id", execution).with("has_begun", has_begun);
    match (has_begun, has_ended) {
        (false, _) => problem
            .next("Stop: this attempt has not begun and may change nothing. Claim the task again.")
            .call(format!("POST /v1/tasks/{task}/claim")),
        (true, true) => problem
            .next("Stop: this attempt has ended and needs no further report.")
            .call(format!("GET /v1/executions/{execution}")),
        (true, false) => problem
            .next(
                "Stop, and make no further changes. Do not claim the task again: a person must \
                 find out what was changed, and reconcile the task.",
            )
            .call(format!("GET /v1/tasks/{task}")),
    }
}
