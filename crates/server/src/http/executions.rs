//! Attempts over HTTP: each handler parses the request and calls the operation of the same name. A
//! lease in a body proves that the caller holds the attempt.

use ade_api::claims::{Claim, ClaimTask, Claimed};
use ade_api::executions::{
    Alive, Beginning, Execution, Executions, Finish, Log, Logged, NewLog, Pulse, Reconciliation,
};
use ade_api::schema;
use ade_api::tasks::TaskSummary;
use ade_core::ids::{AgentId, ExecutionId};
use ade_engine::command::task_command::TaskTarget;
use ade_engine::executions;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::IntoParams;

use super::auth_layer::Authenticated;
use super::error::ApiError;
use super::extract::{IdempotencyKey, IfMatch, Json, Path, Query, RepeatHeader, VersionHeader};
use super::limits_layer::ClientDisconnected;
use super::reply::{EngineReply, attempt};
use super::state::Shared;
use super::task_path::TaskPath;
use super::tasks::{bounded, patience};

#[derive(Debug, Clone, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ClaimQuery {
    /// How long to wait for a task, at most `55s`; defaults to no wait.
    #[param(value_type = Option<schema::Wait>)]
    pub wait: Option<String>,
}

/// Claim a task to apply
///
/// Returns a permit for the next task that this agent can run and whose resources are free: hurried
/// tasks first, then by priority, then by age. The permit is given once; if the response is lost,
/// send the same `Idempotency-Key` again, or let the permit expire. Without a permit,
/// `blocked_by` says why, and `retry_after_ms` when to claim again.
#[utoipa::path(post, path = "/v1/agents/{id}/claim", tag = "executions",
    params(("id" = schema::AgentId, Path), ClaimQuery, RepeatHeader), request_body = Claim,
    responses(
        (status = 200, description = "The permit, or null with what prevents it",
            body = Claimed),
        (status = 404, description = "There is no such task, or the session is not yours",
            body = ade_api::problem::Problem, content_type = "application/problem+json"),
        (status = 409, description = "`wrong_state` if the task can get no permit, with its state \
            and its decision; `process_expired`; `frozen` if the whole installation is frozen",
            body = ade_api::problem::Problem, content_type = "application/problem+json")))]
pub async fn claim(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    Path(id): Path<AgentId>,
    Query(query): Query<ClaimQuery>,
    key: IdempotencyKey,
    gone: ClientDisconnected,
    Json(new): Json<Claim>,
) -> Result<EngineReply, ApiError> {
    let attempt = attempt("agents.claim", &id.to_string(), key, &new);
    let wait = query.wait.as_deref().map(patience).transpose()?.unwrap_or_default();
    let app = shared.app();
    let claimed = executions::claim(app, &caller, &attempt, id, new, wait, gone.wait());
    Ok(EngineReply(Box::pin(claimed).await?))
}

/// Claim one task to apply
///
/// Returns a permit for this task, for the calling agent. With `begin`, the attempt has begun when
/// the call returns. Without a permit, `blocked_by` says why, and `retry_after_ms` when to claim
/// again.
#[utoipa::path(post, path = "/v1/tasks/{id}/claim", tag = "executions",
    params(("id" = schema::TaskRef, Path), RepeatHeader), request_body = ClaimTask,
    responses(
        (status = 200, description = "The permit, or null with what prevents it",
            body = Claimed),
        (status = 409, description = "`wrong_state` if the task can get no permit, with its state \
            and its decision; `process_expired`; `frozen` if the whole installation is frozen; \
            with `begin` also `effect_drifted` and `lease_lost`",
            body = ade_api::problem::Problem, content_type = "application/problem+json")))]
pub async fn claim_task(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    TaskPath(id): TaskPath,
    key: IdempotencyKey,
    gone: ClientDisconnected,
    Json(new): Json<ClaimTask>,
) -> Result<EngineReply, ApiError> {
    let attempt = attempt("tasks.claim", &id.to_string(), key, &new);
    let wait = bounded(new.wait.unwrap_or_default())?;
    let app = shared.app();
    let claimed = executions::claim_task(app, &caller, &attempt, id, new, wait, gone.wait());
    Ok(EngineReply(Box::pin(claimed).await?))
}

/// Begin an attempt
///
/// Call it before the first change: an attempt that was not begun can be given to another agent.
/// The effect is checked once more where possible; if it differs from the approved one, the attempt
/// ends.
#[utoipa::path(post, path = "/v1/executions/{id}/begin", tag = "executions",
    params(("id" = schema::ExecutionId, Path), RepeatHeader), request_body = Beginning,
    responses(
        (status = 200, description = "The begun attempt", body = Execution),
        (status = 409, description = "`lease_lost`, `effect_drifted`, `already_begun`, \
            `abort_requested`", body = ade_api::problem::Problem,
            content_type = "application/problem+json")))]
pub async fn begin(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    Path(id): Path<ExecutionId>,
    key: IdempotencyKey,
    Json(new): Json<Beginning>,
) -> Result<EngineReply, ApiError> {
    let attempt = attempt("executions.begin", &id.to_string(), key, &new);
    let begun = executions::begin(shared.app(), &caller, &attempt, id, new);
    Ok(EngineReply(Box::pin(begun).await?))
}

/// Send an attempt's heartbeat
#[utoipa::path(post, path = "/v1/executions/{id}/heartbeat", tag = "executions",
    params(("id" = schema::ExecutionId, Path)), request_body = Pulse,
    responses(
        (status = 200, description = "The attempt is alive; `abort_requested` says whether to \
            stop, and `abort` who asked for it and why", body = Alive),
        (status = 409, description = "`lease_lost`: stop at once; `broken` says who broke the lock \
            and why, if an operator did, and `has_begun` whether a person must reconcile the task",
            body = ade_api::problem::Problem, content_type = "application/problem+json")))]
pub async fn heartbeat(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    Path(id): Path<ExecutionId>,
    Json(pulse): Json<Pulse>,
) -> Result<Json<Alive>, ApiError> {
    Ok(Json(executions::heartbeat(shared.app(), &caller, id, pulse).await?))
}

/// Append lines to the log of an attempt
///
/// Lines are numbered from 0; a line that is sent twice is stored once.
#[utoipa::path(post, path = "/v1/executions/{id}/log", tag = "executions",
    operation_id = "append_log",
    params(("id" = schema::ExecutionId, Path)), request_body = NewLog,
    responses(
        (status = 200, description = "The position in the log", body = Logged),
        (status = 409, description = "`lease_lost`",
            body = ade_api::problem::Problem, content_type = "application/problem+json")))]
pub async fn log(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    Path(id): Path<ExecutionId>,
    Json(new): Json<NewLog>,
) -> Result<Json<Logged>, ApiError> {
    Ok(Json(executions::log(shared.app(), &caller, id, new).await?))
}

#[derive(Debug, Clone, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct LogQuery {
    /// The number of the first line to return.
    #[serde(default, deserialize_with = "super::extract::number")]
    pub from: Option<u64>,
}

/// Read the log of an attempt
#[utoipa::path(get, path = "/v1/executions/{id}/log", tag = "executions", operation_id = "read_log",
    params(("id" = schema::ExecutionId, Path), LogQuery),
    responses((status = 200, description = "A page of log lines", body = Log)))]
pub async fn lines(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    Path(id): Path<ExecutionId>,
    Query(query): Query<LogQuery>,
) -> Result<Json<Log>, ApiError> {
    let from = query.from.unwrap_or_default();
    Ok(Json(executions::lines(shared.app(), &caller, id, from).await?))
}

/// Report that an attempt succeeded
#[utoipa::path(post, path = "/v1/executions/{id}/finish", tag = "executions",
    params(("id" = schema::ExecutionId, Path), RepeatHeader), request_body = Finish,
    responses(
        (status = 200, description = "The result; kept as evidence if the task is UNKNOWN",
            body = Execution),
        (status = 409, description = "`lease_lost`; `not_begun` for a success that never began",
            body = ade_api::problem::Problem, content_type = "application/problem+json")))]
pub async fn finish(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    Path(id): Path<ExecutionId>,
    key: IdempotencyKey,
    Json(said): Json<Finish>,
) -> Result<EngineReply, ApiError> {
    let attempt = attempt("executions.finish", &id.to_string(), key, &said);
    let ended = executions::finish(shared.app(), &caller, &attempt, id, said);
    Ok(EngineReply(Box::pin(ended).await?))
}

/// Get an attempt
#[utoipa::path(get, path = "/v1/executions/{id}", tag = "executions",
    params(("id" = schema::ExecutionId, Path)),
    responses((status = 200, description = "The attempt", body = Execution)))]
pub async fn get(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    Path(id): Path<ExecutionId>,
) -> Result<Json<Execution>, ApiError> {
    Ok(Json(executions::get(shared.app(), &caller, id).await?))
}

/// List the attempts to apply a task
#[utoipa::path(get, path = "/v1/tasks/{id}/executions", tag = "executions",
    params(("id" = schema::TaskRef, Path)),
    responses((status = 200, description = "The attempts, newest first", body = Executions)))]
pub async fn list(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    TaskPath(id): TaskPath,
) -> Result<Json<Executions>, ApiError> {
    Ok(Json(executions::list(shared.app(), &caller, id).await?))
}

/// Reconcile a task with an unknown outcome
///
/// By an admin or an owner of a resource. Until then, its resources are blocked.
#[utoipa::path(post, path = "/v1/tasks/{id}/reconcile", tag = "tasks",
    params(("id" = schema::TaskRef, Path), VersionHeader, RepeatHeader),
    request_body = Reconciliation,
    responses(
        (status = 200, description = "The task in its new state", body = TaskSummary),
        (status = 409, description = "`wrong_state`, `holder_may_live`",
            body = ade_api::problem::Problem, content_type = "application/problem+json")))]
pub async fn reconcile(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    TaskPath(id): TaskPath,
    IfMatch(version): IfMatch,
    key: IdempotencyKey,
    Json(said): Json<Reconciliation>,
) -> Result<EngineReply, ApiError> {
    let attempt = attempt("tasks.reconcile", &id.to_string(), key, &said);
    let target = TaskTarget { task: id, expected: Some(version) };
    let reconciled = executions::reconcile(shared.app(), &caller, &attempt, target, said);
    Ok(EngineReply(Box::pin(reconciled).await?))
}
