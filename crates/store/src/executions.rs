//! Attempts to apply: the holds they run under and how they end. Whether an attempt may continue is
//! checked on its holds, in the transaction that relies on the result.

use std::time::Duration;

use ade_core::actor::Actor;
use ade_core::ids::{AgentId, ExecutionId, LeaseId, ProcessId, TaskId};
use ade_core::limits::EXECUTIONS_SHOWN_MAX;
use ade_core::lock::FencingToken;
use ade_core::lock::Request;
use ade_core::lock::fence::RegisterRefusal;
use ade_core::task::Hold;
use ade_core::time::Timestamp;
use serde_json::Value;
use sqlx::types::Json;
use sqlx::{FromRow, query_as};
use uuid::Uuid;

use crate::error::{RowError, StoreError};
use crate::locks::{self, Refused};
use crate::timestamp::PgTimestamp;
use crate::tx::Tx;

const REGISTER: &str = "
    SELECT refusal, refused_on, number, held_by, given_token, until
      FROM apply_register($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11,
                          make_interval(secs => $12), make_interval(secs => $13))";
const BEGIN: &str = "SELECT apply_begin($1, $2)";
const RELEASE: &str = "SELECT apply_release($1, $2)";
const EXTEND: &str = "SELECT until, ttl_ms FROM apply_extend($1, $2)";
const STANDING: &str = "
    SELECT bool_and(fenced_by IS NULL AND released_at IS NULL), max(deadline + lock_delay)
      FROM lock_hold WHERE tenant_id = $1 AND lease_id = $2";
const BLOCK: &str = "SELECT apply_block($1, $2)";
const NOTE: &str = "
    UPDATE execution SET result = $3, left_behind = $4, error = $5, output = $6, details = $7
     WHERE tenant_id = $1 AND id = $2 AND ended_at IS NULL";
const SHOWN: &str = "
    SELECT id, task_id, attempt, revision, holder, lease_id, token, started_at, begun_at,
           abort_requested, ended_at, result, left_behind, error, output, output_key, details,
           late_report, log_lines
      FROM execution";

/// The holder of an attempt, with its session.
#[derive(Debug, Clone, Copy)]
pub struct Holder {
    pub agent: Option<AgentId>,
    pub session: ProcessId,
    /// Whether the session belongs to this attempt alone and begins with it.
    pub is_own_session: bool,
}

/// A registered hold, with the token that is shown to the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Registered {
    pub token: FencingToken,
    pub deadline: Timestamp,
}

type Answer = (
    Option<String>,
    Option<String>,
    Option<i64>,
    Option<Vec<Uuid>>,
    Option<i64>,
    Option<PgTimestamp>,
);

/// Registers all holds or none; a refused caller rolls back. Without a token of the queue
/// PostgreSQL issues one.
pub async fn register(
    tx: &mut Tx,
    request: &Request,
    holder: Holder,
    token: Option<FencingToken>,
) -> Result<Result<Registered, RegisterRefusal>, StoreError> {
    let set = request.set();
    let resources: Vec<String> = set.resources().map(ToString::to_string).collect();
    let modes: Vec<&str> = set.iter().map(|(_, mode)| locks::mode_text(mode)).collect();
    let capacities: Vec<Option<i32>> = set.iter().map(|(_, mode)| locks::capacity(mode)).collect();
    let query = query_as(REGISTER)
        .bind(request.lease().uuid())
        .bind(holder.session.uuid())
        .bind(holder.is_own_session)
        .bind(holder.agent.map(AgentId::uuid))
        .bind(token.map(locks::stored).transpose()?)
        .bind(resources)
        .bind(modes)
        .bind(capacities)
        .bind(request.owner().to_string())
        .bind(request.node())
        .bind(PgTimestamp(request.birth()))
        .bind(request.ttl().as_secs_f64())
        .bind(request.class().lock_delay().as_secs_f64());
    let rows: Vec<Answer> = tx.write_rows(query).await?;
    let wrong = |column, why: &str| RowError {
        table: "apply_register",
        column,
        row: request.lease().to_string(),
        why: why.to_owned(),
    };
    let Some((refusal, on, number, held_by, given, until)) = rows.into_iter().next() else {
        return Err(wrong("refusal", "no row").into());
    };
    if let Some(refusal) = refusal {
        let refused = Refused { refusal, on, number, held_by };
        return Ok(Err(refused.read(request.lease())?));
    }
    let token =
        given.and_then(|number| u64::try_from(number).ok()).and_then(FencingToken::from_number);
    Ok(Ok(Registered {
        token: token.ok_or_else(|| wrong("given_token", "no token"))?,
        deadline: until.ok_or_else(|| wrong("until", "no deadline"))?.0,
    }))
}

/// An extended hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extended {
    pub until: Timestamp,
    /// The time by which each heartbeat extends it.
    pub ttl: Duration,
}

/// Returns whether the attempt still holds everything, and marks it as begun.
pub async fn begin(tx: &mut Tx, hold: Hold) -> Result<bool, StoreError> {
    asserted(tx, BEGIN, hold).await
}

/// Returns whether the attempt held everything until now, and releases it.
pub async fn release(tx: &mut Tx, hold: Hold) -> Result<bool, StoreError> {
    asserted(tx, RELEASE, hold).await
}

async fn asserted(tx: &mut Tx, call: &'static str, hold: Hold) -> Result<bool, StoreError> {
    let query = query_as(call).bind(hold.lease.uuid()).bind(number(hold)?);
    let rows: Vec<(bool,)> = tx.write_rows(query).await?;
    Ok(rows.first().is_some_and(|(is_held,)| *is_held))
}

/// Extends the hold and returns its new end; `None` if it was fenced or released.
pub async fn extend(tx: &mut Tx, hold: Hold) -> Result<Option<Extended>, StoreError> {
    let query = query_as(EXTEND).bind(hold.lease.uuid()).bind(number(hold)?);
    let rows: Vec<(Option<PgTimestamp>, Option<i64>)> = tx.read(query).await?;
    Ok(rows.into_iter().next().and_then(|(until, ttl_ms)| {
        let ttl = Duration::from_millis(u64::try_from(ttl_ms?).unwrap_or_default());
        Some(Extended { until: until?.0, ttl })
    }))
}

/// The state of a hold, for the workers that watch it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HoldStatus {
    /// Whether the hold is neither fenced nor released in any part.
    pub is_open: bool,
    /// When the hold may be ended without further heartbeats, including its lock delay.
    pub silent_at: Timestamp,
}

/// Returns the state of a hold; `None` if it does not exist.
pub async fn standing(tx: &mut Tx, lease: LeaseId) -> Result<Option<HoldStatus>, StoreError> {
    let query = query_as(STANDING).bind(tx.tenant().uuid()).bind(lease.uuid());
    let rows: Vec<(Option<bool>, Option<PgTimestamp>)> = tx.read(query).await?;
    Ok(rows.into_iter().next().and_then(|(is_open, silent_at)| {
        Some(HoldStatus { is_open: is_open?, silent_at: silent_at?.0 })
    }))
}

/// Blocks the resources of the hold until the attempt is reconciled; see `apply_block`.
pub async fn block(tx: &mut Tx, lease: LeaseId, by: LeaseId) -> Result<(), StoreError> {
    tx.write(sqlx::query(BLOCK).bind(lease.uuid()).bind(by.uuid())).await?;
    Ok(())
}

fn number(hold: Hold) -> Result<i64, StoreError> {
    i64::try_from(hold.token).map_err(|error| StoreError::Unstorable {
        value: format!("token {}", hold.token),
        why: error.to_string(),
    })
}

/// The outcome of an attempt, as reported or as determined by the server.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ExecutionOutcome {
    pub result: &'static str,
    pub left: Option<&'static str>,
    pub error: Option<String>,
    pub output: Option<String>,
    pub details: Option<Value>,
}

/// Stores the outcome, before the decision that ends the attempt.
pub async fn note(
    tx: &mut Tx,
    execution: ExecutionId,
    outcome: &ExecutionOutcome,
) -> Result<(), StoreError> {
    let query = sqlx::query(NOTE)
        .bind(tx.tenant().uuid())
        .bind(execution.uuid())
        .bind(outcome.result)
        .bind(outcome.left)
        .bind(outcome.error.as_deref())
        .bind(outcome.output.as_deref())
        .bind(outcome.details.as_ref().map(Json));
    tx.write_one(&execution, query).await
}

/// One attempt with all its fields.
#[derive(Debug, Clone, PartialEq)]
pub struct ExecutionRecord {
    pub id: ExecutionId,
    pub task: TaskId,
    pub attempt: u32,
    pub revision: u32,
    pub holder: Actor,
    pub hold: Hold,
    pub started_at: Timestamp,
    pub begun_at: Option<Timestamp>,
    pub abort_requested: bool,
    pub ended_at: Option<Timestamp>,
    pub result: Option<String>,
    pub left: Option<String>,
    pub error: Option<String>,
    pub output: Option<String>,
    pub output_key: Option<String>,
    pub details: Option<Value>,
    pub late_report: Option<String>,
    pub log_lines: u64,
}

#[derive(FromRow)]
struct ExecutionRow {
    id: Uuid,
    task_id: Uuid,
    attempt: i32,
    revision: i32,
    holder: Json<Value>,
    lease_id: Uuid,
    token: i64,
    started_at: PgTimestamp,
    begun_at: Option<PgTimestamp>,
    abort_requested: bool,
    ended_at: Option<PgTimestamp>,
    result: Option<String>,
    left_behind: Option<String>,
    error: Option<String>,
    output: Option<String>,
    output_key: Option<String>,
    details: Option<Json<Value>>,
    late_report: Option<String>,
    log_lines: i64,
}

pub async fn get(tx: &mut Tx, id: ExecutionId) -> Result<Option<ExecutionRecord>, StoreError> {
    let text = format!("{SHOWN} WHERE tenant_id = $1 AND id = $2");
    let query = query_as(sqlx::AssertSqlSafe(text)).bind(tx.tenant().uuid()).bind(id.uuid());
    let rows: Vec<ExecutionRow> = tx.read(query).await?;
    Ok(rows.into_iter().next().map(ExecutionRecord::try_from).transpose()?)
}

/// Returns the attempts of a task, newest first.
pub async fn of_task(tx: &mut Tx, task: TaskId) -> Result<Vec<ExecutionRecord>, StoreError> {
    let text = format!("{SHOWN} WHERE tenant_id = $1 AND task_id = $2 ORDER BY id DESC LIMIT $3");
    let query = query_as(sqlx::AssertSqlSafe(text))
        .bind(tx.tenant().uuid())
        .bind(task.uuid())
        .bind(i64::from(EXECUTIONS_SHOWN_MAX));
    let rows: Vec<ExecutionRow> = tx.read(query).await?;
    let shown = rows.into_iter().map(ExecutionRecord::try_from);
    Ok(shown.collect::<Result<_, RowError>>()?)
}

impl TryFrom<ExecutionRow> for ExecutionRecord {
    type Error = RowError;

    fn try_from(row: ExecutionRow) -> Result<Self, RowError> {
        let id = ExecutionId::from_uuid(row.id);
        let wrong =
            |column, why: String| RowError { table: "execution", column, row: id.to_string(), why };
        let natural = |column, number: i64| {
            u64::try_from(number).map_err(|error| wrong(column, error.to_string()))
        };
        let small = |column, number: i32| {
            u32::try_from(number).map_err(|error| wrong(column, error.to_string()))
        };
        let holder = serde_json::from_value(row.holder.0)
            .map_err(|error| wrong("holder", error.to_string()))?;
        Ok(Self {
            id,
            task: TaskId::from_uuid(row.task_id),
            attempt: small("attempt", row.attempt)?,
            revision: small("revision", row.revision)?,
            holder,
            hold: Hold {
                lease: LeaseId::from_uuid(row.lease_id),
                token: natural("token", row.token)?,
            },
            started_at: row.started_at.0,
            begun_at: row.begun_at.map(|at| at.0),
            abort_requested: row.abort_requested,
            ended_at: row.ended_at.map(|at| at.0),
            result: row.result,
            left: row.left_behind,
            error: row.error,
            output: row.output,
            output_key: row.output_key,
            details: row.details.map(|details| details.0),
            late_report: row.late_report,
            log_lines: natural("log_lines", row.log_lines)?,
        })
    }
}
