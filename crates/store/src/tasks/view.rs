//! A task for display: metadata, state and a whole revision. Reads take no locks; a decision loads
//! the task instead.

use ade_core::actor::{Actor, Role};
use ade_core::approval::separation_of_duties::Participants;
use ade_core::change::{Digest, Effect, Origin, PreviewVersions, StrictValue};
use ade_core::ids::{AgentId, TaskId, UserId};
use ade_core::policy::AuthorKind;
use ade_core::resource::ResourceRef;
use ade_core::risk::{Assessment, Level, Score};
use ade_core::task::{Basis, State, SubState, TaskDecision};
use ade_core::time::Timestamp;
use serde_json::{Value, json};
use sqlx::query_as;
use uuid::Uuid;

use super::TaskMetadata;
use super::rows::Source;
use crate::error::{RowError, StoreError};
use crate::timestamp::PgTimestamp;
use crate::tx::Tx;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct View {
    pub id: TaskId,
    pub number: i64,
    pub heading: TaskMetadata,
    pub state: State,
    pub since: Timestamp,
    pub version: u64,
    pub involvement: Participants,
    pub round: u32,
    pub review_opened_at: Option<Timestamp>,
    pub basis: Option<Basis>,
    pub decision: Option<TaskDecision>,
    /// The change was made by the agent's host, which has not reported the result.
    pub is_released: bool,
    pub attempts: u32,
    /// The next attempt to apply starts no earlier than this.
    pub not_before: Option<Timestamp>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub closed_at: Option<Timestamp>,
    pub revision: Revision,
}

impl View {
    pub fn sub_state(&self) -> Option<SubState> {
        SubState::of(self.state, self.decision.as_ref(), self.is_released)
    }
}

/// One complete revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revision {
    pub head: RevisionHead,
    /// The resources in canonical order, each with its lock mode if the task names one.
    pub resources: Vec<(ResourceRef, Option<String>)>,
    pub tags: Vec<String>,
    pub author_kind: AuthorKind,
    pub author_roles: Vec<Role>,
    pub shape: Digest,
    pub parameters: StrictValue,
    pub effect: Effect,
    pub versions: PreviewVersions,
}

/// The identity of a revision, without its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RevisionHead {
    pub revision: u32,
    pub task_type: String,
    pub risk: Score,
    pub level: Level,
    pub digest: Digest,
    pub origin: Origin,
    pub editor: Option<UserId>,
    pub created_at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comment {
    pub seq: i64,
    pub actor: Actor,
    pub body: String,
    pub at: Timestamp,
}

pub async fn view(tx: &mut Tx, id: TaskId) -> Result<Option<View>, StoreError> {
    let query = query_as!(
        ViewRow,
        r#"SELECT id, number, title, state, since AS "since: PgTimestamp", version, revision,
                  priority, author_id, agent_id, submitter_id, editors, token_issuers, team,
                  ticket, resubmits, round, timeout_seconds, rollback, rollback_steps, basis,
                  decision, attempts, is_released,
                  review_opened_at AS "review_opened_at: PgTimestamp",
                  not_before AS "not_before: PgTimestamp", created_at AS "created_at: PgTimestamp",
                  updated_at AS "updated_at: PgTimestamp", closed_at AS "closed_at: PgTimestamp"
             FROM task WHERE tenant_id = $1 AND id = $2"#,
        tx.tenant().uuid(),
        id.uuid(),
    );
    let Some(row) = tx.fetch(query).await?.pop() else { return Ok(None) };
    // A revision never changes, so reading it in a second statement is consistent.
    let Some(revision) = by_number(tx, id, row.revision).await? else {
        let of = Source { table: "task", task: row.id };
        return Err(of.wrong("revision", format!("no revision {}", row.revision)).into());
    };
    Ok(Some(row.view(revision)?))
}

pub async fn revision(
    tx: &mut Tx,
    id: TaskId,
    number: u32,
) -> Result<Option<Revision>, StoreError> {
    // A number beyond the range of the column cannot exist.
    let Ok(number) = i32::try_from(number) else { return Ok(None) };
    by_number(tx, id, number).await
}

/// Returns revisions, newest first; empty if the task does not exist.
pub async fn revisions(tx: &mut Tx, id: TaskId) -> Result<Vec<RevisionHead>, StoreError> {
    let query = query_as!(
        HeadRow,
        r#"SELECT task_id, revision, task_type, risk, level, digest, origin, editor_id,
                  created_at AS "created_at: PgTimestamp"
             FROM task_revision WHERE tenant_id = $1 AND task_id = $2 ORDER BY revision DESC"#,
        tx.tenant().uuid(),
        id.uuid(),
    );
    let rows = tx.fetch(query).await?;
    Ok(rows.into_iter().map(RevisionHead::try_from).collect::<Result<_, RowError>>()?)
}

/// Returns comments, oldest first, those after `after`.
pub async fn comments(
    tx: &mut Tx,
    id: TaskId,
    after: Option<i64>,
    limit: u32,
) -> Result<Vec<Comment>, StoreError> {
    let query = query_as!(
        CommentRow,
        r#"SELECT task_id, seq, actor, body, at AS "at: PgTimestamp" FROM comment
            WHERE tenant_id = $1 AND task_id = $2 AND seq > $3 ORDER BY seq LIMIT $4"#,
        tx.tenant().uuid(),
        id.uuid(),
        after.unwrap_or(i64::MIN),
        i64::from(limit),
    );
    let rows = tx.fetch(query).await?;
    Ok(rows.into_iter().map(Comment::try_from).collect::<Result<_, RowError>>()?)
}

/// Returns the risk assessment of the current revision.
pub async fn risk(tx: &mut Tx, id: TaskId) -> Result<Option<Assessment>, StoreError> {
    let query = query_as!(
        RiskRow,
        r#"SELECT a.task_id, a.score, a.level, a.factors,
                  a.assessed_at AS "assessed_at: PgTimestamp", a.assessed_by
             FROM risk_assessment a
             JOIN task t
               ON (t.tenant_id, t.id, t.revision) = (a.tenant_id, a.task_id, a.revision)
            WHERE a.tenant_id = $1 AND a.task_id = $2"#,
        tx.tenant().uuid(),
        id.uuid(),
    );
    let row = tx.fetch(query).await?.pop();
    Ok(row.map(Assessment::try_from).transpose()?)
}

async fn by_number(tx: &mut Tx, id: TaskId, number: i32) -> Result<Option<Revision>, StoreError> {
    let query = query_as!(
        RevisionRow,
        r#"SELECT r.task_id, r.revision, r.task_type, r.risk, r.level, r.digest, r.origin,
                  r.editor_id, r.created_at AS "created_at: PgTimestamp", r.shape, r.author_kind,
                  r.author_roles, r.parameters::text AS "parameters!",
                  r.effect::text AS "effect!", r.preview_versions::text AS "preview_versions!",
                  array(SELECT n.resource FROM task_resource n
                         WHERE (n.tenant_id, n.task_id, n.revision)
                             = (r.tenant_id, r.task_id, r.revision)
                         ORDER BY n.resource) AS "resources!",
                  array(SELECT n.mode FROM task_resource n
                         WHERE (n.tenant_id, n.task_id, n.revision)
                             = (r.tenant_id, r.task_id, r.revision)
                         ORDER BY n.resource) AS "modes!: Vec<Option<String>>",
                  array(SELECT n.tag FROM task_tag n
                         WHERE (n.tenant_id, n.task_id, n.revision)
                             = (r.tenant_id, r.task_id, r.revision) ORDER BY n.tag) AS "tags!"
             FROM task_revision r
            WHERE r.tenant_id = $1 AND r.task_id = $2 AND r.revision = $3"#,
        tx.tenant().uuid(),
        id.uuid(),
        number,
    );
    let row = tx.fetch(query).await?.pop();
    Ok(row.map(Revision::try_from).transpose()?)
}

struct ViewRow {
    id: Uuid,
    number: i64,
    title: String,
    state: String,
    since: PgTimestamp,
    version: i64,
    revision: i32,
    priority: i16,
    author_id: Uuid,
    agent_id: Option<Uuid>,
    submitter_id: Option<Uuid>,
    editors: Vec<Uuid>,
    token_issuers: Vec<Uuid>,
    team: Option<String>,
    ticket: Option<String>,
    resubmits: Option<Uuid>,
    timeout_seconds: i32,
    rollback: String,
    rollback_steps: Option<String>,
    round: i32,
    review_opened_at: Option<PgTimestamp>,
    basis: Option<Value>,
    decision: Option<Value>,
    attempts: i32,
    is_released: bool,
    not_before: Option<PgTimestamp>,
    created_at: PgTimestamp,
    updated_at: PgTimestamp,
    closed_at: Option<PgTimestamp>,
}

impl ViewRow {
    fn view(self, revision: Revision) -> Result<View, RowError> {
        let of = Source { table: "task", task: self.id };
        Ok(View {
            id: TaskId::from_uuid(self.id),
            number: self.number,
            heading: TaskMetadata {
                title: self.title,
                priority: of.natural("priority", self.priority)?,
                team: self.team,
                ticket: self.ticket,
                resubmits: self.resubmits.map(TaskId::from_uuid),
                timeout_seconds: of.natural("timeout_seconds", self.timeout_seconds)?,
                rollback: of.rollback(&self.rollback, self.rollback_steps)?,
            },
            state: of.word("state", self.state)?,
            since: self.since.0,
            version: of.natural("version", self.version)?,
            involvement: Participants {
                author: UserId::from_uuid(self.author_id),
                agent: self.agent_id.map(AgentId::from_uuid),
                submitter: self.submitter_id.map(UserId::from_uuid),
                editors: self.editors.into_iter().map(UserId::from_uuid).collect(),
                token_issuers: self.token_issuers.into_iter().map(UserId::from_uuid).collect(),
            },
            round: of.natural("round", self.round)?,
            review_opened_at: self.review_opened_at.map(|moment| moment.0),
            basis: self.basis.map(|one| of.document("basis", one)).transpose()?,
            decision: self.decision.map(|one| of.document("decision", one)).transpose()?,
            attempts: of.natural("attempts", self.attempts)?,
            is_released: self.is_released,
            not_before: self.not_before.map(|moment| moment.0),
            created_at: self.created_at.0,
            updated_at: self.updated_at.0,
            closed_at: self.closed_at.map(|moment| moment.0),
            revision,
        })
    }
}

struct HeadRow {
    task_id: Uuid,
    revision: i32,
    task_type: String,
    risk: i16,
    level: String,
    digest: Vec<u8>,
    origin: String,
    editor_id: Option<Uuid>,
    created_at: PgTimestamp,
}

impl TryFrom<HeadRow> for RevisionHead {
    type Error = RowError;

    fn try_from(row: HeadRow) -> Result<Self, RowError> {
        let of = Source { table: "task_revision", task: row.task_id };
        Ok(Self {
            revision: of.natural("revision", row.revision)?,
            task_type: row.task_type,
            risk: Score::new(of.natural("risk", row.risk)?),
            level: of.word("level", row.level)?,
            digest: of.digest("digest", &row.digest)?,
            origin: of.word("origin", row.origin)?,
            editor: row.editor_id.map(UserId::from_uuid),
            created_at: row.created_at.0,
        })
    }
}

struct RevisionRow {
    task_id: Uuid,
    revision: i32,
    task_type: String,
    risk: i16,
    level: String,
    digest: Vec<u8>,
    origin: String,
    editor_id: Option<Uuid>,
    created_at: PgTimestamp,
    shape: Vec<u8>,
    author_kind: String,
    author_roles: Vec<String>,
    parameters: String,
    effect: String,
    preview_versions: String,
    resources: Vec<String>,
    modes: Vec<Option<String>>,
    tags: Vec<String>,
}

impl TryFrom<RevisionRow> for Revision {
    type Error = RowError;

    fn try_from(row: RevisionRow) -> Result<Self, RowError> {
        let of = Source { table: "task_revision", task: row.task_id };
        let named = Source { table: "task_resource", task: row.task_id };
        let resources = row.resources.iter().zip(row.modes).map(|(name, mode)| {
            let resource = name.parse().map_err(|error| named.wrong("resource", error))?;
            Ok((resource, mode))
        });
        let head = HeadRow {
            task_id: row.task_id,
            revision: row.revision,
            task_type: row.task_type,
            risk: row.risk,
            level: row.level,
            digest: row.digest,
            origin: row.origin,
            editor_id: row.editor_id,
            created_at: row.created_at,
        };
        Ok(Self {
            head: head.try_into()?,
            resources: resources.collect::<Result<_, RowError>>()?,
            tags: row.tags,
            author_kind: of.word("author_kind", row.author_kind)?,
            author_roles: row.author_roles.into_iter().map(Role::new).collect(),
            shape: of.digest("shape", &row.shape)?,
            parameters: of.parsed("parameters", &row.parameters)?,
            effect: of.parsed("effect", &row.effect)?,
            versions: of.parsed("preview_versions", &row.preview_versions)?,
        })
    }
}

struct CommentRow {
    task_id: Uuid,
    seq: i64,
    actor: Value,
    body: String,
    at: PgTimestamp,
}

impl TryFrom<CommentRow> for Comment {
    type Error = RowError;

    fn try_from(row: CommentRow) -> Result<Self, RowError> {
        let of = Source { table: "comment", task: row.task_id };
        let actor = of.document("actor", row.actor)?;
        Ok(Self { seq: row.seq, actor, body: row.body, at: row.at.0 })
    }
}

struct RiskRow {
    task_id: Uuid,
    score: i16,
    level: String,
    factors: Value,
    assessed_at: PgTimestamp,
    assessed_by: String,
}

impl TryFrom<RiskRow> for Assessment {
    type Error = RowError;

    fn try_from(row: RiskRow) -> Result<Self, RowError> {
        let of = Source { table: "risk_assessment", task: row.task_id };
        let document = json!({
            "score": row.score,
            "level": row.level,
            "factors": row.factors,
            "assessed_at": row.assessed_at.0,
            "assessed_by": row.assessed_by,
        });
        of.document("factors", document)
    }
}
