//! Applying over HTTP: takes the request apart, calls the operation of the same name. A lease in a
//! body is the proof that the attempt's holder calls.

use ade_api::executions::{
    Alive, Beginning, Claim, Claimed, Execution, Executions, Fail, Finish, Log, Logged, NewLog,
    Pulse, Reconciliation,
};
use ade_api::schema;
use ade_api::tasks::TaskSummary;
use ade_core::ids::{AgentId, ExecutionId, TaskId};
use ade_engine::ops::decision::Target;
use ade_engine::ops::executions;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::IntoParams;

use super::door::Known;
use super::error::Failure;
use super::extract::{IdempotencyKey, IfMatch, Json, Path, Query, RepeatHeader, VersionHeader};
use super::guard::Gone;
use super::reply::{Kept, attempt};
use super::state::Shared;
use super::tasks::patience;

#[derive(Debug, Clone, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ClaimQuery {
    /// How long to wait for work, at most `55s`; only what is there now if left out.
    #[param(pattern = "^[0-9]{1,2}s$", example = "55s")]
    pub wait: Option<String>,
}

/// Claim a task to apply
///
/// The next that this agent may run and whose resources are free: those that were hurried first,
/// then by priority, then by age. The answer is the permit, given once; whoever loses it sends the
/// same `Idempotency-Key` again, or lets it run out.
#[utoipa::path(post, path = "/v1/agents/{id}/claim", tag = "executions",
    params(("id" = schema::AgentId, Path), ClaimQuery, RepeatHeader), request_body = Claim,
    responses(
        (status = 200, description = "A permit, or nothing", body = Claimed),
        (status = 404, description = "The session is not yours",
            body = ade_api::problem::Problem, content_type = "application/problem+json"),
        (status = 409, description = "`session_over`; `frozen` if the whole installation is",
            body = ade_api::problem::Problem, content_type = "application/problem+json")))]
pub async fn claim(
    State(shared): State<Shared>,
    Known(caller): Known,
    Path(id): Path<AgentId>,
    Query(query): Query<ClaimQuery>,
    key: IdempotencyKey,
    gone: Gone,
    Json(new): Json<Claim>,
) -> Result<Kept, Failure> {
    let attempt = attempt("agents.claim", &id.to_string(), key, &new);
    let wait = query.wait.as_deref().map(patience).transpose()?.unwrap_or_default();
    let app = shared.app();
    let claimed = executions::claim(app, &caller, &attempt, id, new, wait, gone.wait());
    Ok(Kept(Box::pin(claimed).await?))
}

/// Say that the first change is about to be made
///
/// Before it, not after it: what was not begun can be given to somebody else. The effect is looked
/// at once more where that is possible; another one than was approved ends the attempt.
#[utoipa::path(post, path = "/v1/executions/{id}/begin", tag = "executions",
    params(("id" = schema::ExecutionId, Path), RepeatHeader), request_body = Beginning,
    responses(
        (status = 200, description = "Begun", body = Execution),
        (status = 409, description = "`lease_lost`, `effect_drifted`, `already_begun`, \
            `abort_asked`", body = ade_api::problem::Problem,
            content_type = "application/problem+json")))]
pub async fn begin(
    State(shared): State<Shared>,
    Known(caller): Known,
    Path(id): Path<ExecutionId>,
    key: IdempotencyKey,
    Json(new): Json<Beginning>,
) -> Result<Kept, Failure> {
    let attempt = attempt("executions.begin", &id.to_string(), key, &new);
    let begun = executions::begin(shared.app(), &caller, &attempt, id, new);
    Ok(Kept(Box::pin(begun).await?))
}

/// Keep an attempt alive
#[utoipa::path(post, path = "/v1/executions/{id}/heartbeat", tag = "executions",
    params(("id" = schema::ExecutionId, Path)), request_body = Pulse,
    responses(
        (status = 200, description = "It lives, and whether it is to stop", body = Alive),
        (status = 409, description = "`lease_lost`: stop at once",
            body = ade_api::problem::Problem, content_type = "application/problem+json")))]
pub async fn heartbeat(
    State(shared): State<Shared>,
    Known(caller): Known,
    Path(id): Path<ExecutionId>,
    Json(pulse): Json<Pulse>,
) -> Result<Json<Alive>, Failure> {
    Ok(Json(executions::heartbeat(shared.app(), &caller, id, pulse).await?))
}

/// Add lines to the log of an attempt
///
/// Lines are numbered from 0: what is sent twice is kept once.
#[utoipa::path(post, path = "/v1/executions/{id}/log", tag = "executions",
    params(("id" = schema::ExecutionId, Path)), request_body = NewLog,
    responses(
        (status = 200, description = "Where the log stands", body = Logged),
        (status = 409, description = "`lease_lost`",
            body = ade_api::problem::Problem, content_type = "application/problem+json")))]
pub async fn log(
    State(shared): State<Shared>,
    Known(caller): Known,
    Path(id): Path<ExecutionId>,
    Json(new): Json<NewLog>,
) -> Result<Json<Logged>, Failure> {
    Ok(Json(executions::log(shared.app(), &caller, id, new).await?))
}

#[derive(Debug, Clone, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct LogQuery {
    /// The number of the first line that is wanted.
    #[serde(default, deserialize_with = "super::extract::number")]
    pub from: Option<u64>,
}

/// Read the log of an attempt
#[utoipa::path(get, path = "/v1/executions/{id}/log", tag = "executions",
    params(("id" = schema::ExecutionId, Path), LogQuery),
    responses((status = 200, description = "A page of it", body = Log)))]
pub async fn lines(
    State(shared): State<Shared>,
    Known(caller): Known,
    Path(id): Path<ExecutionId>,
    Query(query): Query<LogQuery>,
) -> Result<Json<Log>, Failure> {
    let from = query.from.unwrap_or_default();
    Ok(Json(executions::lines(shared.app(), &caller, id, from).await?))
}

/// Report that the change was made
#[utoipa::path(post, path = "/v1/executions/{id}/finish", tag = "executions",
    params(("id" = schema::ExecutionId, Path), RepeatHeader), request_body = Finish,
    responses(
        (status = 200, description = "As it ended; or kept as evidence, if the task is UNKNOWN",
            body = Execution),
        (status = 409, description = "`lease_lost`, `not_begun`",
            body = ade_api::problem::Problem, content_type = "application/problem+json")))]
pub async fn finish(
    State(shared): State<Shared>,
    Known(caller): Known,
    Path(id): Path<ExecutionId>,
    key: IdempotencyKey,
    Json(said): Json<Finish>,
) -> Result<Kept, Failure> {
    let attempt = attempt("executions.finish", &id.to_string(), key, &said);
    let ended = executions::finish(shared.app(), &caller, &attempt, id, said);
    Ok(Kept(Box::pin(ended).await?))
}

/// Report that it failed, and what it left behind
///
/// What changed nothing or was rolled back is tried again, later and not for ever.
#[utoipa::path(post, path = "/v1/executions/{id}/fail", tag = "executions",
    params(("id" = schema::ExecutionId, Path), RepeatHeader), request_body = Fail,
    responses(
        (status = 200, description = "As it ended; or kept as evidence, if the task is UNKNOWN",
            body = Execution),
        (status = 409, description = "`lease_lost`", body = ade_api::problem::Problem,
            content_type = "application/problem+json")))]
pub async fn fail(
    State(shared): State<Shared>,
    Known(caller): Known,
    Path(id): Path<ExecutionId>,
    key: IdempotencyKey,
    Json(said): Json<Fail>,
) -> Result<Kept, Failure> {
    let attempt = attempt("executions.fail", &id.to_string(), key, &said);
    let ended = executions::fail(shared.app(), &caller, &attempt, id, said);
    Ok(Kept(Box::pin(ended).await?))
}

/// Get an attempt
#[utoipa::path(get, path = "/v1/executions/{id}", tag = "executions",
    params(("id" = schema::ExecutionId, Path)),
    responses((status = 200, description = "The attempt", body = Execution)))]
pub async fn get(
    State(shared): State<Shared>,
    Known(caller): Known,
    Path(id): Path<ExecutionId>,
) -> Result<Json<Execution>, Failure> {
    Ok(Json(executions::get(shared.app(), &caller, id).await?))
}

/// List the attempts to apply a task
#[utoipa::path(get, path = "/v1/tasks/{id}/executions", tag = "executions",
    params(("id" = schema::TaskId, Path)),
    responses((status = 200, description = "The newest first", body = Executions)))]
pub async fn list(
    State(shared): State<Shared>,
    Known(caller): Known,
    Path(id): Path<TaskId>,
) -> Result<Json<Executions>, Failure> {
    Ok(Json(executions::list(shared.app(), &caller, id).await?))
}

/// Say what became of an attempt whose end nobody knew
///
/// By an admin or an owner of a resource. Until then its resources are blocked.
#[utoipa::path(post, path = "/v1/tasks/{id}/reconcile", tag = "tasks",
    params(("id" = schema::TaskId, Path), VersionHeader, RepeatHeader),
    request_body = Reconciliation,
    responses(
        (status = 200, description = "How the task stands now", body = TaskSummary),
        (status = 409, description = "`wrong_state`, `holder_may_live`",
            body = ade_api::problem::Problem, content_type = "application/problem+json")))]
pub async fn reconcile(
    State(shared): State<Shared>,
    Known(caller): Known,
    Path(id): Path<TaskId>,
    IfMatch(version): IfMatch,
    key: IdempotencyKey,
    Json(said): Json<Reconciliation>,
) -> Result<Kept, Failure> {
    let attempt = attempt("tasks.reconcile", &id.to_string(), key, &said);
    let target = Target { task: id, expected: Some(version) };
    let reconciled = executions::reconcile(shared.app(), &caller, &attempt, target, said);
    Ok(Kept(Box::pin(reconciled).await?))
}
