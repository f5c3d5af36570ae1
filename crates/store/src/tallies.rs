//! Counters aggregated from the audit: actions per UTC day, and outcomes of similar tasks. Entries
//! are read in commit order and each exactly once: the cursor moves with the counters, and never
//! past a transaction that is still in progress.

use std::time::Duration;

use ade_core::ids::{TaskId, TenantId};
use ade_core::limits::TALLY_LEAVES;
use ade_core::resource::ResourceRef;
use ade_core::risk::{History, Outcomes};
use ade_core::task::State;
use ade_core::time::Timestamp;
use sqlx::{query, query_scalar};
use uuid::Uuid;

use crate::error::{RowError, StoreError};
use crate::pool::Pool;
use crate::timestamp::PgTimestamp;
use crate::tx::Tx;

/// Above the longest transaction and the largest clock difference, so that no audit entry arrives
/// later.
const TALLY_CLOCK_SLACK: Duration = Duration::from_hours(1);

/// The result of one round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Folded {
    pub leaves: u64,
    /// Whether there are more entries than one round takes.
    pub has_more: bool,
}

/// Returns tenants with new audit entries, for a login that may act as `ade_worker`.
pub async fn tenants_with_news(pool: &Pool, limit: u32) -> Result<Vec<TenantId>, StoreError> {
    let mut connection = pool.acquire().await?;
    let query = query_scalar!(
        r#"SELECT tenant_id AS "tenant_id!" FROM tenants_with_news($1) AS found (tenant_id)"#,
        i32::try_from(limit).unwrap_or(i32::MAX),
    );
    let tenants = query.fetch_all(connection.get()?).await?;
    Ok(tenants.into_iter().map(TenantId::from_uuid).collect())
}

/// A range of transactions, as PostgreSQL numbers them.
struct Span {
    from: String,
    until: String,
    since: Timestamp,
    is_whole: bool,
}

/// Aggregates everything that was committed since the last round. Concurrent workers are serialized
/// by the lock on the cursor row.
pub async fn fold(tx: &mut Tx) -> Result<Folded, StoreError> {
    let span = span(tx).await?;
    let leaves = count(tx, &span).await?;
    let ended = ended(tx, &span).await?;
    if !ended.is_empty() {
        remember(tx, &ended).await?;
    }
    // A transaction that has not committed yet began before now, by a bounded time.
    let since = if span.is_whole { tx.now().minus(TALLY_CLOCK_SLACK) } else { span.since };
    let query = query!(
        "UPDATE tally_cursor SET below = $2::text::xid8, at = greatest(at, $3)
          WHERE tenant_id = $1",
        tx.tenant().uuid(),
        span.until,
        PgTimestamp(since) as _,
    );
    tx.write_beside(query).await?;
    Ok(Folded { leaves, has_more: !span.is_whole })
}

async fn span(tx: &mut Tx) -> Result<Span, StoreError> {
    let tenant = tx.tenant().uuid();
    let query = query!(
        "INSERT INTO tally_cursor (tenant_id, below, at) VALUES ($1, '0', to_timestamp(0))
         ON CONFLICT ON CONSTRAINT tally_cursor_pkey DO NOTHING",
        tenant,
    );
    tx.write_beside(query).await?;
    let query = query!(
        r#"SELECT below::text AS "below!", at AS "at: PgTimestamp" FROM tally_cursor
            WHERE tenant_id = $1 FOR UPDATE"#,
        tenant,
    );
    let cursor = tx.fetch_one(query).await?;
    // A separate statement, so that its snapshot is newer than the lock. It takes whole
    // transactions, because a cursor cannot stop inside one.
    let query = query!(
        r#"SELECT (SELECT l.xid::text FROM audit_entry l
                    WHERE l.tenant_id = $1 AND l.xid >= $2::text::xid8 AND l.at >= $3
                      AND l.xid < pg_snapshot_xmin(pg_current_snapshot())
                    ORDER BY l.xid, l.id OFFSET $4 LIMIT 1) AS part,
                  pg_snapshot_xmin(pg_current_snapshot())::text AS "whole!""#,
        tenant,
        cursor.below,
        cursor.at as _,
        TALLY_LEAVES,
    );
    let bound = tx.fetch_one(query).await?;
    let is_whole = bound.part.is_none();
    let until = bound.part.unwrap_or(bound.whole);
    Ok(Span { from: cursor.below, until, since: cursor.at.0, is_whole })
}

/// Counts actions and entered states by day, and returns the number of audit entries.
async fn count(tx: &mut Tx, span: &Span) -> Result<u64, StoreError> {
    let query = query_scalar!(
        r#"WITH news AS (
               SELECT (l.at AT TIME ZONE 'UTC')::date AS day, l.action, l.from_state, l.to_state
                 FROM audit_entry l
                WHERE l.tenant_id = $1 AND l.xid >= $2::text::xid8 AND l.xid < $3::text::xid8
                  AND l.at >= $4 AND l.kind = 'change'),
           counted AS (
               INSERT INTO daily_count AS kept (tenant_id, day, name, count)
               SELECT $1, news.day, counted.name, count(*) FROM news
                CROSS JOIN LATERAL (VALUES (news.action), (CASE
                      WHEN news.to_state IS DISTINCT FROM news.from_state
                      THEN news.to_state END)) AS counted (name)
                WHERE counted.name IS NOT NULL GROUP BY news.day, counted.name
               ON CONFLICT ON CONSTRAINT daily_count_pkey
                  DO UPDATE SET count = kept.count + excluded.count)
           SELECT count(*) AS "count!" FROM news"#,
        tx.tenant().uuid(),
        span.from,
        span.until,
        PgTimestamp(span.since) as _,
    );
    let count = tx.fetch_value(query).await?;
    Ok(u64::try_from(count).unwrap_or_default())
}

/// One task whose apply ended.
struct Ended {
    task: TaskId,
    revision: i32,
    has_failed: bool,
}

async fn ended(tx: &mut Tx, span: &Span) -> Result<Vec<Ended>, StoreError> {
    let (completed, failed) = (State::Completed.as_str(), State::Failed.as_str());
    let query = query!(
        r#"SELECT l.object, l.revision, l.to_state = $6 AS "has_failed!"
             FROM audit_entry l
            WHERE l.tenant_id = $1 AND l.xid >= $2::text::xid8 AND l.xid < $3::text::xid8
              AND l.at >= $4 AND l.kind = 'change' AND l.to_state IN ($5, $6)
              AND l.from_state IS DISTINCT FROM l.to_state"#,
        tx.tenant().uuid(),
        span.from,
        span.until,
        PgTimestamp(span.since) as _,
        completed,
        failed,
    );
    let rows = tx.fetch(query).await?;
    let wrong = |object: &str, why: String| RowError {
        table: "audit_entry",
        column: "object",
        row: object.to_owned(),
        why,
    };
    let read = rows.into_iter().map(|row| {
        let object: Result<TaskId, _> = row.object.parse();
        let task = object.map_err(|error| wrong(&row.object, error.to_string()))?;
        let missing = || wrong(&row.object, "it names no revision".to_owned());
        let revision = row.revision.ok_or_else(missing)?;
        Ok(Ended { task, revision, has_failed: row.has_failed })
    });
    Ok(read.collect::<Result<Vec<_>, RowError>>()?)
}

/// Adds the outcomes to the history of failures. A task that was released to its host counts
/// neither as a success nor as a failure.
async fn remember(tx: &mut Tx, ended: &[Ended]) -> Result<(), StoreError> {
    let tasks: Vec<Uuid> = ended.iter().map(|one| one.task.uuid()).collect();
    let revisions: Vec<i32> = ended.iter().map(|one| one.revision).collect();
    let failures: Vec<bool> = ended.iter().map(|one| one.has_failed).collect();
    let query = query!(
        "WITH ended AS (
             SELECT given.* FROM unnest($2::uuid[], $3::int4[], $4::bool[])
                 AS given (task, revision, has_failed)
               JOIN task k ON (k.tenant_id, k.id) = ($1, given.task) AND NOT k.is_released)
         INSERT INTO failure_history AS kept (tenant_id, task_type, resource, failed, total)
         SELECT $1, r.task_type, t.resource, count(*) FILTER (WHERE e.has_failed), count(*)
           FROM ended e
           JOIN task_revision r
             ON (r.tenant_id, r.task_id, r.revision) = ($1, e.task, e.revision)
           JOIN task_resource t
             ON (t.tenant_id, t.task_id, t.revision) = ($1, e.task, e.revision)
          GROUP BY r.task_type, t.resource
          UNION ALL
         SELECT $1, '', '', count(*) FILTER (WHERE e.has_failed), count(*) FROM ended e
         HAVING count(*) > 0
         ON CONFLICT ON CONSTRAINT failure_history_pkey DO UPDATE
            SET failed = kept.failed + excluded.failed, total = kept.total + excluded.total",
        tx.tenant().uuid(),
        &tasks,
        &revisions,
        &failures,
    );
    tx.write_beside(query).await?;
    Ok(())
}

/// Returns the outcomes of tasks of this type on these resources, the worst of them, and those of
/// the tenant.
pub async fn history(
    tx: &mut Tx,
    task_type: &str,
    resources: &[ResourceRef],
) -> Result<History, StoreError> {
    let names: Vec<String> = resources.iter().map(ToString::to_string).collect();
    let query = query!(
        "SELECT known.task_type, known.failed, known.total
           FROM (SELECT $2::text AS task_type, unnest($3::text[]) AS resource
                 UNION ALL SELECT '', '') AS wanted
          CROSS JOIN LATERAL (
             SELECT task_type, failed, total FROM failure_history
              WHERE tenant_id = $1 AND task_type = wanted.task_type
                AND resource = wanted.resource LIMIT 1) AS known",
        tx.tenant().uuid(),
        task_type,
        &names,
    );
    let mut history = History::default();
    for row in tx.fetch(query).await? {
        let count = |number: i64| u32::try_from(number).unwrap_or(u32::MAX);
        let outcomes = Outcomes { failed: count(row.failed), total: count(row.total) };
        if row.task_type.is_empty() {
            history.tenant = outcomes;
        } else {
            history.like = history.like.worse(outcomes);
        }
    }
    Ok(history)
}
