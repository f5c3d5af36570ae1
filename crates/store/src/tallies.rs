//! Counters that are folded from the audit: what happened per UTC day, and how like tasks ended.
//! Leaves are taken in commit order and each exactly once: the cursor moves with the counters,
//! and never past a transaction that is still on its way.

use ade_core::ids::{TaskId, TenantId};
use ade_core::limits::{TALLY_CLOCK_SLACK, TALLY_LEAVES};
use ade_core::resource::ResourceRef;
use ade_core::risk::{History, Outcomes};
use ade_core::task::State;
use ade_core::time::Timestamp;
use sqlx::{query, query_scalar};
use uuid::Uuid;

use crate::error::{Error, RowError};
use crate::moment::Moment;
use crate::pool::Pool;
use crate::tx::Tx;

/// What one round folded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Folded {
    pub leaves: u64,
    /// As many as one round takes: there is more.
    pub has_more: bool,
}

/// Tenants whose audit has grown, by a login that may act as `ade_worker`.
pub async fn tenants_with_news(pool: &Pool, limit: u32) -> Result<Vec<TenantId>, Error> {
    let mut connection = pool.acquire().await?;
    let query = query_scalar!(
        r#"SELECT tenant_id AS "tenant_id!" FROM tenants_with_news($1) AS found (tenant_id)"#,
        i32::try_from(limit).unwrap_or(i32::MAX),
    );
    let tenants = query.fetch_all(connection.get()?).await?;
    Ok(tenants.into_iter().map(TenantId::from_uuid).collect())
}

/// From one transaction to another, as PostgreSQL numbers them.
struct Span {
    from: String,
    until: String,
    since: Timestamp,
    is_whole: bool,
}

/// Folds what has been committed since the last round. Two workers at once do it one after the
/// other: the cursor's row is locked first.
pub async fn fold(tx: &mut Tx) -> Result<Folded, Error> {
    let span = span(tx).await?;
    let leaves = count(tx, &span).await?;
    let ended = ended(tx, &span).await?;
    if !ended.is_empty() {
        remember(tx, &ended).await?;
    }
    // Whoever has not committed yet began before now; how long before is bounded.
    let since = if span.is_whole { tx.now().minus(TALLY_CLOCK_SLACK) } else { span.since };
    let query = query!(
        "UPDATE tally_cursor SET below = $2::text::xid8, at = greatest(at, $3)
          WHERE tenant_id = $1",
        tx.tenant().uuid(),
        span.until,
        Moment(since) as _,
    );
    tx.write_beside(query).await?;
    Ok(Folded { leaves, has_more: !span.is_whole })
}

async fn span(tx: &mut Tx) -> Result<Span, Error> {
    let tenant = tx.tenant().uuid();
    let query = query!(
        "INSERT INTO tally_cursor (tenant_id, below, at) VALUES ($1, '0', to_timestamp(0))
         ON CONFLICT ON CONSTRAINT tally_cursor_pkey DO NOTHING",
        tenant,
    );
    tx.write_beside(query).await?;
    let query = query!(
        r#"SELECT below::text AS "below!", at AS "at: Moment" FROM tally_cursor
            WHERE tenant_id = $1 FOR UPDATE"#,
        tenant,
    );
    let cursor = tx.fetch_one(query).await?;
    // A statement of its own: its snapshot is younger than the lock. A whole number of
    // transactions, since a cursor cannot stop inside of one.
    let query = query!(
        r#"SELECT (SELECT l.xid::text FROM audit_leaf l
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

/// Adds up actions and entered states by day. Answers how many leaves there were.
async fn count(tx: &mut Tx, span: &Span) -> Result<u64, Error> {
    let query = query_scalar!(
        r#"WITH news AS (
               SELECT (l.at AT TIME ZONE 'UTC')::date AS day, l.action, l.from_state, l.to_state
                 FROM audit_leaf l
                WHERE l.tenant_id = $1 AND l.xid >= $2::text::xid8 AND l.xid < $3::text::xid8
                  AND l.at >= $4 AND l.kind = 'change'),
           counted AS (
               INSERT INTO daily_count AS kept (tenant_id, day, name, count)
               SELECT $1, news.day, told.name, count(*) FROM news
                CROSS JOIN LATERAL (VALUES (news.action), (CASE
                      WHEN news.to_state IS DISTINCT FROM news.from_state
                      THEN news.to_state END)) AS told (name)
                WHERE told.name IS NOT NULL GROUP BY news.day, told.name
               ON CONFLICT ON CONSTRAINT daily_count_pkey
                  DO UPDATE SET count = kept.count + excluded.count)
           SELECT count(*) AS "count!" FROM news"#,
        tx.tenant().uuid(),
        span.from,
        span.until,
        Moment(span.since) as _,
    );
    let count = tx.fetch_value(query).await?;
    Ok(u64::try_from(count).unwrap_or_default())
}

/// One task that came to an end of its apply.
struct Ended {
    task: TaskId,
    revision: i32,
    has_failed: bool,
}

async fn ended(tx: &mut Tx, span: &Span) -> Result<Vec<Ended>, Error> {
    let (completed, failed) = (State::Completed.as_str(), State::Failed.as_str());
    let query = query!(
        r#"SELECT l.object, l.revision, l.to_state = $6 AS "has_failed!"
             FROM audit_leaf l
            WHERE l.tenant_id = $1 AND l.xid >= $2::text::xid8 AND l.xid < $3::text::xid8
              AND l.at >= $4 AND l.kind = 'change' AND l.to_state IN ($5, $6)
              AND l.from_state IS DISTINCT FROM l.to_state"#,
        tx.tenant().uuid(),
        span.from,
        span.until,
        Moment(span.since) as _,
        completed,
        failed,
    );
    let rows = tx.fetch(query).await?;
    let wrong = |object: &str, why: String| RowError {
        table: "audit_leaf",
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

async fn remember(tx: &mut Tx, ended: &[Ended]) -> Result<(), Error> {
    let tasks: Vec<Uuid> = ended.iter().map(|one| one.task.uuid()).collect();
    let revisions: Vec<i32> = ended.iter().map(|one| one.revision).collect();
    let failures: Vec<bool> = ended.iter().map(|one| one.has_failed).collect();
    let query = query!(
        "WITH ended AS (
             SELECT * FROM unnest($2::uuid[], $3::int4[], $4::bool[])
                 AS given (task, revision, has_failed))
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

/// How tasks of this type ended on these resources, the worst of them, and those of the tenant.
pub async fn history(
    tx: &mut Tx,
    task_type: &str,
    resources: &[ResourceRef],
) -> Result<History, Error> {
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
