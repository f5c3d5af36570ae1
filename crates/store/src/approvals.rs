//! Requests and votes for display: the queue of a reviewer, one request, and everything about a
//! task. They are changed through `tasks`.

use ade_core::approval::{Approval, ApprovalStatus, Slot, Vote};
use ade_core::change::Digest;
use ade_core::ids::{ApprovalId, TaskId, UserId, VoteId};
use ade_core::limits::BACKLOG_OVERDUE;
use ade_core::risk::{Level, Score};
use ade_core::task::State;
use ade_core::time::Timestamp;
use serde_json::Value;
use sqlx::query;
use sqlx::types::Json;
use uuid::Uuid;

use crate::error::{RowError, StoreError};
use crate::tasks::rows::{Source, VoteRow, word};
use crate::timestamp::PgTimestamp;
use crate::tx::Tx;

/// One request, with the part of its task that a queue shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalRequest {
    pub id: ApprovalId,
    pub approval: Approval,
    /// The queue score; a higher score is listed first.
    pub score: u32,
    pub task: TaskId,
    pub number: i64,
    pub title: String,
    pub task_type: String,
    pub state: State,
    pub priority: u8,
    pub risk: Score,
    pub level: Level,
    /// The digest of the current revision.
    pub digest: Digest,
    pub author: UserId,
}

/// Where a page of the queue ended. The time at which requests count as overdue is fixed by the
/// first page: otherwise a request that becomes overdue in between would be on no page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cursor {
    pub as_of: Timestamp,
    pub place: QueuePlace,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueuePlace {
    Overdue { due_at: Timestamp, id: ApprovalId },
    Ahead { score: u32, id: ApprovalId },
}

const COLUMNS: &str = "
    SELECT a.id, a.task_id, a.revision, a.reviewer_id, a.status, a.places, a.requested_at,
           a.due_at, a.score, t.number, t.title, t.task_type, t.state, t.priority, t.risk,
           t.level, t.digest, t.author_id
      FROM approval a JOIN task t ON (t.tenant_id, t.id) = (a.tenant_id, a.task_id)";
const OVERDUE: &str = "
     WHERE a.tenant_id = $1 AND a.reviewer_id = $2 AND a.status = 'PENDING' AND a.due_at <= $3
       AND (a.due_at, a.id) > ($4, $5)
     ORDER BY a.due_at, a.id LIMIT $6";
const OVERDUE_COUNT: &str = "
    SELECT count(*) FROM (
        SELECT FROM approval
         WHERE tenant_id = $1 AND reviewer_id = $2 AND status = 'PENDING' AND due_at <= $3
         LIMIT $4) AS found";
const AHEAD: &str = "
     WHERE a.tenant_id = $1 AND a.reviewer_id = $2 AND a.status = 'PENDING' AND a.due_at > $3
       AND a.score <= $4 AND (a.score < $4 OR a.id > $5)
     ORDER BY a.score DESC, a.id LIMIT $6";
const ENDED: &str = "
     WHERE a.tenant_id = $1 AND a.reviewer_id = $2 AND a.status = $3 AND a.id < $4
       AND a.status <> 'PENDING'
     ORDER BY a.id DESC LIMIT $5";

/// Returns the open requests of a reviewer: overdue ones first, longest overdue foremost, then by
/// score. With a large backlog of overdue requests the order is by score alone, so that the
/// riskiest do not wait behind the oldest. The cursor is returned if there may be more.
pub async fn inbox(
    tx: &mut Tx,
    reviewer: UserId,
    after: Option<Cursor>,
    limit: u32,
) -> Result<(Vec<ApprovalRequest>, Option<Cursor>), StoreError> {
    let mut as_of = after.map_or(tx.now(), |cursor| cursor.as_of);
    let mut requests = Vec::new();
    let ahead_of = match after.map(|cursor| cursor.place) {
        Some(QueuePlace::Ahead { score, id }) => Some((score, id)),
        Some(QueuePlace::Overdue { due_at, id }) => {
            requests = overdue(tx, reviewer, as_of, Some((due_at, id)), limit).await?;
            None
        }
        None => {
            requests = overdue(tx, reviewer, as_of, None, limit).await?;
            let found = u32::try_from(requests.len()).unwrap_or(u32::MAX);
            if found >= limit.min(BACKLOG_OVERDUE)
                && overdue_count(tx, reviewer).await? > BACKLOG_OVERDUE
            {
                as_of = Timestamp::from_micros(0);
                requests.clear();
            }
            None
        }
    };
    let rest = limit.saturating_sub(u32::try_from(requests.len()).unwrap_or(u32::MAX));
    if rest > 0 {
        requests.extend(ahead(tx, reviewer, as_of, ahead_of, rest).await?);
    }
    let is_full = u32::try_from(requests.len()).is_ok_and(|count| count >= limit);
    let next = requests.last().filter(|_| is_full).map(|last| Cursor {
        as_of,
        place: if last.approval.due_at <= as_of {
            QueuePlace::Overdue { due_at: last.approval.due_at, id: last.id }
        } else {
            QueuePlace::Ahead { score: last.score, id: last.id }
        },
    });
    Ok((requests, next))
}

/// Returns how many requests of this reviewer are overdue, counted up to one more than a backlog
/// has.
pub async fn overdue_count(tx: &mut Tx, reviewer: UserId) -> Result<u32, StoreError> {
    let now = tx.now();
    let query = sqlx::query_as::<_, (i64,)>(OVERDUE_COUNT)
        .bind(tx.tenant().uuid())
        .bind(reviewer.uuid())
        .bind(PgTimestamp(now))
        .bind(i64::from(BACKLOG_OVERDUE) + 1);
    let found = tx.read(query).await?.pop();
    Ok(found.map_or(0, |(count,)| u32::try_from(count).unwrap_or(u32::MAX)))
}

async fn overdue(
    tx: &mut Tx,
    reviewer: UserId,
    as_of: Timestamp,
    after: Option<(Timestamp, ApprovalId)>,
    limit: u32,
) -> Result<Vec<ApprovalRequest>, StoreError> {
    let first = (Timestamp::from_micros(0), ApprovalId::from_u128(0));
    let (due_at, id) = after.unwrap_or(first);
    let query = sqlx::query_as::<_, RequestRow>(sqlx::AssertSqlSafe(format!("{COLUMNS}{OVERDUE}")))
        .bind(tx.tenant().uuid())
        .bind(reviewer.uuid())
        .bind(PgTimestamp(as_of))
        .bind(PgTimestamp(due_at))
        .bind(id.uuid())
        .bind(i64::from(limit));
    requests(tx.read(query).await?)
}

async fn ahead(
    tx: &mut Tx,
    reviewer: UserId,
    as_of: Timestamp,
    after: Option<(u32, ApprovalId)>,
    limit: u32,
) -> Result<Vec<ApprovalRequest>, StoreError> {
    let (score, id) = after.map_or((i32::MAX, ApprovalId::from_u128(0)), |(score, id)| {
        (i32::try_from(score).unwrap_or(i32::MAX), id)
    });
    let query = sqlx::query_as::<_, RequestRow>(sqlx::AssertSqlSafe(format!("{COLUMNS}{AHEAD}")))
        .bind(tx.tenant().uuid())
        .bind(reviewer.uuid())
        .bind(PgTimestamp(as_of))
        .bind(score)
        .bind(id.uuid())
        .bind(i64::from(limit));
    requests(tx.read(query).await?)
}

/// Returns closed requests, newest first.
pub async fn ended(
    tx: &mut Tx,
    reviewer: UserId,
    status: ApprovalStatus,
    after: Option<ApprovalId>,
    limit: u32,
) -> Result<Vec<ApprovalRequest>, StoreError> {
    let query = sqlx::query_as::<_, RequestRow>(sqlx::AssertSqlSafe(format!("{COLUMNS}{ENDED}")))
        .bind(tx.tenant().uuid())
        .bind(reviewer.uuid())
        .bind(word(&status)?)
        .bind(after.map_or(Uuid::max(), ApprovalId::uuid))
        .bind(i64::from(limit));
    requests(tx.read(query).await?)
}

pub async fn get(tx: &mut Tx, id: ApprovalId) -> Result<Option<ApprovalRequest>, StoreError> {
    let sql = format!("{COLUMNS} WHERE a.tenant_id = $1 AND a.id = $2");
    let query = sqlx::query_as::<_, RequestRow>(sqlx::AssertSqlSafe(sql))
        .bind(tx.tenant().uuid())
        .bind(id.uuid());
    Ok(requests(tx.read(query).await?)?.pop())
}

/// Returns the requests on all revisions, in the order in which people were asked.
pub async fn of_task(tx: &mut Tx, task: TaskId) -> Result<Vec<ApprovalRequest>, StoreError> {
    let sql = format!("{COLUMNS} WHERE a.tenant_id = $1 AND a.task_id = $2 ORDER BY a.seq");
    let query = sqlx::query_as::<_, RequestRow>(sqlx::AssertSqlSafe(sql))
        .bind(tx.tenant().uuid())
        .bind(task.uuid());
    requests(tx.read(query).await?)
}

/// Returns the votes in the order in which they were given.
pub async fn votes(tx: &mut Tx, task: TaskId) -> Result<Vec<(VoteId, Vote)>, StoreError> {
    let query = query!(
        r#"SELECT v.id, v.task_id, v.voter_id, v.answer, v.revision, v.digest, v.round,
                  array_to_string(v.places, ',') AS "places!", v.reason, v.at AS "at: PgTimestamp",
                  v.effectual, v.carried_from, array_to_string(v.marks, ',') AS "marks!",
                  EXISTS (SELECT FROM vote_withdrawal w
                           WHERE (w.tenant_id, w.task_id, w.vote_seq)
                               = (v.tenant_id, v.task_id, v.seq)) AS "withdrawn!"
             FROM vote v WHERE v.tenant_id = $1 AND v.task_id = $2 ORDER BY v.seq"#,
        tx.tenant().uuid(),
        task.uuid(),
    );
    let rows = tx.fetch(query).await?.into_iter();
    let votes = rows.map(|row| {
        let vote = VoteRow {
            task_id: row.task_id,
            voter_id: row.voter_id,
            answer: row.answer,
            revision: row.revision,
            digest: row.digest,
            round: row.round,
            places: row.places,
            reason: row.reason,
            at: row.at,
            effectual: row.effectual,
            carried_from: row.carried_from,
            withdrawn: row.withdrawn,
            marks: row.marks,
        };
        Ok((VoteId::from_uuid(row.id), vote.try_into()?))
    });
    Ok(votes.collect::<Result<_, RowError>>()?)
}

fn requests(rows: Vec<RequestRow>) -> Result<Vec<ApprovalRequest>, StoreError> {
    Ok(rows.into_iter().map(ApprovalRequest::try_from).collect::<Result<_, RowError>>()?)
}

#[derive(sqlx::FromRow)]
struct RequestRow {
    id: Uuid,
    task_id: Uuid,
    revision: i32,
    reviewer_id: Uuid,
    status: String,
    places: Json<Value>,
    requested_at: PgTimestamp,
    due_at: PgTimestamp,
    score: i32,
    number: i64,
    title: String,
    task_type: String,
    state: String,
    priority: i16,
    risk: i16,
    level: String,
    digest: Vec<u8>,
    author_id: Uuid,
}

impl TryFrom<RequestRow> for ApprovalRequest {
    type Error = RowError;

    fn try_from(row: RequestRow) -> Result<Self, RowError> {
        let asked = Source { table: "approval", task: row.task_id };
        let of = Source { table: "task", task: row.task_id };
        let places: Vec<Slot> = asked.document("places", row.places.0)?;
        Ok(Self {
            id: ApprovalId::from_uuid(row.id),
            approval: Approval {
                reviewer: UserId::from_uuid(row.reviewer_id),
                revision: asked.natural("revision", row.revision)?,
                status: asked.word("status", row.status)?,
                places,
                requested_at: row.requested_at.0,
                due_at: row.due_at.0,
            },
            score: asked.natural("score", row.score)?,
            task: TaskId::from_uuid(row.task_id),
            number: row.number,
            title: row.title,
            task_type: row.task_type,
            state: of.word("state", row.state)?,
            priority: of.natural("priority", row.priority)?,
            risk: Score::new(of.natural("risk", row.risk)?),
            level: of.word("level", row.level)?,
            digest: of.digest("digest", &row.digest)?,
            author: UserId::from_uuid(row.author_id),
        })
    }
}

/// Returns the task of each request; a request that does not exist is left out.
pub async fn tasks_of(
    tx: &mut Tx,
    ids: &[ApprovalId],
) -> Result<Vec<(ApprovalId, TaskId)>, StoreError> {
    let ids: Vec<Uuid> = ids.iter().map(|id| id.uuid()).collect();
    let query = query!(
        "SELECT a.id, a.task_id FROM unnest($2::uuid[]) AS wanted (id)
          CROSS JOIN LATERAL (SELECT id, task_id FROM approval
                               WHERE tenant_id = $1 AND id = wanted.id LIMIT 1) AS a",
        tx.tenant().uuid(),
        &ids,
    );
    let rows = tx.fetch(query).await?.into_iter();
    Ok(rows.map(|row| (ApprovalId::from_uuid(row.id), TaskId::from_uuid(row.task_id))).collect())
}
