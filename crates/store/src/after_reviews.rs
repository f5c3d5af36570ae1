//! Reviews required by overrides: opened with the override, and listed until the finding is
//! recorded. They never change the task. An overdue one is reported once.

use ade_core::ids::{AfterReviewId, TaskId, UserId};
use ade_core::time::Timestamp;
use sqlx::{query, query_as, query_scalar};
use uuid::Uuid;

use crate::error::StoreError;
use crate::pool::Pool;
use crate::timestamp::PgTimestamp;
use crate::tx::Tx;

/// The job kind in `due`: a review that may be overdue.
pub const WATCH: &str = "after_review";

/// The SQL that schedules the check, in the statement that opens reviews, based on its part `owed`.
pub(crate) fn watched() -> String {
    format!(
        "INSERT INTO scheduled_job (tenant_id, kind, object, at)
         SELECT $1, '{WATCH}', owed.id, owed.due_at FROM owed"
    )
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AfterReview {
    pub id: AfterReviewId,
    pub task: TaskId,
    pub number: i64,
    pub title: String,
    pub opened_at: Timestamp,
    pub due_at: Timestamp,
    pub done: Option<ReviewFinding>,
}

impl AfterReview {
    pub fn is_overdue(&self, now: Timestamp) -> bool {
        self.done.is_none() && self.due_at <= now
    }
}

/// The overdue reviews of one tenant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Overdue {
    pub count: u32,
    /// When the first of them was due.
    pub since: Option<Timestamp>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewFinding {
    pub by: UserId,
    pub at: Timestamp,
    pub text: String,
}

struct ReviewRow {
    id: Uuid,
    task_id: Uuid,
    number: i64,
    title: String,
    opened_at: PgTimestamp,
    due_at: PgTimestamp,
    done_by: Option<Uuid>,
    done_at: Option<PgTimestamp>,
    finding: Option<String>,
}

impl From<ReviewRow> for AfterReview {
    fn from(row: ReviewRow) -> Self {
        let done = match (row.done_by, row.done_at, row.finding) {
            (Some(by), Some(at), Some(text)) => {
                Some(ReviewFinding { by: UserId::from_uuid(by), at: at.0, text })
            }
            _ => None,
        };
        Self {
            id: AfterReviewId::from_uuid(row.id),
            task: TaskId::from_uuid(row.task_id),
            number: row.number,
            title: row.title,
            opened_at: row.opened_at.0,
            due_at: row.due_at.0,
            done,
        }
    }
}

/// Returns the reviews that are still open, the longest overdue first, after the last one of the
/// previous page.
pub async fn owed(
    tx: &mut Tx,
    after: Option<(Timestamp, AfterReviewId)>,
    limit: u32,
) -> Result<Vec<AfterReview>, StoreError> {
    let (due_at, id) = after.unwrap_or((Timestamp::from_micros(0), AfterReviewId::from_u128(0)));
    let query = query_as!(
        ReviewRow,
        r#"SELECT a.id, a.task_id, t.number, t.title, a.opened_at AS "opened_at: PgTimestamp",
                  a.due_at AS "due_at: PgTimestamp", a.done_by, a.done_at AS "done_at: PgTimestamp",
                  a.finding
             FROM after_review a JOIN task t ON (t.tenant_id, t.id) = (a.tenant_id, a.task_id)
            WHERE a.tenant_id = $1 AND a.done_at IS NULL AND (a.due_at, a.id) > ($2, $3::uuid)
            ORDER BY a.due_at, a.id LIMIT $4"#,
        tx.tenant().uuid(),
        PgTimestamp(due_at) as _,
        id.uuid(),
        i64::from(limit),
    );
    Ok(tx.fetch(query).await?.into_iter().map(AfterReview::from).collect())
}

pub async fn get(tx: &mut Tx, id: AfterReviewId) -> Result<Option<AfterReview>, StoreError> {
    let query = query_as!(
        ReviewRow,
        r#"SELECT a.id, a.task_id, t.number, t.title, a.opened_at AS "opened_at: PgTimestamp",
                  a.due_at AS "due_at: PgTimestamp", a.done_by, a.done_at AS "done_at: PgTimestamp",
                  a.finding
             FROM after_review a JOIN task t ON (t.tenant_id, t.id) = (a.tenant_id, a.task_id)
            WHERE a.tenant_id = $1 AND a.id = $2"#,
        tx.tenant().uuid(),
        id.uuid(),
    );
    Ok(tx.fetch(query).await?.pop().map(AfterReview::from))
}

pub async fn overdue(tx: &mut Tx) -> Result<Overdue, StoreError> {
    let query = query!(
        r#"SELECT count(*) AS "count!", min(due_at) AS "since: PgTimestamp" FROM after_review
            WHERE tenant_id = $1 AND done_at IS NULL AND due_at <= $2"#,
        tx.tenant().uuid(),
        PgTimestamp(tx.now()) as _,
    );
    let row = tx.fetch_one(query).await?;
    let count = u32::try_from(row.count).unwrap_or(u32::MAX);
    Ok(Overdue { count, since: row.since.map(|moment| moment.0) })
}

/// Returns the number of overdue reviews in the whole installation, for metrics. Any login of the
/// application may call it.
pub async fn overdue_anywhere(pool: &Pool) -> Result<u32, StoreError> {
    let mut connection = pool.acquire().await?;
    let query = query_scalar!(r#"SELECT overdue_after_reviews() AS "count!""#);
    let count = query.fetch_one(connection.get()?).await?;
    connection.give_back();
    Ok(u32::try_from(count).unwrap_or(u32::MAX))
}

/// Closes a review. `Conflict` if it is already closed. The rows are counted: with `IS NULL` the
/// planner would search all open reviews instead of using the key.
pub async fn close(
    tx: &mut Tx,
    review: &AfterReview,
    by: UserId,
    finding: &str,
) -> Result<(), StoreError> {
    let query = query!(
        "UPDATE after_review SET done_by = $4, done_at = $5, finding = $6
          WHERE tenant_id = $1 AND task_id = $2 AND id = $3 AND num_nulls(done_at) = 1",
        tx.tenant().uuid(),
        review.task.uuid(),
        review.id.uuid(),
        by.uuid(),
        PgTimestamp(tx.now()) as _,
        finding,
    );
    tx.write_one(&review.id, query).await
}

/// Returns the admins who requested or confirmed overrides of this task.
pub async fn admins_of(tx: &mut Tx, task: TaskId) -> Result<Vec<UserId>, StoreError> {
    let query = query!(
        "SELECT asked_by, confirmed_by FROM override
          WHERE tenant_id = $1 AND task_id = $2 AND confirmed_by IS NOT NULL",
        tx.tenant().uuid(),
        task.uuid(),
    );
    let rows = tx.fetch(query).await?;
    let admins = rows.into_iter().flat_map(|row| [Some(row.asked_by), row.confirmed_by]);
    Ok(admins.flatten().map(UserId::from_uuid).collect())
}
