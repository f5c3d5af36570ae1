//! Loads a task for `decide`, with all its facts, in one statement. The caller has locked its row
//! before: nothing read here is older than the lock, and the next caller waits and sees the
//! decision.

use std::sync::LazyLock;

use ade_core::change::Digest;
use ade_core::ids::TaskId;
use ade_core::task::Task;
use ade_core::time::Timestamp;
use sqlx::postgres::{PgHasArrayType, PgRow, Postgres};
use sqlx::{Decode, FromRow, Row, Type};
use uuid::Uuid;

use super::TaskMetadata;
use super::rows::{
    ApprovalRow, ExecutionRow, OverrideRow, PinRow, Source, TaskRow, VoteRow, gather_all,
};
use crate::error::{RowError, StoreError};
use crate::idempotency::{self, IdempotencyKey, KeyState};
use crate::timestamp::PgTimestamp;
use crate::tx::Tx;

/// The inputs of a decision that the store provides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gathered {
    pub task: Option<Task>,
    /// The state of the idempotency key; `Fresh` if no key was given.
    pub claim: KeyState,
    /// The part of the task that is displayed but not used by rules.
    pub label: Option<TaskHeader>,
    /// The version of the tenant's rulebook.
    pub rulebook: i64,
}

/// The number, the metadata and the creation time of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskHeader {
    pub number: i64,
    pub heading: TaskMetadata,
    pub created_at: Timestamp,
}

// Always returns one row. Lists are one array per column: binary, and typed by their columns.
const EVERYTHING: &str = "
    SELECT t.id, t.state, t.since, t.version, t.revision, t.author_id, t.agent_id,
           t.submitter_id, t.editors, t.token_issuers, t.round, t.review_opened_at,
           t.escalated_to_us, t.extended_to, t.basis, t.decision, t.attempts, t.is_released,
           t.number, t.title, t.priority, t.team, t.ticket AS task_ticket,
           t.resubmits, t.timeout_seconds, t.rollback, t.rollback_steps, t.created_at, r.digest,
           r.shape, r.task_type, r.risk, r.level, r.origin, r.author_kind, r.author_roles,
           array(SELECT n.resource FROM task_resource n
                  WHERE (n.tenant_id, n.task_id, n.revision) = ($1, t.id, t.revision))
               AS resources,
           array(SELECT n.tag FROM task_tag n
                  WHERE (n.tenant_id, n.task_id, n.revision) = ($1, t.id, t.revision)) AS tags,
           pin.*, asked.*, vote.*,
           o.revision AS override_revision, o.digest AS override_digest, o.asked_by, o.ticket,
           o.reason, o.confirm_before, o.confirmed_by, o.valid_until,
           e.id AS execution_id, e.holder, e.lease_id, e.token, e.started_at, e.begun_at,
           e.abort_requested,
           {answer},
           coalesce((SELECT b.version FROM rulebook b WHERE b.tenant_id = $1), 0) AS rulebook
      FROM (VALUES (1)) AS one
      LEFT JOIN task t ON t.tenant_id = $1 AND t.id = $2
      LEFT JOIN task_revision r
        ON r.tenant_id = $1 AND r.task_id = t.id AND r.revision = t.revision
      LEFT JOIN override o ON o.tenant_id = $1 AND o.task_id = t.id AND o.dropped_at IS NULL
      LEFT JOIN execution e ON e.tenant_id = $1 AND e.task_id = t.id AND e.ended_at IS NULL
      {kept}
     CROSS JOIN LATERAL (
        SELECT array_agg(p.policy_id) AS pin_policies, array_agg(p.version) AS pin_versions
          FROM (SELECT policy_id, version FROM task_policy_pin
                 WHERE tenant_id = $1 AND task_id = t.id ORDER BY place) AS p) AS pin
     CROSS JOIN LATERAL (
        SELECT array_agg(a.revision) AS asked_revisions,
               array_agg(a.reviewer_id) AS asked_reviewers,
               array_agg(a.status) AS asked_statuses, array_agg(a.places::text) AS asked_places,
               array_agg(a.requested_at) AS asked_at, array_agg(a.due_at) AS asked_due
          FROM (SELECT * FROM approval
                 WHERE tenant_id = $1 AND task_id = t.id ORDER BY seq) AS a) AS asked
     CROSS JOIN LATERAL (
        SELECT array_agg(v.voter_id) AS vote_voters, array_agg(v.answer) AS vote_answers,
               array_agg(v.revision) AS vote_revisions, array_agg(v.digest) AS vote_digests,
               array_agg(v.round) AS vote_rounds,
               array_agg(array_to_string(v.places, ',')) AS vote_places,
               array_agg(v.reason) AS vote_reasons, array_agg(v.at) AS vote_at,
               array_agg(v.effectual) AS vote_effectual,
               array_agg(v.carried_from) AS vote_carried, array_agg(v.withdrawn) AS vote_withdrawn,
               array_agg(array_to_string(v.marks, ',')) AS vote_marks
          FROM (SELECT v.*, w.vote_seq IS NOT NULL AS withdrawn
                  FROM vote v
                  LEFT JOIN vote_withdrawal w
                    ON (w.tenant_id, w.task_id, w.vote_seq) = (v.tenant_id, v.task_id, v.seq)
                 WHERE v.tenant_id = $1 AND v.task_id = t.id ORDER BY v.seq) AS v) AS vote";

const ANSWER: &str = "kept.body_hash, kept.status AS kept_status, kept.answer AS kept_answer";
const KEPT: &str = "LEFT JOIN idempotency kept
        ON kept.tenant_id = $1 AND kept.principal = $3 AND kept.route = $4 AND kept.key = $5
           AND kept.expires_at > $6";
const NO_ANSWER: &str =
    "NULL::bytea AS body_hash, NULL::int2 AS kept_status, NULL::text AS kept_answer";

static WITH_KEY: LazyLock<String> =
    LazyLock::new(|| EVERYTHING.replace("{answer}", ANSWER).replace("{kept}", KEPT));
/// The statement without a key, which does not search stored responses.
static WITHOUT_KEY: LazyLock<String> =
    LazyLock::new(|| EVERYTHING.replace("{answer}", NO_ANSWER).replace("{kept}", ""));

/// Loads a task and locks it until the transaction ends.
pub async fn load(tx: &mut Tx, id: TaskId) -> Result<Option<Task>, StoreError> {
    Ok(gather(tx, id, None).await?.task)
}

/// Loads a task without a lock, for display.
pub async fn peek(tx: &mut Tx, id: TaskId) -> Result<Option<Task>, StoreError> {
    Ok(read(tx, id, None).await?.task)
}

/// Loads everything that a decision needs. If the transaction began with the task and the key,
/// nothing is left to lock, and this is one round trip.
pub async fn gather(
    tx: &mut Tx,
    id: TaskId,
    key: Option<(&IdempotencyKey, &Digest)>,
) -> Result<Gathered, StoreError> {
    if let Some((key, _)) = key
        && !idempotency::take(tx, key).await?
    {
        return Ok(Gathered { task: None, label: None, claim: KeyState::InFlight, rulebook: 0 });
    }
    tx.lock(id).await?;
    read(tx, id, key).await
}

async fn read(
    tx: &mut Tx,
    id: TaskId,
    key: Option<(&IdempotencyKey, &Digest)>,
) -> Result<Gathered, StoreError> {
    let sql: &'static LazyLock<String> = if key.is_some() { &WITH_KEY } else { &WITHOUT_KEY };
    let mut query =
        sqlx::query_as::<_, Everything>(sql.as_str()).bind(tx.tenant().uuid()).bind(id.uuid());
    if let Some((key, _)) = key {
        query =
            query.bind(&key.principal).bind(&key.route).bind(&key.key).bind(PgTimestamp(tx.now()));
    }
    let Some(found) = tx.read(query).await?.pop() else {
        return Ok(Gathered { task: None, label: None, claim: KeyState::New, rulebook: 0 });
    };
    let claim = key.map_or(KeyState::New, |(_, body)| idempotency::claim_of(found.kept, body));
    let task = found.task.map(|row| {
        let mut task = Task::try_from(row)?;
        task.pins = gather_all(found.pins)?;
        task.approvals = gather_all(found.approvals)?;
        task.votes = gather_all(found.votes)?;
        task.break_glass = found.break_glass.map(TryInto::try_into).transpose()?;
        task.execution = found.execution.map(TryInto::try_into).transpose()?;
        Ok::<Task, StoreError>(task)
    });
    if let Some(missing) = found.without_revision {
        let of = Source { table: "task", task: missing };
        return Err(of.wrong("revision", "no such revision").into());
    }
    let rulebook = found.rulebook;
    Ok(Gathered { task: task.transpose()?, label: found.label, claim, rulebook })
}

struct Everything {
    task: Option<TaskRow>,
    label: Option<TaskHeader>,
    without_revision: Option<Uuid>,
    pins: Vec<PinRow>,
    approvals: Vec<ApprovalRow>,
    votes: Vec<VoteRow>,
    break_glass: Option<OverrideRow>,
    execution: Option<ExecutionRow>,
    kept: Option<(Vec<u8>, i16, String)>,
    rulebook: i64,
}

impl FromRow<'_, PgRow> for Everything {
    fn from_row(row: &PgRow) -> Result<Self, sqlx::Error> {
        let kept = match row.try_get::<Option<Vec<u8>>, _>("body_hash")? {
            Some(hash) => Some((hash, row.try_get("kept_status")?, row.try_get("kept_answer")?)),
            None => None,
        };
        let mut all = Self {
            task: None,
            label: None,
            without_revision: None,
            pins: Vec::new(),
            approvals: Vec::new(),
            votes: Vec::new(),
            break_glass: None,
            execution: None,
            kept,
            rulebook: row.try_get("rulebook")?,
        };
        let Some(id) = row.try_get::<Option<Uuid>, _>("id")? else { return Ok(all) };
        if row.try_get::<Option<Vec<u8>>, _>("digest")?.is_none() {
            all.without_revision = Some(id);
            return Ok(all);
        }
        all.task = Some(TaskRow::from_row(row)?);
        all.label = Some(label(row, id)?);
        all.pins = pins(row, id)?;
        all.approvals = approvals(row, id)?;
        all.votes = votes(row, id)?;
        if row.try_get::<Option<Uuid>, _>("asked_by")?.is_some() {
            all.break_glass = Some(break_glass(row, id)?);
        }
        if row.try_get::<Option<Uuid>, _>("lease_id")?.is_some() {
            all.execution = Some(execution(row, id)?);
        }
        Ok(all)
    }
}

fn label(row: &PgRow, id: Uuid) -> Result<TaskHeader, sqlx::Error> {
    let of = Source { table: "task", task: id };
    // The column is checked to be a score.
    let priority = u8::try_from(row.try_get::<i16, _>("priority")?).unwrap_or(u8::MAX);
    Ok(TaskHeader {
        number: row.try_get("number")?,
        heading: TaskMetadata {
            title: row.try_get("title")?,
            priority,
            team: row.try_get("team")?,
            ticket: row.try_get("task_ticket")?,
            resubmits: row.try_get::<Option<Uuid>, _>("resubmits")?.map(TaskId::from_uuid),
            timeout_seconds: of
                .natural("timeout_seconds", row.try_get::<i32, _>("timeout_seconds")?)
                .map_err(unread)?,
            rollback: of
                .rollback(row.try_get("rollback")?, row.try_get("rollback_steps")?)
                .map_err(unread)?,
        },
        created_at: row.try_get::<PgTimestamp, _>("created_at")?.0,
    })
}

fn unread(error: RowError) -> sqlx::Error {
    sqlx::Error::Decode(Box::new(error))
}

/// The values of one column of a list; NULL is an empty list.
struct Values<T>(std::vec::IntoIter<T>);

impl<T> Values<T> {
    fn of(row: &PgRow, name: &str) -> Result<Self, sqlx::Error>
    where
        T: for<'v> Decode<'v, Postgres> + Type<Postgres> + PgHasArrayType,
    {
        let values: Option<Vec<T>> = row.try_get(name)?;
        Ok(Self(values.unwrap_or_default().into_iter()))
    }

    /// Returns the next value. All columns of a list have the same length, because they are
    /// aggregates over the same rows.
    fn next(&mut self) -> Result<T, sqlx::Error> {
        self.0.next().ok_or(sqlx::Error::RowNotFound)
    }
}

fn pins(row: &PgRow, task_id: Uuid) -> Result<Vec<PinRow>, sqlx::Error> {
    let policies = Values::<Uuid>::of(row, "pin_policies")?;
    let mut versions = Values::<i32>::of(row, "pin_versions")?;
    policies
        .0
        .map(|policy_id| Ok(PinRow { task_id, policy_id, version: versions.next()? }))
        .collect()
}

fn approvals(row: &PgRow, task_id: Uuid) -> Result<Vec<ApprovalRow>, sqlx::Error> {
    let reviewers = Values::<Uuid>::of(row, "asked_reviewers")?;
    let mut revisions = Values::<i32>::of(row, "asked_revisions")?;
    let mut statuses = Values::<String>::of(row, "asked_statuses")?;
    let mut places = Values::<String>::of(row, "asked_places")?;
    let mut requested = Values::<PgTimestamp>::of(row, "asked_at")?;
    let mut due = Values::<PgTimestamp>::of(row, "asked_due")?;
    let rows = reviewers.0.map(|reviewer_id| {
        Ok(ApprovalRow {
            task_id,
            revision: revisions.next()?,
            reviewer_id,
            status: statuses.next()?,
            places: places.next()?,
            requested_at: requested.next()?,
            due_at: due.next()?,
        })
    });
    rows.collect()
}

fn votes(row: &PgRow, task_id: Uuid) -> Result<Vec<VoteRow>, sqlx::Error> {
    let voters = Values::<Uuid>::of(row, "vote_voters")?;
    let mut answers = Values::<String>::of(row, "vote_answers")?;
    let mut revisions = Values::<i32>::of(row, "vote_revisions")?;
    let mut digests = Values::<Vec<u8>>::of(row, "vote_digests")?;
    let mut rounds = Values::<i32>::of(row, "vote_rounds")?;
    let mut places = Values::<String>::of(row, "vote_places")?;
    let mut reasons = Values::<Option<String>>::of(row, "vote_reasons")?;
    let mut moments = Values::<PgTimestamp>::of(row, "vote_at")?;
    let mut effectual = Values::<bool>::of(row, "vote_effectual")?;
    let mut carried = Values::<Option<i32>>::of(row, "vote_carried")?;
    let mut withdrawn = Values::<bool>::of(row, "vote_withdrawn")?;
    let mut marks = Values::<String>::of(row, "vote_marks")?;
    let rows = voters.0.map(|voter_id| {
        Ok(VoteRow {
            task_id,
            voter_id,
            answer: answers.next()?,
            revision: revisions.next()?,
            digest: digests.next()?,
            round: rounds.next()?,
            places: places.next()?,
            reason: reasons.next()?,
            at: moments.next()?,
            effectual: effectual.next()?,
            withdrawn: withdrawn.next()?,
            carried_from: carried.next()?,
            marks: marks.next()?,
        })
    });
    rows.collect()
}

fn break_glass(row: &PgRow, task_id: Uuid) -> Result<OverrideRow, sqlx::Error> {
    Ok(OverrideRow {
        task_id,
        revision: row.try_get("override_revision")?,
        digest: row.try_get("override_digest")?,
        asked_by: row.try_get("asked_by")?,
        ticket: row.try_get("ticket")?,
        reason: row.try_get("reason")?,
        confirm_before: row.try_get("confirm_before")?,
        confirmed_by: row.try_get("confirmed_by")?,
        valid_until: row.try_get("valid_until")?,
    })
}

fn execution(row: &PgRow, task_id: Uuid) -> Result<ExecutionRow, sqlx::Error> {
    Ok(ExecutionRow {
        task_id,
        id: row.try_get("execution_id")?,
        holder: row.try_get("holder")?,
        lease_id: row.try_get("lease_id")?,
        token: row.try_get("token")?,
        started_at: row.try_get("started_at")?,
        begun_at: row.try_get("begun_at")?,
        abort_requested: row.try_get("abort_requested")?,
    })
}
