//! A task as `decide` takes it, with its row locked until the transaction ends: whoever decides
//! on it next waits and then sees what was decided.

use ade_core::ids::TaskId;
use ade_core::task::Task;
use sqlx::FromRow;
use sqlx::postgres::{PgArguments, PgRow, Postgres};
use sqlx::query::QueryAs;

use super::rows::{ApprovalRow, ExecutionRow, OverrideRow, PinRow, TaskRow, VoteRow};
use crate::error::{Error, RowError};
use crate::tx::Tx;

const TASK: &str = "
    SELECT t.id, t.state, t.since, t.version, t.revision, t.author_id, t.agent_id,
           t.submitter_id, t.editors, t.round, t.review_opened_at, t.escalated_to_us, t.basis,
           t.attempts, r.digest, r.shape, r.task_type, r.risk, r.level, r.origin, r.author_kind,
           r.author_roles,
           array(SELECT n.resource FROM task_resource n
                  WHERE (n.tenant_id, n.task_id, n.revision) = (t.tenant_id, t.id, t.revision))
               AS resources,
           array(SELECT n.tag FROM task_tag n
                  WHERE (n.tenant_id, n.task_id, n.revision) = (t.tenant_id, t.id, t.revision))
               AS tags
      FROM task t
      JOIN task_revision r
        ON (r.tenant_id, r.task_id, r.revision) = (t.tenant_id, t.id, t.revision)
     WHERE t.tenant_id = $1 AND t.id = $2
       FOR NO KEY UPDATE OF t";
const PINS: &str = "
    SELECT task_id, policy_id, version FROM task_policy_pin
     WHERE tenant_id = $1 AND task_id = $2 ORDER BY place";
const APPROVALS: &str = "
    SELECT task_id, revision, reviewer_id, status, places, requested_at, due_at FROM approval
     WHERE tenant_id = $1 AND task_id = $2 ORDER BY seq";
const VOTES: &str = "
    SELECT v.task_id, v.voter_id, v.answer, v.revision, v.digest, v.round, v.places, v.reason,
           v.at, v.effectual, v.carried_from,
           EXISTS (SELECT FROM vote_withdrawal w
                    WHERE (w.tenant_id, w.task_id, w.vote_seq) = (v.tenant_id, v.task_id, v.seq))
               AS withdrawn
      FROM vote v
     WHERE v.tenant_id = $1 AND v.task_id = $2 ORDER BY v.seq";
const OVERRIDE: &str = "
    SELECT task_id, revision, digest, asked_by, ticket, reason, confirm_before, confirmed_by,
           valid_until
      FROM override WHERE tenant_id = $1 AND task_id = $2 AND dropped_at IS NULL";
const EXECUTION: &str = "
    SELECT task_id, holder, lease_id, token, started_at, begun_at, abort_requested
      FROM execution WHERE tenant_id = $1 AND task_id = $2 AND ended_at IS NULL";

pub async fn load(tx: &mut Tx, id: TaskId) -> Result<Option<Task>, Error> {
    let Some(row) = of::<TaskRow>(tx, TASK, id).await?.pop() else {
        return Ok(None);
    };
    let mut task = Task::try_from(row)?;
    task.pins = all::<PinRow, _>(tx, PINS, id).await?;
    task.approvals = all::<ApprovalRow, _>(tx, APPROVALS, id).await?;
    task.votes = all::<VoteRow, _>(tx, VOTES, id).await?;
    task.break_glass = all::<OverrideRow, _>(tx, OVERRIDE, id).await?.pop();
    task.execution = all::<ExecutionRow, _>(tx, EXECUTION, id).await?.pop();
    Ok(Some(task))
}

async fn of<R>(tx: &mut Tx, sql: &'static str, id: TaskId) -> Result<Vec<R>, Error>
where
    R: for<'r> FromRow<'r, PgRow> + Send + Unpin,
{
    let query: QueryAs<'_, Postgres, R, PgArguments> = sqlx::query_as(sql);
    tx.read(query.bind(tx.tenant().uuid()).bind(id.uuid())).await
}

async fn all<R, T>(tx: &mut Tx, sql: &'static str, id: TaskId) -> Result<Vec<T>, Error>
where
    R: for<'r> FromRow<'r, PgRow> + Send + Unpin,
    T: TryFrom<R, Error = RowError>,
{
    let rows = of::<R>(tx, sql, id).await?;
    Ok(rows.into_iter().map(T::try_from).collect::<Result<Vec<T>, RowError>>()?)
}
