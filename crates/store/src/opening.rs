//! How a transaction begins: one text for one round trip, with tenant, timeouts, the key of a
//! repetition, the gate, the lock on a task's row and, once all of it was had, the moment by the
//! database's clock. Nothing but numbers and uuids goes into it.

use ade_core::ids::{ApprovalId, ExecutionId, TaskId, TenantId};
use ade_core::limits::{DATABASE_IDLE_TIMEOUT, DATABASE_LOCK_TIMEOUT, DATABASE_STATEMENT_TIMEOUT};
use uuid::Uuid;

use crate::idempotency::Key;

/// The tenant's gate: whoever changes a freeze, a policy or a role closes it behind every permit
/// that is on its way, and no permit passes while they write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gate {
    /// Decides nothing that a freeze, a policy or a role could change.
    Unasked,
    Shared,
    Exclusive,
}

/// The task whose row is meant, by its own id, by that of a request about it or of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Row {
    Task(TaskId),
    TaskOf(ApprovalId),
    TaskOfExecution(ExecutionId),
}

/// What a transaction takes while it begins, in the same round trip.
#[derive(Debug, Clone, Copy, Default)]
pub struct Opening<'a> {
    /// Its row is locked, after the gate and by a statement of its own: a statement that waits
    /// for a row reads every other table as of its start, before the wait.
    pub row: Option<Row>,
    /// Claimed without waiting. While somebody else has it, the task is not locked either.
    pub key: Option<&'a Key>,
}

/// What the opening answers, by the names of its columns.
pub(crate) const KEY_ANSWER: &str = "key_is_ours";
pub(crate) const TASK_ANSWER: &str = "locked_task";
pub(crate) const MOMENT_ANSWER: &str = "moment_in_micros";

pub(crate) fn opening(tenant: TenantId, gate: Gate, key: Option<i64>, row: Option<Row>) -> String {
    let tenant = tenant.uuid();
    let [lock, statement, idle] =
        [DATABASE_LOCK_TIMEOUT, DATABASE_STATEMENT_TIMEOUT, DATABASE_IDLE_TIMEOUT]
            .map(|timeout| timeout.as_millis());
    let gate = match gate {
        Gate::Unasked => "NULL",
        Gate::Shared => "'shared'",
        Gate::Exclusive => "'exclusive'",
    };
    let key = key.map_or_else(|| "NULL".to_owned(), |key| key.to_string());
    let quoted = |id: Uuid| format!("'{id}'");
    let [task, approval, execution] = match row {
        Some(Row::Task(task)) => [Some(task.uuid()), None, None],
        Some(Row::TaskOf(approval)) => [None, Some(approval.uuid()), None],
        Some(Row::TaskOfExecution(execution)) => [None, None, Some(execution.uuid())],
        None => [None, None, None],
    }
    .map(|id| id.map_or_else(|| "NULL".to_owned(), quoted));
    format!(
        "BEGIN ISOLATION LEVEL READ COMMITTED; \
         SELECT * FROM open_transaction('{tenant}', {lock}, {statement}, {idle}, {gate}, {key}, \
           {task}, {approval}, {execution})"
    )
}
