//! How a transaction begins: one text for one round trip, with tenant, timeouts, the key of a
//! repetition, the gate and the lock on a task's row, in that order. Nothing but numbers and
//! uuids goes into it.

use ade_core::ids::{ApprovalId, TaskId, TenantId};
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

/// The task whose row is meant, by its own id or by that of a request about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Row {
    Task(TaskId),
    TaskOf(ApprovalId),
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

pub(crate) const KEY_ANSWER: &str = "key_is_ours";
pub(crate) const TASK_ANSWER: &str = "locked_task";

/// Plans are made once: what a decision costs is planning, if PostgreSQL makes one for each call.
/// And they are made for tables that will be large: one that was empty when its plan was made
/// would be read from end to end by that plan, long after it has filled up.
pub(crate) fn opening(tenant: TenantId, gate: Gate, key: Option<i64>, row: Option<Row>) -> String {
    let tenant = tenant.uuid();
    let [lock, statement, idle] =
        [DATABASE_LOCK_TIMEOUT, DATABASE_STATEMENT_TIMEOUT, DATABASE_IDLE_TIMEOUT]
            .map(|timeout| timeout.as_millis());
    let gate = match gate {
        Gate::Unasked => String::new(),
        Gate::Shared => gate_lock("pg_advisory_xact_lock_shared", tenant),
        Gate::Exclusive => gate_lock("pg_advisory_xact_lock", tenant),
    };
    let key = key.map(|key| {
        format!(
            "; SELECT set_config('ade.{KEY_ANSWER}', pg_try_advisory_xact_lock({key})::text, \
               true)::boolean AS {KEY_ANSWER}"
        )
    });
    let condition = match key {
        Some(_) => format!(" WHERE current_setting('ade.{KEY_ANSWER}')::boolean"),
        None => String::new(),
    };
    let row = row.map(|row| match row {
        Row::Task(task) => format!("; SELECT lock_task('{}'){condition}", task.uuid()),
        Row::TaskOf(approval) => {
            let id = approval.uuid();
            format!("; SELECT lock_task_of_approval('{id}') AS {TASK_ANSWER}{condition}")
        }
    });
    let [key, row] = [key, row].map(Option::unwrap_or_default);
    format!(
        "BEGIN ISOLATION LEVEL READ COMMITTED; \
         SET LOCAL ade.tenant = '{tenant}'; \
         SET LOCAL lock_timeout = {lock}; \
         SET LOCAL statement_timeout = {statement}; \
         SET LOCAL idle_in_transaction_session_timeout = {idle}; \
         SET LOCAL plan_cache_mode = force_generic_plan; \
         SET LOCAL enable_seqscan = off{key}{gate}{row}"
    )
}

fn gate_lock(function: &str, tenant: Uuid) -> String {
    format!("; SELECT {function}(hashtextextended('gate {tenant}', 0))")
}
