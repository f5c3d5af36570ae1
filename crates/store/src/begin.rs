//! The start of a transaction: one text for one round trip, with tenant, timeouts, idempotency key,
//! tenant lock, row lock of a task and finally the time by the database clock. It contains only
//! numbers and uuids.

use ade_core::ids::{ApprovalId, ExecutionId, TaskId, TenantId};
use ade_core::limits::{DATABASE_IDLE_TIMEOUT, DATABASE_LOCK_TIMEOUT, DATABASE_STATEMENT_TIMEOUT};
use uuid::Uuid;

use crate::idempotency_key::IdempotencyKey;

/// The tenant lock: a change of a freeze, a policy or a role takes it exclusively and waits for
/// permits in progress, and no permit passes while it is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TenantLock {
    /// The transaction decides nothing that depends on a freeze, a policy or a role.
    None,
    Shared,
    Exclusive,
}

/// The task to lock, by its own id, or by the id of a request or an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockTarget {
    Task(TaskId),
    TaskOf(ApprovalId),
    TaskOfExecution(ExecutionId),
}

/// The locks that a transaction takes when it begins, in the same round trip.
#[derive(Debug, Clone, Copy, Default)]
pub struct BeginOptions<'a> {
    /// The row to lock, after the tenant lock and by a statement of its own: a statement that waits
    /// for a row reads every other table as of its start, before the wait.
    pub row: Option<LockTarget>,
    /// The key to reserve without waiting. While another request has the key, the task is not
    /// locked either.
    pub key: Option<&'a IdempotencyKey>,
}

/// The columns that the opening statement returns, by name.
pub(crate) const KEY_ANSWER: &str = "key_is_ours";
pub(crate) const TASK_ANSWER: &str = "locked_task";
pub(crate) const MOMENT_ANSWER: &str = "moment_in_micros";

pub(crate) fn opening(
    tenant: TenantId,
    gate: TenantLock,
    key: Option<i64>,
    row: Option<LockTarget>,
) -> String {
    let tenant = tenant.uuid();
    let [lock, statement, idle] =
        [DATABASE_LOCK_TIMEOUT, DATABASE_STATEMENT_TIMEOUT, DATABASE_IDLE_TIMEOUT]
            .map(|timeout| timeout.as_millis());
    let gate = match gate {
        TenantLock::None => "NULL",
        TenantLock::Shared => "'shared'",
        TenantLock::Exclusive => "'exclusive'",
    };
    let key = key.map_or_else(|| "NULL".to_owned(), |key| key.to_string());
    let quoted = |id: Uuid| format!("'{id}'");
    let [task, approval, execution] = match row {
        Some(LockTarget::Task(task)) => [Some(task.uuid()), None, None],
        Some(LockTarget::TaskOf(approval)) => [None, Some(approval.uuid()), None],
        Some(LockTarget::TaskOfExecution(execution)) => [None, None, Some(execution.uuid())],
        None => [None, None, None],
    }
    .map(|id| id.map_or_else(|| "NULL".to_owned(), quoted));
    format!(
        "BEGIN ISOLATION LEVEL READ COMMITTED; \
         SELECT * FROM open_transaction('{tenant}', {lock}, {statement}, {idle}, {gate}, {key}, \
           {task}, {approval}, {execution})"
    )
}
