//! Statistics on tasks and reviews, read in one statement and so at one moment. Daily counters are
//! the aggregated ones plus the entries that are not aggregated yet, so they are always exact.

use ade_core::approval::pairs::Agreed;
use ade_core::ids::{TaskId, UserId};
use ade_core::limits::{
    PAIRS_OF_REVIEWER_MAX, STATS_COUNT_MAX, STATS_RESPONSE_WINDOW, STATS_RESPONSES_MAX,
};
use ade_core::time::Timestamp;
use sqlx::{query, query_as};

use crate::error::StoreError;
use crate::timestamp::PgTimestamp;
use crate::tx::Tx;

/// The statistics of one reviewer. Only their own answers that came in time and still count are
/// included.
#[derive(Debug, Clone, PartialEq)]
pub struct ReviewerStats {
    pub pending: i64,
    pub overdue: i64,
    pub approved_today: i64,
    pub rejected_today: i64,
    pub average_response_s: Option<f64>,
    pub last_action_at: Option<Timestamp>,
}

pub async fn reviewer(tx: &mut Tx, user: UserId) -> Result<ReviewerStats, StoreError> {
    let now = tx.now();
    let query = query!(
        r#"WITH answer AS (
               SELECT v.answer, v.at, a.requested_at
                 FROM vote v
                 LEFT JOIN approval a
                   ON (a.tenant_id, a.task_id, a.revision, a.reviewer_id)
                    = (v.tenant_id, v.task_id, v.revision, v.voter_id)
                WHERE v.tenant_id = $1 AND v.voter_id = $2 AND v.at >= $4 AND v.effectual
                  AND v.carried_from IS NULL
                  AND NOT EXISTS (SELECT FROM vote_withdrawal w
                                   WHERE (w.tenant_id, w.task_id, w.vote_seq)
                                       = (v.tenant_id, v.task_id, v.seq)))
           SELECT (SELECT count(*) FROM approval
                    WHERE tenant_id = $1 AND reviewer_id = $2 AND status = 'PENDING')
                      AS "pending!",
                  (SELECT count(*) FROM approval
                    WHERE tenant_id = $1 AND reviewer_id = $2 AND status = 'PENDING'
                      AND due_at <= $3) AS "overdue!",
                  (SELECT count(*) FROM answer WHERE answer = 'approve' AND at >= $5)
                      AS "approved_today!",
                  (SELECT count(*) FROM answer WHERE answer = 'reject' AND at >= $5)
                      AS "rejected_today!",
                  (SELECT avg(extract(epoch FROM at - requested_at))::float8
                     FROM (SELECT at, requested_at FROM answer WHERE requested_at IS NOT NULL
                            ORDER BY at DESC LIMIT $6) AS newest) AS average_response_s,
                  (SELECT max(at) FROM vote WHERE tenant_id = $1 AND voter_id = $2
                      AND carried_from IS NULL) AS "last_action_at: PgTimestamp""#,
        tx.tenant().uuid(),
        user.uuid(),
        PgTimestamp(now) as _,
        PgTimestamp(now.minus(STATS_RESPONSE_WINDOW)) as _,
        PgTimestamp(now.day()) as _,
        STATS_RESPONSES_MAX,
    );
    let row = tx.fetch_one(query).await?;
    Ok(ReviewerStats {
        pending: row.pending,
        overdue: row.overdue,
        approved_today: row.approved_today,
        rejected_today: row.rejected_today,
        average_response_s: row.average_response_s,
        last_action_at: row.last_action_at.map(|at| at.0),
    })
}

/// The number of open tasks and requests, counted up to [`STATS_COUNT_MAX`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Open {
    /// The open tasks by state.
    pub tasks: Vec<(String, i64)>,
    pub pending_approvals: i64,
    pub overdue_approvals: i64,
    pub after_reviews_owed: i64,
}

struct StateCount {
    state: String,
    count: i64,
}

pub async fn open(tx: &mut Tx, states: &[String]) -> Result<Open, StoreError> {
    let query = query_as!(
        StateCount,
        r#"SELECT wanted.state AS "state!", (SELECT count(*) FROM (
                      SELECT FROM task t WHERE t.tenant_id = $1 AND t.state = wanted.state
                       LIMIT $3) AS few) AS "count!"
             FROM unnest($2::text[]) AS wanted (state)"#,
        tx.tenant().uuid(),
        states,
        STATS_COUNT_MAX,
    );
    let tasks = tx.fetch(query).await?.into_iter().map(|row| (row.state, row.count)).collect();
    let query = query!(
        r#"SELECT (SELECT count(*) FROM (
                      SELECT FROM approval WHERE tenant_id = $1 AND status = 'PENDING'
                       LIMIT $3) AS few) AS "pending!",
                  (SELECT count(*) FROM (
                      SELECT FROM approval WHERE tenant_id = $1 AND status = 'PENDING'
                         AND due_at <= $2 LIMIT $3) AS few) AS "overdue!",
                  (SELECT count(*) FROM (
                      SELECT FROM after_review WHERE tenant_id = $1 AND done_at IS NULL
                       LIMIT $3) AS few) AS "owed!""#,
        tx.tenant().uuid(),
        PgTimestamp(tx.now()) as _,
        STATS_COUNT_MAX,
    );
    let row = tx.fetch_one(query).await?;
    Ok(Open {
        tasks,
        pending_approvals: row.pending,
        overdue_approvals: row.overdue,
        after_reviews_owed: row.owed,
    })
}

/// Returns approvals since then that came in time and still count, the newest of every reviewer; at
/// most `most`.
pub async fn agreed(tx: &mut Tx, since: Timestamp, most: i64) -> Result<Vec<Agreed>, StoreError> {
    let query = query!(
        r#"SELECT given.task_id AS "task!", proposed.author_id AS "author!", u.id AS "reviewer!"
             FROM app_user u
            CROSS JOIN LATERAL (
                SELECT v.task_id FROM vote v
                 WHERE v.tenant_id = $1 AND v.voter_id = u.id AND v.at >= $2
                   AND v.answer = 'approve' AND v.effectual AND v.carried_from IS NULL
                   AND NOT EXISTS (SELECT FROM vote_withdrawal w
                                    WHERE (w.tenant_id, w.task_id, w.vote_seq)
                                        = (v.tenant_id, v.task_id, v.seq))
                 ORDER BY v.at DESC LIMIT $3) AS given
            CROSS JOIN LATERAL (
                SELECT t.author_id FROM task t
                 WHERE t.tenant_id = $1 AND t.id = given.task_id LIMIT 1) AS proposed
            WHERE u.tenant_id = $1 LIMIT $4"#,
        tx.tenant().uuid(),
        PgTimestamp(since) as _,
        PAIRS_OF_REVIEWER_MAX,
        most,
    );
    let rows = tx.fetch(query).await?.into_iter();
    let read = rows.map(|row| Agreed {
        task: TaskId::from_uuid(row.task),
        author: UserId::from_uuid(row.author),
        reviewer: UserId::from_uuid(row.reviewer),
    });
    Ok(read.collect())
}

/// How often something happened on one day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DayCount {
    /// The day, like `2026-03-18`, in UTC.
    pub day: String,
    /// An action, or a state that was entered.
    pub name: String,
    pub count: i64,
}

/// Returns the counts from the day of `since` on, oldest first.
pub async fn days(tx: &mut Tx, since: Timestamp) -> Result<Vec<DayCount>, StoreError> {
    let query = query_as!(
        DayCount,
        r#"WITH bound AS (
               SELECT coalesce(max(c.below::text), '0')::xid8 AS below,
                      coalesce(max(c.at), to_timestamp(0)) AS at
                 FROM tally_cursor c WHERE c.tenant_id = $1),
           later AS (
               SELECT (l.at AT TIME ZONE 'UTC')::date AS day, l.action, l.from_state, l.to_state
                 FROM audit_entry l, bound
                WHERE l.tenant_id = $1 AND l.xid >= bound.below AND l.at >= bound.at
                  AND l.at >= $2 AND l.kind = 'change'),
           counted AS (
               SELECT day, name, count FROM daily_count
                WHERE tenant_id = $1 AND day >= ($2::timestamptz AT TIME ZONE 'UTC')::date
               UNION ALL
               SELECT later.day, counted.name, 1 FROM later
                CROSS JOIN LATERAL (VALUES (later.action), (CASE
                      WHEN later.to_state IS DISTINCT FROM later.from_state
                      THEN later.to_state END)) AS counted (name)
                WHERE counted.name IS NOT NULL)
           SELECT to_char(day, 'YYYY-MM-DD') AS "day!", name AS "name!",
                  sum(count)::bigint AS "count!"
             FROM counted GROUP BY day, name ORDER BY day, name"#,
        tx.tenant().uuid(),
        PgTimestamp(since.day()) as _,
    );
    tx.fetch(query).await
}
