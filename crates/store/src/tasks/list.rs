//! Pages of tasks, newest first. Each filter has an index that yields ids in that order; one of
//! them leads and the others are checked on what it yields, so many at a time: a page costs the
//! same however many tasks there are, and may be short although more follow.

use ade_core::change::Digest;
use ade_core::ids::{AgentId, TaskId, UserId};
use ade_core::limits::TASK_LIST_SCAN_MAX;
use ade_core::resource::ResourceRef;
use ade_core::risk::{Level, Score};
use ade_core::task::State;
use ade_core::time::Timestamp;
use sqlx::postgres::{PgArguments, PgRow};
use sqlx::{Arguments, AssertSqlSafe, FromRow, Row};
use uuid::Uuid;

use super::rows::{Source, word};
use crate::error::{Error, RowError};
use crate::moment::Moment;
use crate::statement::encoded;
use crate::tx::Tx;

/// Only what is set must hold, and all of it. Revisions that were amended away do not count.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Any of these; empty is every state.
    pub states: Vec<State>,
    pub author: Option<UserId>,
    pub agent: Option<AgentId>,
    pub task_type: Option<String>,
    pub resource: Option<ResourceRef>,
    pub tag: Option<String>,
    pub level: Option<Level>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
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
    pub resources: Vec<String>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub closed_at: Option<Timestamp>,
}

/// Which filter's index yields the ids. In the order in which they narrow most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lead {
    Resource,
    Tag,
    Agent,
    Author,
    Type,
    States,
    Level,
    Nothing,
}

// The tenant, the last id seen and how many ids to look at are $1, $2 and $3 of each; what the
// leading filter asks for is $4.
const BY_RESOURCE: &str = "
    SELECT n.task_id AS id FROM task_resource n
     WHERE n.tenant_id = $1 AND n.resource = $4 AND n.task_id < $2
     ORDER BY n.task_id DESC LIMIT $3";
const BY_TAG: &str = "
    SELECT n.task_id AS id FROM task_tag n
     WHERE n.tenant_id = $1 AND n.tag = $4 AND n.task_id < $2
     ORDER BY n.task_id DESC LIMIT $3";
const BY_AGENT: &str = "
    SELECT n.id FROM task n WHERE n.tenant_id = $1 AND n.agent_id = $4 AND n.id < $2
     ORDER BY n.id DESC LIMIT $3";
const BY_AUTHOR: &str = "
    SELECT n.id FROM task n WHERE n.tenant_id = $1 AND n.author_id = $4 AND n.id < $2
     ORDER BY n.id DESC LIMIT $3";
const BY_TYPE: &str = "
    SELECT n.task_id AS id FROM task_revision n
     WHERE n.tenant_id = $1 AND n.task_type = $4 AND n.task_id < $2
     ORDER BY n.task_id DESC LIMIT $3";
const BY_STATES: &str = "
    SELECT n.id FROM unnest($4::text[]) AS wanted (state)
     CROSS JOIN LATERAL (
        SELECT t.id FROM task t
         WHERE t.tenant_id = $1 AND t.state = wanted.state AND t.id < $2
         ORDER BY t.id DESC LIMIT $3) AS n
     ORDER BY n.id DESC LIMIT $3";
const BY_LEVEL: &str = "
    SELECT n.task_id AS id FROM task_revision n
     WHERE n.tenant_id = $1 AND n.level = $4 AND n.task_id < $2
     ORDER BY n.task_id DESC LIMIT $3";
const BY_NOTHING: &str = "
    SELECT n.id FROM task n WHERE n.tenant_id = $1 AND n.id < $2 ORDER BY n.id DESC LIMIT $3";

const COLUMNS: &str = "
    t.id, t.number, t.title, t.state, t.since, t.version, t.revision, t.task_type, t.priority,
    t.risk, t.level, t.digest, t.author_id, t.agent_id, t.submitter_id, t.team, t.ticket,
    array(SELECT l.resource FROM task_resource l
           WHERE (l.tenant_id, l.task_id, l.revision) = (t.tenant_id, t.id, t.revision)
           ORDER BY l.resource) AS resources,
    t.created_at, t.updated_at, t.closed_at";
const HAS_RESOURCE: &str = "EXISTS (SELECT FROM task_resource c
     WHERE (c.tenant_id, c.task_id, c.revision) = (t.tenant_id, t.id, t.revision)
       AND c.resource = ";
const HAS_TAG: &str = "EXISTS (SELECT FROM task_tag c
     WHERE (c.tenant_id, c.task_id, c.revision) = (t.tenant_id, t.id, t.revision)
       AND c.tag = ";

impl Filter {
    fn lead(&self) -> Lead {
        let set = [
            (self.resource.is_some(), Lead::Resource),
            (self.tag.is_some(), Lead::Tag),
            (self.agent.is_some(), Lead::Agent),
            (self.author.is_some(), Lead::Author),
            (self.task_type.is_some(), Lead::Type),
            (!self.states.is_empty(), Lead::States),
            (self.level.is_some(), Lead::Level),
        ];
        set.into_iter().find(|(is_set, _)| *is_set).map_or(Lead::Nothing, |(_, lead)| lead)
    }

    /// Whether every id that the lead yields belongs to the page.
    fn is_lead_alone(&self) -> bool {
        let set = [
            self.resource.is_some(),
            self.tag.is_some(),
            self.agent.is_some(),
            self.author.is_some(),
            self.task_type.is_some(),
            !self.states.is_empty(),
            self.level.is_some(),
        ];
        let is_on_task = match self.lead() {
            Lead::Agent | Lead::Author | Lead::States | Lead::Nothing => true,
            // One of its revisions has it, maybe not the current one.
            Lead::Resource | Lead::Tag | Lead::Type | Lead::Level => false,
        };
        is_on_task && set.into_iter().filter(|is_set| *is_set).count() <= 1
    }

    fn lead_text(&self, arguments: &mut PgArguments) -> Result<&'static str, Error> {
        let text = match self.lead() {
            Lead::Resource => {
                encoded(arguments.add(self.resource.as_ref().map(ToString::to_string)))?;
                BY_RESOURCE
            }
            Lead::Tag => {
                encoded(arguments.add(self.tag.clone()))?;
                BY_TAG
            }
            Lead::Agent => {
                encoded(arguments.add(self.agent.map(AgentId::uuid)))?;
                BY_AGENT
            }
            Lead::Author => {
                encoded(arguments.add(self.author.map(UserId::uuid)))?;
                BY_AUTHOR
            }
            Lead::Type => {
                encoded(arguments.add(self.task_type.clone()))?;
                BY_TYPE
            }
            Lead::States => {
                encoded(arguments.add(self.state_names()))?;
                BY_STATES
            }
            Lead::Level => {
                encoded(arguments.add(self.level.as_ref().map(word).transpose()?))?;
                BY_LEVEL
            }
            Lead::Nothing => BY_NOTHING,
        };
        Ok(text)
    }

    fn state_names(&self) -> Vec<&'static str> {
        let mut names: Vec<&str> = self.states.iter().map(|state| state.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Everything again, on the task as it is now: what leads may speak of an old revision.
    fn checks(&self, arguments: &mut PgArguments) -> Result<String, Error> {
        let mut text = String::from("true");
        let mut check = |before: &str, after: &str, arguments: &PgArguments| {
            let number = arguments.len().to_string();
            text.extend([" AND ", before, "$", &number, after]);
        };
        if let Some(resource) = &self.resource {
            encoded(arguments.add(resource.to_string()))?;
            check(HAS_RESOURCE, ")", arguments);
        }
        if let Some(tag) = &self.tag {
            encoded(arguments.add(tag.clone()))?;
            check(HAS_TAG, ")", arguments);
        }
        if let Some(agent) = self.agent {
            encoded(arguments.add(agent.uuid()))?;
            check("t.agent_id = ", "", arguments);
        }
        if let Some(author) = self.author {
            encoded(arguments.add(author.uuid()))?;
            check("t.author_id = ", "", arguments);
        }
        if let Some(task_type) = &self.task_type {
            encoded(arguments.add(task_type.clone()))?;
            check("t.task_type = ", "", arguments);
        }
        if !self.states.is_empty() {
            encoded(arguments.add(self.state_names()))?;
            check("t.state = ANY (", "::text[])", arguments);
        }
        if let Some(level) = &self.level {
            encoded(arguments.add(word(level)?))?;
            check("t.level = ", "", arguments);
        }
        Ok(text)
    }
}

/// Those after `after` in the list, `limit` of them at most. Mostly what leads fits the other
/// filters too, so that twice as many ids as are wanted fill the page; only if they do not, all
/// that one page may look at are looked at.
pub async fn list(
    tx: &mut Tx,
    filter: &Filter,
    after: Option<TaskId>,
    limit: u32,
) -> Result<Page, Error> {
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

/// Among the next `scan` ids that the lead has.
async fn look(
    tx: &mut Tx,
    filter: &Filter,
    after: Option<TaskId>,
    scan: u32,
    limit: u32,
) -> Result<Page, Error> {
    let (scan, limit) = (i64::from(scan), i64::from(limit));
    let mut arguments = PgArguments::default();
    encoded(arguments.add(tx.tenant().uuid()))?;
    encoded(arguments.add(after.map_or(Uuid::max(), TaskId::uuid)))?;
    encoded(arguments.add(scan))?;
    let lead = filter.lead_text(&mut arguments)?;
    let checks = filter.checks(&mut arguments)?;
    encoded(arguments.add(limit))?;
    let last = arguments.len();
    // Constant pieces and numbers of parameters, nothing else. OFFSET 0 keeps the checks out of
    // the way to the row: it is found by its key, never by a filter that matches a million.
    let sql = format!(
        "WITH scanned AS MATERIALIZED ({lead})
         SELECT s.scanned, s.last_scanned, page.*
           FROM (SELECT count(*) AS scanned,
                        (SELECT id FROM scanned ORDER BY id LIMIT 1) AS last_scanned
                   FROM scanned) AS s
           LEFT JOIN (SELECT {COLUMNS}
                        FROM (SELECT DISTINCT id FROM scanned ORDER BY id DESC) AS n
                       CROSS JOIN LATERAL (SELECT * FROM task
                                            WHERE tenant_id = $1 AND id = n.id OFFSET 0) AS t
                       WHERE {checks}
                       ORDER BY n.id DESC LIMIT ${last}) AS page ON true
          ORDER BY page.id DESC"
    );
    let rows = tx.read(sqlx::query_as_with(AssertSqlSafe(sql), arguments)).await?;
    page(rows, scan, limit)
}

fn page(rows: Vec<ListRow>, scan: i64, limit: i64) -> Result<Page, Error> {
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
    Ok(Page { tasks, next })
}

/// One row of the page with how far the scan came; a page may be empty and still have come far.
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
    since: Moment,
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
    resources: Vec<String>,
    created_at: Moment,
    updated_at: Moment,
    closed_at: Option<Moment>,
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
            resources: row.resources,
            created_at: row.created_at.0,
            updated_at: row.updated_at.0,
            closed_at: row.closed_at.map(|moment| moment.0),
        })
    }
}
