//! Writes one or several decisions as one statement. The guard comes first and changes a task only
//! while it is as the decision found it; everything else depends on the guard. Parts without rows
//! are left out, so that a plain transition costs little.

use ade_core::ids::{AgentId, TaskId, UserId};
use ade_core::task::{Decision, State, Task, Write};
use ade_core::time::Timestamp;
use sqlx::AssertSqlSafe;
use uuid::Uuid;

use super::child_rows::{self, Expected, Parts};
use super::rows::{integer, text, word};
use super::{RevisionContent, SideEffects, TaskMetadata};
use crate::audit::{self, AuditEntryId};
use crate::error::StoreError;
use crate::idempotency::Answers;
use crate::outbox::{self, OutboxEvent};
use crate::scheduled_jobs::Dues;
use crate::statement::{Statement, columns};
use crate::timestamp::PgTimestamp;
use crate::tx::Tx;

columns! { Inserts of Insert {
    id: Uuid => "uuid",
    state: &'static str => "text",
    since: PgTimestamp => "timestamptz",
    version: i64 => "int8",
    revision: i32 => "int4",
    title: String => "text",
    task_type: String => "text",
    priority: i16 => "int2",
    risk: i16 => "int2",
    level: String => "text",
    digest: Vec<u8> => "bytea",
    author: Uuid => "uuid",
    agent: Option<Uuid> => "uuid",
    submitter: Option<Uuid> => "uuid",
    editors: String => "text",
    token_issuers: String => "text",
    team: Option<String> => "text",
    ticket: Option<String> => "text",
    resubmits: Option<Uuid> => "uuid",
    timeout_seconds: i32 => "int4",
    rollback: &'static str => "text",
    rollback_steps: Option<String> => "text",
}}
columns! { Updates of Update {
    id: Uuid => "uuid",
    from_state: &'static str => "text",
    from_version: i64 => "int8",
    state: &'static str => "text",
    since: PgTimestamp => "timestamptz",
    version: i64 => "int8",
    revision: i32 => "int4",
    task_type: String => "text",
    risk: i16 => "int2",
    level: String => "text",
    digest: Vec<u8> => "bytea",
    submitter: Option<Uuid> => "uuid",
    editors: String => "text",
    token_issuers: String => "text",
    round: i32 => "int4",
    review_opened_at: Option<PgTimestamp> => "timestamptz",
    escalated_to_us: i64 => "int8",
    extended_to: Option<PgTimestamp> => "timestamptz",
    basis: Option<String> => "text",
    decision: Option<String> => "text",
    attempts: i32 => "int4",
    is_released: bool => "bool",
    closed_at: Option<PgTimestamp> => "timestamptz",
    not_before: Option<PgTimestamp> => "timestamptz",
    is_submitted: bool => "bool",
    is_hurried: bool => "bool",
}}
columns! { Removals of Removal {
    id: Uuid => "uuid",
    from_state: &'static str => "text",
    from_version: i64 => "int8",
}}

const INSERTED: &str = "
    INSERT INTO task (tenant_id, id, number, state, since, version, revision, title, task_type,
        priority, risk, level, digest, author_id, agent_id, submitter_id, editors,
        token_issuers, team, ticket, resubmits, timeout_seconds, rollback, rollback_steps,
        created_at, updated_at)
    SELECT $1, given.id, numbered.first + given.place, given.state, given.since, given.version,
           given.revision, given.title, given.task_type, given.priority, given.risk,
           given.level, given.digest, given.author, given.agent, given.submitter,
           given.editors::uuid[], given.token_issuers::uuid[], given.team, given.ticket,
           given.resubmits, given.timeout_seconds, given.rollback, given.rollback_steps, $2, $2
      FROM {given}, numbered
    RETURNING id, number";
const UPDATED: &str = "
    UPDATE task t
       SET state = given.state, since = given.since, version = given.version,
           revision = given.revision, task_type = given.task_type, risk = given.risk,
           level = given.level, digest = given.digest, submitter_id = given.submitter,
           editors = given.editors::uuid[],
           token_issuers = given.token_issuers::uuid[], round = given.round,
           review_opened_at = given.review_opened_at, escalated_to_us = given.escalated_to_us,
           extended_to = given.extended_to, basis = given.basis::json,
           decision = given.decision::json,
           attempts = given.attempts, is_released = given.is_released,
           closed_at = given.closed_at,
           updated_at = $2, not_before = given.not_before,
           submitted_at = CASE WHEN given.is_submitted THEN $2 ELSE t.submitted_at END,
           hurried_at = CASE WHEN given.is_hurried THEN $2 ELSE t.hurried_at END
      FROM {given}
     WHERE t.tenant_id = $1 AND t.id = given.id AND t.state = given.from_state
       AND t.version = given.from_version
    RETURNING t.id";
const REMOVED: &str = "
    DELETE FROM task t USING {given}
     WHERE t.tenant_id = $1 AND t.id = given.id AND t.state = given.from_state
       AND t.version = given.from_version
    RETURNING t.id";

/// The rows of one statement. It either inserts, changes or deletes tasks.
#[derive(Debug, Default)]
pub(super) struct Batch {
    inserts: Inserts,
    updates: Updates,
    removals: Removals,
    pub parts: Parts,
    pub leaves: audit::Leaves,
    pub events: outbox::Events,
    dues: Dues,
    answers: Answers,
}

/// The result for each task.
#[derive(Debug)]
pub(super) struct Written {
    pub numbers: Vec<i64>,
    pub leaves: Vec<AuditEntryId>,
}

impl Batch {
    pub fn insert(&mut self, task: &Task, heading: &TaskMetadata) -> Result<(), StoreError> {
        let people = &task.involvement;
        self.inserts.push(Insert {
            id: task.id.uuid(),
            state: task.state.as_str(),
            since: PgTimestamp(task.since),
            version: integer("version", task.version)?,
            revision: integer("revision", task.revision)?,
            title: heading.title.clone(),
            task_type: task.content.subject.task_type.clone(),
            priority: i16::from(heading.priority),
            risk: i16::from(task.content.subject.risk.points()),
            level: word(&task.content.level)?,
            digest: task.content.digest.bytes().to_vec(),
            author: people.author.uuid(),
            agent: people.agent.map(AgentId::uuid),
            submitter: people.submitter.map(UserId::uuid),
            editors: uuids(&people.editors),
            token_issuers: uuids(&people.token_issuers),
            team: heading.team.clone(),
            ticket: heading.ticket.clone(),
            resubmits: heading.resubmits.map(TaskId::uuid),
            timeout_seconds: integer("timeout_seconds", heading.timeout_seconds)?,
            rollback: heading.rollback.strategy(),
            rollback_steps: heading.rollback.steps().map(str::to_owned),
        });
        Ok(())
    }

    pub fn remove(&mut self, task: &Task) -> Result<(), StoreError> {
        self.removals.push(Removal {
            id: task.id.uuid(),
            from_state: task.state.as_str(),
            from_version: integer("version", task.version)?,
        });
        Ok(())
    }

    pub fn update(
        &mut self,
        task: &Task,
        next: &Task,
        decision: &Decision,
    ) -> Result<(), StoreError> {
        let is_approved = next.state == State::Approved;
        self.updates.push(Update {
            id: task.id.uuid(),
            from_state: task.state.as_str(),
            from_version: integer("version", task.version)?,
            state: next.state.as_str(),
            since: PgTimestamp(next.since),
            version: integer("version", next.version)?,
            revision: integer("revision", next.revision)?,
            task_type: next.content.subject.task_type.clone(),
            risk: i16::from(next.content.subject.risk.points()),
            level: word(&next.content.level)?,
            digest: next.content.digest.bytes().to_vec(),
            submitter: next.involvement.submitter.map(UserId::uuid),
            editors: uuids(&next.involvement.editors),
            token_issuers: uuids(&next.involvement.token_issuers),
            round: integer("round", next.round)?,
            review_opened_at: next.review_opened_at.map(PgTimestamp),
            escalated_to_us: integer("escalated_to_us", next.escalated_to.as_micros())?,
            extended_to: next.extended_to.map(PgTimestamp),
            basis: next.basis.as_ref().map(text).transpose()?,
            decision: next.decision.as_ref().map(text).transpose()?,
            attempts: integer("attempts", next.attempts)?,
            is_released: next.is_released,
            closed_at: next.is_closed().then_some(PgTimestamp(next.since)),
            not_before: not_before(decision).filter(|_| is_approved).map(PgTimestamp),
            is_submitted: next.state == State::Submitted && next.state != task.state,
            is_hurried: decision.writes.contains(&Write::FrontOfQueue),
        });
        Ok(())
    }

    pub fn revise(
        &mut self,
        task: &Task,
        editor: Option<UserId>,
        body: &RevisionContent,
    ) -> Result<(), StoreError> {
        let (content, subject) = (&task.content, &task.content.subject);
        let (id, revision) = (task.id.uuid(), integer("revision", task.revision)?);
        let risk = &body.risk;
        if (risk.score, risk.level) != (subject.risk, content.level) {
            return Err(StoreError::Unstorable {
                value: format!("an assessment of {:?}", risk.score),
                why: format!("the revision is rated {:?}", subject.risk),
            });
        }
        self.parts.revisions.push(child_rows::Contents {
            id,
            revision,
            digest: content.digest.bytes().to_vec(),
            shape: content.shape.bytes().to_vec(),
            task_type: subject.task_type.clone(),
            risk: i16::from(subject.risk.points()),
            level: word(&content.level)?,
            origin: word(&subject.origin)?,
            author_kind: word(&subject.author_kind)?,
            author_roles: text(&subject.author_roles)?,
            parameters: text(&body.parameters)?,
            effect: text(&body.effect)?,
            versions: text(&body.versions)?,
            editor: editor.map(UserId::uuid),
            factors: text(&risk.factors)?,
            assessed_at: PgTimestamp(risk.assessed_at),
            assessed_by: risk.assessed_by.clone(),
        });
        for resource in &subject.resources {
            let (name, mode) = (resource.to_string(), body.modes.get(resource).cloned());
            self.parts.resources.push(child_rows::Named { id, revision, resource: name, mode });
        }
        for tag in &subject.tags {
            self.parts.tags.push(child_rows::Label { id, revision, tag: tag.clone() });
        }
        Ok(())
    }

    /// Adds the jobs and the response of a task.
    pub fn keep_beside(&mut self, task: &Task, beside: &SideEffects<'_>) -> Result<(), StoreError> {
        self.dues.add(task.id.uuid(), beside.dues, beside.done);
        if let Some(kept) = &beside.answer {
            self.answers.add(task.id.uuid(), kept)?;
        }
        Ok(())
    }

    fn bind_guard(&mut self, s: &mut Statement) -> Result<usize, StoreError> {
        let (inserts, updates, removals) = (
            std::mem::take(&mut self.inserts),
            std::mem::take(&mut self.updates),
            std::mem::take(&mut self.removals),
        );
        let guarded = inserts.count() + updates.count() + removals.count();
        let (text, given) = if inserts.count() > 0 {
            let count = s.bind(integer::<i64, _>("tasks", inserts.count())?)?;
            s.part(
                "numbered",
                &format!(
                    "INSERT INTO task_number AS n (tenant_id, last) VALUES ($1, ${count})
                     ON CONFLICT ON CONSTRAINT task_number_pkey
                        DO UPDATE SET last = n.last + ${count}
                     RETURNING last - ${count} AS first"
                ),
            );
            (INSERTED, inserts.bind(s)?)
        } else if updates.count() > 0 {
            (UPDATED, updates.bind(s)?)
        } else {
            (REMOVED, removals.bind(s)?)
        };
        s.part("guard", &text.replace("{given}", &given));
        Ok(guarded)
    }

    fn bind(mut self, tx: &Tx) -> Result<(Statement, usize, Expected), StoreError> {
        let mut s = Statement::default();
        s.bind(tx.tenant().uuid())?;
        s.bind(PgTimestamp(tx.now()))?;
        let has_numbers = self.inserts.count() > 0;
        let guarded = self.bind_guard(&mut s)?;
        let mut expected = self.parts.bind(&mut s)?;
        self.leaves.part(&mut s)?;
        self.events.part(&mut s, tx.actor())?;
        self.dues.parts(&mut s)?;
        expected.extend(self.answers.part(&mut s)?);
        let numbers = if has_numbers { "array(SELECT number FROM guard)" } else { "'{}'::int8[]" };
        let counts: Vec<String> =
            expected.iter().map(|(name, _)| format!("(SELECT count(*) FROM {name})")).collect();
        let counts = counts.join(", ");
        s.sql.extend([" SELECT (SELECT count(*) FROM guard), ", numbers]);
        s.sql.extend([", array(SELECT id FROM leaf), array[", &counts, "]::int8[]"]);
        Ok((s, guarded, expected))
    }

    /// Runs the statement. The error names `object` if the guard does not hold.
    pub async fn write(self, tx: &mut Tx, object: &TaskId) -> Result<Written, StoreError> {
        let (statement, guarded, expected) = self.bind(tx)?;
        let query = sqlx::query_as_with::<_, (i64, Vec<i64>, Vec<Uuid>, Vec<i64>), _>(
            AssertSqlSafe(statement.sql),
            statement.arguments,
        );
        let rows = tx.write_rows(query).await?;
        let (held, numbers, leaves, counts) = rows.into_iter().next().unwrap_or_default();
        let is_count = |count: i64, wanted: usize| usize::try_from(count) == Ok(wanted);
        let is_whole = is_count(held, guarded)
            && counts.len() == expected.len()
            && counts.iter().zip(&expected).all(|(count, (_, wanted))| is_count(*count, *wanted));
        if !is_whole {
            return Err(tx.conflict(object));
        }
        tx.count_leaves(leaves.len());
        Ok(Written { numbers, leaves: leaves.into_iter().map(AuditEntryId).collect() })
    }
}

fn not_before(decision: &Decision) -> Option<Timestamp> {
    decision.writes.iter().find_map(|write| match write {
        Write::NotBefore(at) => Some(*at),
        _ => None,
    })
}

/// Writes a list as PostgreSQL text, because it has no lists of lists.
pub(super) fn uuids<'a>(people: impl IntoIterator<Item = &'a UserId>) -> String {
    let people: Vec<String> = people.into_iter().map(|id| id.uuid().to_string()).collect();
    format!("{{{}}}", people.join(","))
}

pub(super) fn event(
    kind: ade_core::event::EventKind,
    task: &Task,
    payload: serde_json::Value,
) -> Result<OutboxEvent, StoreError> {
    let version = Some(integer("version", task.version)?);
    Ok(OutboxEvent { kind, object: task.id.to_string(), version, payload })
}
