//! Tasks over HTTP: each handler parses the request and calls the operation of the same name.

use std::time::Duration;

use ade_api::approvals::TaskApprovals;
use ade_api::explain::Explanation;
use ade_api::page::{Page, PageQuery};
use ade_api::schema;
use ade_api::seconds::Seconds;
use ade_api::tasks::{
    Amendment, Cancellation, Comment, Extension, NewComment, NewTask, Revision, Revisions,
    RiskAssessment, Task, TaskSummary, WaitUntil, Watched,
};
use ade_core::task_ref::TaskRef;
use ade_engine::command::task_command::TaskTarget;
use ade_engine::executions;
use ade_engine::tasks;
use axum::extract::State;
use serde::Deserialize;
use utoipa::IntoParams;

use super::auth_layer::Authenticated;
use super::error::ApiError;
use super::extract::{
    IdempotencyKey, IfMatch, Json, MaybeIfMatch, MaybeVersionHeader, Path, Query, RepeatHeader,
    VersionHeader,
};
use super::reply::{EngineReply, Listing, Tagged, attempt, page, span};
use super::state::Shared;
use super::task_path::TaskPath;

/// Propose a task
///
/// The server previews its effect, computes its risk and stores it as a draft; with `submit`, also
/// submits it for review.
#[utoipa::path(post, path = "/v1/tasks", tag = "tasks", params(RepeatHeader),
    request_body = NewTask,
    responses((status = 201, description = "The draft or submitted task", body = Task)))]
pub async fn create(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    key: IdempotencyKey,
    Json(new): Json<NewTask>,
) -> Result<EngineReply, ApiError> {
    let attempt = attempt("tasks.create", "", key, &new);
    Ok(EngineReply(tasks::create(shared.app(), &caller, &attempt, new).await?))
}

#[derive(Debug, Clone, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct WaitQuery {
    /// Wait until the task changes, at most this long: `55s` or less.
    #[param(value_type = Option<schema::Wait>)]
    pub wait: Option<String>,
    /// The version that the caller knows; defaults to the current one. Also without `wait`, the
    /// response is never older and may come from an equally recent copy.
    #[serde(default, deserialize_with = "super::extract::number")]
    pub since_version: Option<u64>,
    /// Wait until the task is decided or has ended, instead of until it changes.
    #[param(inline)]
    pub until: Option<WaitUntil>,
}

/// Get a task, immediately, when it changes, or when it is decided or has ended
#[utoipa::path(get, path = "/v1/tasks/{id}", tag = "tasks",
    params(("id" = schema::TaskRef, Path), WaitQuery),
    responses((status = 200,
        description = "The task; `timed_out` if the wait ended first",
               body = Watched)))]
pub async fn get(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    TaskPath(id): TaskPath,
    Query(query): Query<WaitQuery>,
) -> Result<Tagged<Watched>, ApiError> {
    let app = shared.app();
    let Some(wait) = query.wait.as_deref().map(patience).transpose()? else {
        let task = match query.since_version {
            Some(since) => tasks::get_since(app, &caller, id, since).await?,
            None => tasks::get(app, &caller, id).await?,
        };
        return Ok(Tagged(task.summary.version, Watched { task, timed_out: false }));
    };
    if let Some(until) = query.until {
        let watched = tasks::wait_until(app, &caller, id, until, wait).await?;
        return Ok(Tagged(watched.task.summary.version, watched));
    }
    let since = match query.since_version {
        Some(since) => since,
        None => tasks::get(app, &caller, id).await?.summary.version,
    };
    let watched = tasks::wait(app, &caller, id, since, wait).await?;
    Ok(Tagged(watched.task.summary.version, watched))
}

pub(super) fn patience(text: &str) -> Result<Duration, ApiError> {
    // Each wait has one spelling for each unit, as the pattern in the API description says.
    let digits = text.strip_suffix("ms").or_else(|| text.strip_suffix('s')).unwrap_or(text);
    if digits.parse::<u32>().is_ok_and(|number| number.to_string() == digits) {
        let wait = text.parse::<Seconds>();
        return bounded(wait.map_err(|error| ApiError::query(&format!("`wait`: {error}")))?);
    }
    Err(ApiError::query("`wait` is not a duration of at most 55 seconds, such as `55s` or `500ms`"))
}

/// Refuses a wait that is longer than the longest one.
pub(super) fn bounded(wait: Seconds) -> Result<Duration, ApiError> {
    let wait = Duration::from(wait);
    if wait > ade_core::limits::WAIT_MAX {
        return Err(ApiError::query("`wait` must be at most 55 seconds"));
    }
    Ok(wait)
}

/// Amend a task
///
/// Creates a new revision. Open requests are superseded; approvals of an identical effect are
/// carried over.
#[utoipa::path(patch, path = "/v1/tasks/{id}", tag = "tasks",
    params(("id" = schema::TaskRef, Path), VersionHeader, RepeatHeader),
    request_body = Amendment,
    responses((status = 200, description = "The new revision", body = Task)))]
pub async fn amend(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    TaskPath(id): TaskPath,
    IfMatch(version): IfMatch,
    key: IdempotencyKey,
    Json(amendment): Json<Amendment>,
) -> Result<EngineReply, ApiError> {
    let attempt = attempt("tasks.amend", &id.to_string(), key, &amendment);
    let target = TaskTarget { task: id, expected: Some(version) };
    let amended = tasks::amend(shared.app(), &caller, &attempt, target, amendment);
    Ok(EngineReply(Box::pin(amended).await?))
}

/// Delete a draft
#[utoipa::path(delete, path = "/v1/tasks/{id}", tag = "tasks",
    params(("id" = schema::TaskRef, Path), VersionHeader, RepeatHeader),
    responses((status = 200, description = "The state before removal", body = TaskSummary)))]
pub async fn delete(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    TaskPath(id): TaskPath,
    IfMatch(version): IfMatch,
    key: IdempotencyKey,
) -> Result<EngineReply, ApiError> {
    let attempt = attempt("tasks.delete", &id.to_string(), key, &());
    let target = TaskTarget { task: id, expected: Some(version) };
    Ok(EngineReply(tasks::delete(shared.app(), &caller, &attempt, target).await?))
}

/// Submit a draft for review
#[utoipa::path(post, path = "/v1/tasks/{id}/submit", tag = "tasks",
    params(("id" = schema::TaskRef, Path), MaybeVersionHeader, RepeatHeader),
    responses((status = 202, description = "Submitted; the review opens shortly", body = Task)))]
pub async fn submit(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    TaskPath(id): TaskPath,
    MaybeIfMatch(expected): MaybeIfMatch,
    key: IdempotencyKey,
) -> Result<EngineReply, ApiError> {
    let attempt = attempt("tasks.submit", &id.to_string(), key, &());
    let target = TaskTarget { task: id, expected };
    Ok(EngineReply(tasks::submit(shared.app(), &caller, &attempt, target).await?))
}

/// Cancel a task
#[utoipa::path(post, path = "/v1/tasks/{id}/cancel", tag = "tasks",
    params(("id" = schema::TaskRef, Path), MaybeVersionHeader, RepeatHeader),
    request_body = Cancellation,
    responses(
        (status = 200, description = "Cancelled", body = TaskSummary),
        (status = 202, description = "Being applied: its executor was asked to stop",
         body = TaskSummary)))]
pub async fn cancel(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    TaskPath(id): TaskPath,
    MaybeIfMatch(expected): MaybeIfMatch,
    key: IdempotencyKey,
    Json(cancellation): Json<Cancellation>,
) -> Result<EngineReply, ApiError> {
    let attempt = attempt("tasks.cancel", &id.to_string(), key, &cancellation);
    let target = TaskTarget { task: id, expected };
    Ok(EngineReply(tasks::cancel(shared.app(), &caller, &attempt, target, cancellation).await?))
}

/// Extend a review
#[utoipa::path(post, path = "/v1/tasks/{id}/extend", tag = "tasks",
    params(("id" = schema::TaskRef, Path), VersionHeader, RepeatHeader), request_body = Extension,
    responses((status = 200, description = "The task with its new deadline", body = TaskSummary)))]
pub async fn extend(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    TaskPath(id): TaskPath,
    IfMatch(version): IfMatch,
    key: IdempotencyKey,
    Json(extension): Json<Extension>,
) -> Result<EngineReply, ApiError> {
    let attempt = attempt("tasks.extend", &id.to_string(), key, &extension);
    let target = TaskTarget { task: id, expected: Some(version) };
    Ok(EngineReply(tasks::extend(shared.app(), &caller, &attempt, target, extension).await?))
}

/// Retry a failed task
#[utoipa::path(post, path = "/v1/tasks/{id}/retry", tag = "tasks",
    params(("id" = schema::TaskRef, Path), VersionHeader, RepeatHeader),
    responses((status = 202, description = "Approved or submitted again", body = TaskSummary)))]
pub async fn retry(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    TaskPath(id): TaskPath,
    IfMatch(version): IfMatch,
    key: IdempotencyKey,
) -> Result<EngineReply, ApiError> {
    let attempt = attempt("tasks.retry", &id.to_string(), key, &());
    let target = TaskTarget { task: id, expected: Some(version) };
    Ok(EngineReply(tasks::retry(shared.app(), &caller, &attempt, target).await?))
}

/// Resubmit an ended task as a new draft
#[utoipa::path(post, path = "/v1/tasks/{id}/resubmit", tag = "tasks",
    params(("id" = schema::TaskRef, Path), VersionHeader, RepeatHeader),
    responses((status = 201, description = "The new draft", body = Task)))]
pub async fn resubmit(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    TaskPath(id): TaskPath,
    IfMatch(version): IfMatch,
    key: IdempotencyKey,
) -> Result<EngineReply, ApiError> {
    let attempt = attempt("tasks.resubmit", &id.to_string(), key, &());
    let target = TaskTarget { task: id, expected: Some(version) };
    Ok(EngineReply(tasks::resubmit(shared.app(), &caller, &attempt, target).await?))
}

/// Comment on a task
#[utoipa::path(post, path = "/v1/tasks/{id}/comments", tag = "tasks", operation_id = "add_comment",
    params(("id" = schema::TaskRef, Path), RepeatHeader),
    request_body = NewComment,
    responses((status = 201, description = "The task with the new comment",
               body = TaskSummary)))]
pub async fn comment(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    TaskPath(id): TaskPath,
    key: IdempotencyKey,
    Json(comment): Json<NewComment>,
) -> Result<EngineReply, ApiError> {
    let attempt = attempt("tasks.comment", &id.to_string(), key, &comment);
    let target = TaskTarget { task: id, expected: None };
    Ok(EngineReply(tasks::comment(shared.app(), &caller, &attempt, target, comment).await?))
}

#[derive(Debug, Clone, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct CommentQuery {
    /// The maximum number of items.
    #[param(minimum = 1, maximum = 200, default = 50)]
    pub page_size: Option<u32>,
    /// The `next_page_token` of the previous page.
    pub page_token: Option<String>,
}

/// List the comments of a task, oldest first
#[utoipa::path(get, path = "/v1/tasks/{id}/comments", tag = "tasks", operation_id = "list_comments",
    params(("id" = schema::TaskRef, Path), CommentQuery),
    responses((status = 200, description = "A page", body = Page<Comment>)))]
pub async fn comments(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    TaskPath(id): TaskPath,
    Query(query): Query<CommentQuery>,
) -> Result<Listing<Comment>, ApiError> {
    let wanted = PageQuery { page_size: query.page_size, page_token: query.page_token };
    let span = span(&wanted, &caller, &id)?;
    let paged = tasks::comments(shared.app(), &caller, id, span).await?;
    Ok(page(paged, &caller, &id))
}

/// List the revisions of a task
#[utoipa::path(get, path = "/v1/tasks/{id}/revisions", tag = "tasks",
    operation_id = "list_revisions",
    params(("id" = schema::TaskRef, Path)),
    responses((status = 200, description = "Newest first", body = Revisions)))]
pub async fn revisions(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    TaskPath(id): TaskPath,
) -> Result<Json<Revisions>, ApiError> {
    Ok(Json(tasks::revisions(shared.app(), &caller, id).await?))
}

/// Get a revision
#[utoipa::path(get, path = "/v1/tasks/{id}/revisions/{revision}", tag = "tasks",
    operation_id = "get_revision",
    params(("id" = schema::TaskRef, Path), ("revision" = u32, Path, minimum = 1)),
    responses((status = 200, description = "The revision", body = Revision)))]
pub async fn revision(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    Path((task, revision)): Path<(TaskRef, u32)>,
) -> Result<Json<Revision>, ApiError> {
    let id = tasks::resolve(shared.app(), &caller, task).await?;
    Ok(Json(tasks::revision(shared.app(), &caller, id, revision).await?))
}

/// Get the risk assessment of the current revision
#[utoipa::path(get, path = "/v1/tasks/{id}/risk", tag = "tasks", operation_id = "get_risk",
    params(("id" = schema::TaskRef, Path)),
    responses((status = 200, description = "The assessment", body = RiskAssessment)))]
pub async fn risk(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    TaskPath(id): TaskPath,
) -> Result<Json<RiskAssessment>, ApiError> {
    Ok(Json(tasks::risk(shared.app(), &caller, id).await?))
}

/// Explain which gates are open and which are closed
#[utoipa::path(get, path = "/v1/tasks/{id}/explain", tag = "tasks",
    params(("id" = schema::TaskRef, Path)),
    responses((status = 200, description = "Every gate with its evidence",
               body = Explanation)))]
pub async fn explain(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    TaskPath(id): TaskPath,
) -> Result<Json<Explanation>, ApiError> {
    Ok(Json(executions::explain(shared.app(), &caller, id).await?))
}

/// List the approval requests and votes of a task
#[utoipa::path(get, path = "/v1/tasks/{id}/approvals", tag = "tasks",
    operation_id = "list_approvals",
    params(("id" = schema::TaskRef, Path)),
    responses((status = 200, description = "Requests and votes", body = TaskApprovals)))]
pub async fn approvals(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    TaskPath(id): TaskPath,
) -> Result<Json<TaskApprovals>, ApiError> {
    Ok(Json(tasks::approvals(shared.app(), &caller, id).await?))
}
