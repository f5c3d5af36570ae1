//! The rows of the tables of a task and their conversion to domain values. A row with a value that
//! the rules exclude is an error that names table, column and row.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::time::Duration;

use ade_core::actor::{Actor, Role};
use ade_core::approval::separation_of_duties::Participants;
use ade_core::approval::{Approval, Slot, Vote};
use ade_core::change::Digest;
use ade_core::ids::{AgentId, ExecutionId, LeaseId, TaskId, UserId};
use ade_core::policy::{PolicyRef, Subject};
use ade_core::resource::ResourceRef;
use ade_core::risk::Score;
use ade_core::task::{Basis, BreakGlass, Confirmation, Content, Execution, Hold, Rollback, Task};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use sqlx::types::Json;
use uuid::Uuid;

use crate::error::{RowError, StoreError};
use crate::timestamp::PgTimestamp;

/// The table and row that a value was read from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Source {
    pub table: &'static str,
    pub task: Uuid,
}

impl Source {
    pub fn wrong(self, column: &'static str, why: impl Display) -> RowError {
        let row = TaskId::from_uuid(self.task).to_string();
        RowError { table: self.table, column, row, why: why.to_string() }
    }

    /// Parses a value that is stored under its serialized name.
    pub fn word<T: DeserializeOwned>(
        self,
        column: &'static str,
        text: String,
    ) -> Result<T, RowError> {
        serde_json::from_value(Value::String(text)).map_err(|error| self.wrong(column, error))
    }

    pub fn natural<T, N>(self, column: &'static str, number: N) -> Result<T, RowError>
    where
        T: TryFrom<N, Error: Display>,
    {
        T::try_from(number).map_err(|error| self.wrong(column, error))
    }

    pub fn document<T: DeserializeOwned>(
        self,
        column: &'static str,
        value: Value,
    ) -> Result<T, RowError> {
        serde_json::from_value(value).map_err(|error| self.wrong(column, error))
    }

    /// Parses the text itself: a value in between would round numbers.
    pub fn parsed<T: DeserializeOwned>(
        self,
        column: &'static str,
        text: &str,
    ) -> Result<T, RowError> {
        serde_json::from_str(text).map_err(|error| self.wrong(column, error))
    }

    pub fn rollback(self, strategy: &str, steps: Option<String>) -> Result<Rollback, RowError> {
        Rollback::new(strategy, steps).ok_or_else(|| self.wrong("rollback", strategy))
    }

    pub fn digest(self, column: &'static str, bytes: &[u8]) -> Result<Digest, RowError> {
        let bytes: [u8; 32] = bytes
            .try_into()
            .map_err(|_| self.wrong(column, format!("{} bytes, not 32", bytes.len())))?;
        Ok(Digest::from_bytes(bytes))
    }
}

/// Converts a list of rows.
pub(super) fn gather_all<R, T>(rows: Vec<R>) -> Result<Vec<T>, RowError>
where
    T: TryFrom<R, Error = RowError>,
{
    rows.into_iter().map(T::try_from).collect()
}

pub(crate) fn word<T: Serialize>(value: &T) -> Result<String, StoreError> {
    match serde_json::to_value(value) {
        Ok(Value::String(text)) => Ok(text),
        Ok(other) => Err(unstorable(other, "a name was expected")),
        Err(error) => Err(unstorable("a name", error)),
    }
}

pub(super) fn text<T: Serialize>(value: &T) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| unstorable("a document", error))
}

pub(super) fn integer<T, N>(name: &str, number: N) -> Result<T, StoreError>
where
    N: Copy + Display,
    T: TryFrom<N, Error: Display>,
{
    T::try_from(number).map_err(|error| unstorable(format!("{name} {number}"), error))
}

fn unstorable(value: impl Display, why: impl Display) -> StoreError {
    StoreError::Unstorable { value: value.to_string(), why: why.to_string() }
}

#[derive(Debug, sqlx::FromRow)]
pub(super) struct TaskRow {
    pub id: Uuid,
    pub state: String,
    pub since: PgTimestamp,
    pub version: i64,
    pub revision: i32,
    pub author_id: Uuid,
    pub agent_id: Option<Uuid>,
    pub submitter_id: Option<Uuid>,
    pub editors: Vec<Uuid>,
    pub token_issuers: Vec<Uuid>,
    pub round: i32,
    pub review_opened_at: Option<PgTimestamp>,
    pub escalated_to_us: i64,
    pub extended_to: Option<PgTimestamp>,
    pub basis: Option<Json<Value>>,
    pub decision: Option<Json<Value>>,
    pub attempts: i32,
    pub is_released: bool,
    pub digest: Vec<u8>,
    pub shape: Vec<u8>,
    pub task_type: String,
    pub risk: i16,
    pub level: String,
    pub origin: String,
    pub author_kind: String,
    pub author_roles: Vec<String>,
    pub resources: Vec<String>,
    pub tags: Vec<String>,
}

impl TryFrom<TaskRow> for Task {
    type Error = RowError;

    fn try_from(row: TaskRow) -> Result<Self, RowError> {
        let of = Source { table: "task", task: row.id };
        let basis = row.basis.map(|Json(basis)| serde_json::from_value::<Basis>(basis));
        let escalated_to = of.natural("escalated_to_us", row.escalated_to_us)?;
        Ok(Self {
            id: TaskId::from_uuid(row.id),
            state: of.word("state", row.state.clone())?,
            since: row.since.0,
            version: of.natural("version", row.version)?,
            revision: of.natural("revision", row.revision)?,
            involvement: Participants {
                author: UserId::from_uuid(row.author_id),
                agent: row.agent_id.map(AgentId::from_uuid),
                submitter: row.submitter_id.map(UserId::from_uuid),
                editors: row.editors.iter().copied().map(UserId::from_uuid).collect(),
                token_issuers: row.token_issuers.iter().copied().map(UserId::from_uuid).collect(),
            },
            pins: Vec::new(),
            approvals: Vec::new(),
            votes: Vec::new(),
            round: of.natural("round", row.round)?,
            review_opened_at: row.review_opened_at.map(|moment| moment.0),
            escalated_to: Duration::from_micros(escalated_to),
            extended_to: row.extended_to.map(|moment| moment.0),
            basis: basis.transpose().map_err(|error| of.wrong("basis", error))?,
            decision: row.decision.map(|Json(one)| of.document("decision", one)).transpose()?,
            break_glass: None,
            execution: None,
            attempts: of.natural("attempts", row.attempts)?,
            is_released: row.is_released,
            content: content(
                row.id,
                &row.digest,
                &row.shape,
                Words {
                    task_type: row.task_type,
                    level: row.level,
                    origin: row.origin,
                    author_kind: row.author_kind,
                    risk: row.risk,
                    author_roles: row.author_roles,
                    resources: row.resources,
                    tags: row.tags,
                },
            )?,
        })
    }
}

struct Words {
    task_type: String,
    level: String,
    origin: String,
    author_kind: String,
    risk: i16,
    author_roles: Vec<String>,
    resources: Vec<String>,
    tags: Vec<String>,
}

fn content(task: Uuid, digest: &[u8], shape: &[u8], words: Words) -> Result<Content, RowError> {
    let of = Source { table: "task_revision", task };
    let named = Source { table: "task_resource", task };
    let resource =
        |name: String| name.parse::<ResourceRef>().map_err(|error| named.wrong("resource", error));
    Ok(Content {
        digest: of.digest("digest", digest)?,
        shape: of.digest("shape", shape)?,
        level: of.word("level", words.level)?,
        subject: Subject {
            task_type: words.task_type,
            resources: words.resources.into_iter().map(resource).collect::<Result<_, _>>()?,
            tags: words.tags.into_iter().collect(),
            risk: Score::new(of.natural("risk", words.risk)?),
            author_kind: of.word("author_kind", words.author_kind)?,
            author_roles: words.author_roles.into_iter().map(Role::new).collect(),
            origin: of.word("origin", words.origin)?,
        },
    })
}

#[derive(Debug)]
pub(super) struct PinRow {
    pub task_id: Uuid,
    pub policy_id: Uuid,
    pub version: i32,
}

impl TryFrom<PinRow> for PolicyRef {
    type Error = RowError;

    fn try_from(row: PinRow) -> Result<Self, RowError> {
        let of = Source { table: "task_policy_pin", task: row.task_id };
        let id = ade_core::ids::PolicyId::from_uuid(row.policy_id);
        Ok(Self { id, version: of.natural("version", row.version)? })
    }
}

#[derive(Debug)]
pub(super) struct ApprovalRow {
    pub task_id: Uuid,
    pub revision: i32,
    pub reviewer_id: Uuid,
    pub status: String,
    pub places: String,
    pub requested_at: PgTimestamp,
    pub due_at: PgTimestamp,
}

impl TryFrom<ApprovalRow> for Approval {
    type Error = RowError;

    fn try_from(row: ApprovalRow) -> Result<Self, RowError> {
        let of = Source { table: "approval", task: row.task_id };
        let places: Vec<Slot> = of.parsed("places", &row.places)?;
        Ok(Self {
            reviewer: UserId::from_uuid(row.reviewer_id),
            revision: of.natural("revision", row.revision)?,
            status: of.word("status", row.status)?,
            places,
            requested_at: row.requested_at.0,
            due_at: row.due_at.0,
        })
    }
}

#[derive(Debug, sqlx::FromRow)]
pub(crate) struct VoteRow {
    pub task_id: Uuid,
    pub voter_id: Uuid,
    pub answer: String,
    pub revision: i32,
    pub digest: Vec<u8>,
    pub round: i32,
    /// Ids joined by commas, because an aggregate cannot return lists of lists.
    pub places: String,
    pub reason: Option<String>,
    pub at: PgTimestamp,
    pub effectual: bool,
    pub carried_from: Option<i32>,
    pub withdrawn: bool,
    /// Names joined by commas.
    pub marks: String,
}

impl TryFrom<VoteRow> for Vote {
    type Error = RowError;

    fn try_from(row: VoteRow) -> Result<Self, RowError> {
        let of = Source { table: "vote", task: row.task_id };
        let place = |text: &str| {
            let id = text.parse().map_err(|error| of.wrong("places", error))?;
            Ok(UserId::from_uuid(id))
        };
        let places = row.places.split(',').filter(|text| !text.is_empty()).map(place);
        let places = places.collect::<Result<BTreeSet<UserId>, RowError>>()?;
        let marks = row.marks.split(',').filter(|text| !text.is_empty());
        let marks = marks.map(|mark| of.word("marks", mark.to_owned()));
        let carried_from = row.carried_from.map(|from| of.natural("carried_from", from));
        Ok(Self {
            voter: UserId::from_uuid(row.voter_id),
            answer: of.word("answer", row.answer)?,
            revision: of.natural("revision", row.revision)?,
            digest: of.digest("digest", &row.digest)?,
            round: of.natural("round", row.round)?,
            places,
            reason: row.reason,
            at: row.at.0,
            effectual: row.effectual,
            withdrawn: row.withdrawn,
            carried_from: carried_from.transpose()?,
            marks: marks.collect::<Result<_, RowError>>()?,
        })
    }
}

#[derive(Debug)]
pub(super) struct OverrideRow {
    pub task_id: Uuid,
    pub revision: i32,
    pub digest: Vec<u8>,
    pub asked_by: Uuid,
    pub ticket: String,
    pub reason: String,
    pub confirm_before: PgTimestamp,
    pub confirmed_by: Option<Uuid>,
    pub valid_until: Option<PgTimestamp>,
}

impl TryFrom<OverrideRow> for BreakGlass {
    type Error = RowError;

    fn try_from(row: OverrideRow) -> Result<Self, RowError> {
        let of = Source { table: "override", task: row.task_id };
        let confirmed = match (row.confirmed_by, row.valid_until) {
            (None, None) => None,
            (Some(by), Some(until)) => {
                Some(Confirmation { by: UserId::from_uuid(by), until: until.0 })
            }
            (Some(_), None) | (None, Some(_)) => {
                return Err(of.wrong("valid_until", "only half of the confirmation is stored"));
            }
        };
        Ok(Self {
            asked_by: UserId::from_uuid(row.asked_by),
            ticket: row.ticket,
            reason: row.reason,
            revision: of.natural("revision", row.revision)?,
            digest: of.digest("digest", &row.digest)?,
            confirm_before: row.confirm_before.0,
            confirmed,
        })
    }
}

#[derive(Debug)]
pub(super) struct ExecutionRow {
    pub task_id: Uuid,
    pub id: Uuid,
    pub holder: Json<Value>,
    pub lease_id: Uuid,
    pub token: i64,
    pub started_at: PgTimestamp,
    pub begun_at: Option<PgTimestamp>,
    pub abort_requested: bool,
}

impl TryFrom<ExecutionRow> for Execution {
    type Error = RowError;

    fn try_from(row: ExecutionRow) -> Result<Self, RowError> {
        let of = Source { table: "execution", task: row.task_id };
        let holder: Actor =
            serde_json::from_value(row.holder.0).map_err(|error| of.wrong("holder", error))?;
        Ok(Self {
            id: ExecutionId::from_uuid(row.id),
            holder,
            hold: Hold {
                lease: LeaseId::from_uuid(row.lease_id),
                token: of.natural("token", row.token)?,
            },
            started_at: row.started_at.0,
            begun_at: row.begun_at.map(|moment| moment.0),
            abort_requested: row.abort_requested,
        })
    }
}
