//! Pages of tasks in the order of their creation. Most filters have an index that yields ids in
//! that order. One of them leads, and the others are checked on its ids, a bounded number at a
//! time: a page costs the same however many tasks there are, and may be short although more follow.

use ade_core::change::Digest;
use ade_core::ids::{AgentId, TaskId, UserId};
use ade_core::limits::TASK_LIST_SCAN_MAX;
use ade_core::risk::{Level, Score};
use ade_core::task::{State, SubState, TaskDecision};
use ade_core::time::Timestamp;
use serde_json::Value;
use sqlx::postgres::{PgArguments, PgRow};
use sqlx::{Arguments, AssertSqlSafe, FromRow, Row};
use uuid::Uuid;

use super::list_filter::{TaskFilter, TaskOrder};
use super::rows::Source;
use crate::error::{RowError, StoreError};
use crate::statement::encoded;
use crate::timestamp::PgTimestamp;
use crate::tx::Tx;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskPage {
    pub tasks: Vec<Summary>,
    /// Where the next page begins, if there may be one.
    pub next: Option<TaskId>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    pub id: TaskId,
    pub number: i64,
    pub title: String,
    pub state: State,
    pub since: Timestamp,
    pub version: u64,
    pub revision: u32,
    pub task_type: String,
    pub priority: u8,
    pub risk: Score,
    pub level: Level,
    pub digest: Digest,
    pub author: UserId,
    pub agent: Option<AgentId>,
    pub submitter: Option<UserId>,
    pub team: Option<String>,
    pub ticket: Option<String>,
    pub decision: Option<TaskDecision>,
    pub is_released: bool,
    pub resources: Vec<String>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub closed_at: Option<Timestamp>,
}

impl Summary {
    pub fn sub_state(&self) -> Option<SubState> {
        SubState::of(self.state, self.decision.as_ref(), self.is_released)
    }
}

const COLUMNS: &str = "
    t.id, t.number, t.title, t.state, t.since, t.version, t.revision, t.task_type, t.priority,
    t.risk, t.level, t.digest, t.author_id, t.agent_id, t.submitter_id, t.team, t.ticket,
    t.decision, t.is_released, t.created_at, t.updated_at, t.closed_at,
    array(SELECT l.resource FROM task_resource l
           WHERE (l.tenant_id, l.task_id, l.revision) = (t.tenant_id, t.id, t.revision)
           ORDER BY l.resource) AS resources";
/// Returns at most `limit` tasks after `after`. Usually most ids of the lead pass the other
/// filters, so that twice the limit fills the page; only otherwise are all ids examined that one
/// page may examine.
pub async fn list(
    tx: &mut Tx,
    filter: &TaskFilter,
    after: Option<TaskId>,
    limit: u32,
) -> Result<TaskPage, StoreError> {
    let limit = limit.max(1);
    if filter.is_lead_alone() {
        return look(tx, filter, after, limit, limit).await;
    }
    let first = limit.saturating_mul(2).min(TASK_LIST_SCAN_MAX);
    let mut page = look(tx, filter, after, first, limit).await?;
    let found = u32::try_from(page.tasks.len()).unwrap_or(u32::MAX);
    let (wanted, unseen) = (limit.saturating_sub(found), TASK_LIST_SCAN_MAX - first);
    if wanted > 0 && unseen > 0 && page.next.is_some() {
        let rest = look(tx, filter, page.next, unseen, wanted).await?;
        page.tasks.extend(rest.tasks);
        page.next = rest.next;
    }
    Ok(page)
}

/// Searches the next `scan` ids of the lead.
async fn look(
    tx: &mut Tx,
    filter: &TaskFilter,
    after: Option<TaskId>,
    scan: u32,
    limit: u32,
) -> Result<TaskPage, StoreError> {
    let (scan, limit) = (i64::from(scan), i64::from(limit));
    let mut arguments = PgArguments::default();
    encoded(arguments.add(tx.tenant().uuid()))?;
    encoded(arguments.add(after.map_or_else(|| filter.start(), TaskId::uuid)))?;
    encoded(arguments.add(scan))?;
    let lead = filter.lead_text(&mut arguments)?;
    let checks = filter.checks(&mut arguments)?;
    encoded(arguments.add(limit))?;
    let last = arguments.len();
    let (order, last_first) = match filter.order {
        TaskOrder::NewestFirst => ("DESC", "ASC"),
        TaskOrder::OldestFirst => ("ASC", "DESC"),
    };
    // The text consists of constant pieces and parameter numbers only. OFFSET 0 keeps the planner
    // from using the checks for the lookup: the row is found by its key, never by a filter that
    // matches a million rows.
    let sql = format!(
        "WITH scanned AS MATERIALIZED ({lead})
         SELECT s.scanned, s.last_scanned, page.*
           FROM (SELECT count(*) AS scanned,
                        (SELECT id FROM scanned ORDER BY id {last_first} LIMIT 1) AS last_scanned
                   FROM scanned) AS s
           LEFT JOIN (SELECT {COLUMNS}
                        FROM (SELECT DISTINCT id FROM scanned ORDER BY id {order}) AS n
                       CROSS JOIN LATERAL (SELECT * FROM task
                                            WHERE tenant_id = $1 AND id = n.id OFFSET 0) AS t
                       WHERE {checks}
                       ORDER BY n.id {order} LIMIT ${last}) AS page ON true
          ORDER BY page.id {order}"
    );
    let rows = tx.read(sqlx::query_as_with(AssertSqlSafe(sql), arguments)).await?;
    let mut page = page(rows, scan, limit)?;
    page.next = page.next.filter(|next| !filter.is_past(next.uuid()));
    Ok(page)
}

fn page(rows: Vec<ListRow>, scan: i64, limit: i64) -> Result<TaskPage, StoreError> {
    let (scanned, last_scanned) =
        rows.first().map_or((0, None), |row| (row.scanned, row.last_scanned));
    let tasks = rows.into_iter().filter_map(|row| row.summary).map(Summary::try_from);
    let tasks = tasks.collect::<Result<Vec<Summary>, RowError>>()?;
    let is_full = i64::try_from(tasks.len()).is_ok_and(|count| count >= limit);
    let next = if is_full {
        tasks.last().map(|task| task.id)
    } else if scanned >= scan {
        last_scanned.map(TaskId::from_uuid)
    } else {
        None
    };
    Ok(TaskPage { tasks, next })
}

/// One row of the page, with the position of the scan; an empty page may have advanced far.
struct ListRow {
    scanned: i64,
    last_scanned: Option<Uuid>,
    summary: Option<SummaryRow>,
}

impl FromRow<'_, PgRow> for ListRow {
    fn from_row(row: &PgRow) -> Result<Self, sqlx::Error> {
        let is_there = row.try_get::<Option<Uuid>, _>("id")?.is_some();
        Ok(Self {
            scanned: row.try_get("scanned")?,
            last_scanned: row.try_get("last_scanned")?,
            summary: is_there.then(|| SummaryRow::from_row(row)).transpose()?,
        })
    }
}

#[derive(FromRow)]
struct SummaryRow {
    id: Uuid,
    number: i64,
    title: String,
    state: String,
    since: PgTimestamp,
    version: i64,
    revision: i32,
    task_type: String,
    priority: i16,
    risk: i16,
    level: String,
    digest: Vec<u8>,
    author_id: Uuid,
    agent_id: Option<Uuid>,
    submitter_id: Option<Uuid>,
    team: Option<String>,
    ticket: Option<String>,
    decision: Option<Value>,
    is_released: bool,
    resources: Vec<String>,
    created_at: PgTimestamp,
    updated_at: PgTimestamp,
    closed_at: Option<PgTimestamp>,
}

impl TryFrom<SummaryRow> for Summary {
    type Error = RowError;

    fn try_from(row: SummaryRow) -> Result<Self, RowError> {
        let of = Source { table: "task", task: row.id };
        Ok(Self {
            id: TaskId::from_uuid(row.id),
            number: row.number,
            title: row.title,
            state: of.word("state", row.state)?,
            since: row.since.0,
            version: of.natural("version", row.version)?,
            revision: of.natural("revision", row.revision)?,
            task_type: row.task_type,
            priority: of.natural("priority", row.priority)?,
            risk: Score::new(of.natural("risk", row.risk)?),
            level: of.word("level", row.level)?,
            digest: of.digest("digest", &row.digest)?,
            author: UserId::from_uuid(row.author_id),
            agent: row.agent_id.map(AgentId::from_uuid),
            submitter: row.submitter_id.map(UserId::from_uuid),
            team: row.team,
            ticket: row.ticket,
            decision: row.decision.map(|one| of.document("decision", one)).transpose()?,
            is_released: row.is_released,
            resources: row.resources,
            created_at: row.created_at.0,
            updated_at: row.updated_at.0,
            closed_at: row.closed_at.map(|moment| moment.0),
        })
    }
}
