//! Tasks over HTTP: takes the request apart, calls the operation of the same name.

use std::time::Duration;

use ade_api::approvals::TaskApprovals;
use ade_api::explain::Explanation;
use ade_api::page::{Page, PageQuery};
use ade_api::schema;
use ade_api::tasks::{
    Amendment, Cancellation, Comment, Extension, NewComment, NewTask, Revision, Revisions,
    RiskAssessment, Task, TaskSummary, Watched,
};
use ade_core::ids::{AgentId, TaskId, UserId};
use ade_core::resource::ResourceRef;
use ade_core::risk::Level;
use ade_core::task::State as TaskState;
use ade_engine::ops::decision::Target;
use ade_engine::ops::tasks::{self, Filter};
use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::IntoParams;

use super::door::Known;
use super::error::Failure;
use super::extract::{IdempotencyKey, IfMatch, Json, Path, Query, RepeatHeader, VersionHeader};
use super::reply::{Kept, Tagged, attempt, page, span};
use super::state::Shared;

/// Propose a task
///
/// The server previews its effect, rates its risk and keeps it as a draft.
#[utoipa::path(post, path = "/v1/tasks", tag = "tasks", params(RepeatHeader),
    request_body = NewTask,
    responses((status = 201, description = "The draft", body = Task)))]
pub async fn create(
    State(shared): State<Shared>,
    Known(caller): Known,
    key: IdempotencyKey,
    Json(new): Json<NewTask>,
) -> Result<Kept, Failure> {
    let attempt = attempt("tasks.create", "", key, &new);
    Ok(Kept(tasks::create(shared.app(), &caller, &attempt, new).await?))
}

#[derive(Debug, Clone, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct TaskQuery {
    /// Only tasks in this state.
    #[param(value_type = Option<schema::State>)]
    pub state: Option<TaskState>,
    #[param(value_type = Option<schema::UserId>)]
    pub author: Option<UserId>,
    #[param(value_type = Option<schema::AgentId>)]
    pub agent: Option<AgentId>,
    #[serde(rename = "type")]
    #[param(rename = "type")]
    pub task_type: Option<String>,
    #[param(value_type = Option<schema::ResourceName>)]
    pub resource: Option<ResourceRef>,
    pub tag: Option<String>,
    #[param(value_type = Option<schema::Level>)]
    pub level: Option<Level>,
    /// How many at most.
    #[param(minimum = 1, maximum = 200, default = 50)]
    pub page_size: Option<u32>,
    /// `next_page_token` of the page before.
    pub page_token: Option<String>,
}

/// List tasks, newest first
#[utoipa::path(get, path = "/v1/tasks", tag = "tasks", params(TaskQuery),
    responses((status = 200, description = "A page", body = Page<TaskSummary>)))]
pub async fn list(
    State(shared): State<Shared>,
    Known(caller): Known,
    Query(mut query): Query<TaskQuery>,
) -> Result<Json<Page<TaskSummary>>, Failure> {
    let wanted =
        PageQuery { page_size: query.page_size.take(), page_token: query.page_token.take() };
    let span = span(&wanted, &caller, &query)?;
    let filter = Filter {
        states: query.state.into_iter().collect(),
        author: query.author,
        agent: query.agent,
        task_type: query.task_type.clone(),
        resource: query.resource.clone(),
        tag: query.tag.clone(),
        level: query.level,
    };
    let paged = tasks::list(shared.app(), &caller, filter, span).await?;
    Ok(page(paged, &caller, &query))
}

#[derive(Debug, Clone, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct WaitQuery {
    /// Hold the answer back until the task moves, at most this long: `55s` or less.
    #[param(pattern = "^([0-9]|[1-4][0-9]|5[0-5])s$", example = "55s")]
    pub wait: Option<String>,
    /// The version the caller knows; the present one if left out. Without `wait` too the answer is
    /// never older, and may come from a copy that is as new.
    #[serde(default, deserialize_with = "super::extract::number")]
    pub since_version: Option<u64>,
}

/// Get a task, at once or when it moves
#[utoipa::path(get, path = "/v1/tasks/{id}", tag = "tasks",
    params(("id" = schema::TaskId, Path), WaitQuery),
    responses((status = 200, description = "The task; `timed_out` if it was waited for in vain",
               body = Watched)))]
pub async fn get(
    State(shared): State<Shared>,
    Known(caller): Known,
    Path(id): Path<TaskId>,
    Query(query): Query<WaitQuery>,
) -> Result<Tagged<Watched>, Failure> {
    let app = shared.app();
    let Some(wait) = query.wait.as_deref().map(patience).transpose()? else {
        let task = match query.since_version {
            Some(since) => tasks::get_since(app, &caller, id, since).await?,
            None => tasks::get(app, &caller, id).await?,
        };
        return Ok(Tagged(task.summary.version, Watched { task, timed_out: false }));
    };
    let since = match query.since_version {
        Some(since) => since,
        None => tasks::get(app, &caller, id).await?.summary.version,
    };
    let watched = tasks::wait(app, &caller, id, since, wait).await?;
    Ok(Tagged(watched.task.summary.version, watched))
}

pub(super) fn patience(text: &str) -> Result<Duration, Failure> {
    let seconds = text.strip_suffix('s').and_then(|digits| digits.parse::<u64>().ok());
    match seconds.map(Duration::from_secs) {
        Some(wait) if wait <= ade_core::limits::WAIT_MAX => Ok(wait),
        _ => Err(Failure::query("`wait` is a number of seconds up to 55, for example `55s`")),
    }
}

/// Change a task's content
///
/// Makes the next revision. Open requests are superseded; approvals of the very same effect are
/// carried over.
#[utoipa::path(patch, path = "/v1/tasks/{id}", tag = "tasks",
    params(("id" = schema::TaskId, Path), VersionHeader, RepeatHeader),
    request_body = Amendment,
    responses((status = 200, description = "The new revision", body = Task)))]
pub async fn amend(
    State(shared): State<Shared>,
    Known(caller): Known,
    Path(id): Path<TaskId>,
    IfMatch(version): IfMatch,
    key: IdempotencyKey,
    Json(amendment): Json<Amendment>,
) -> Result<Kept, Failure> {
    let attempt = attempt("tasks.amend", &id.to_string(), key, &amendment);
    let target = Target { task: id, expected: Some(version) };
    let amended = tasks::amend(shared.app(), &caller, &attempt, target, amendment);
    Ok(Kept(Box::pin(amended).await?))
}

/// Delete a draft
#[utoipa::path(delete, path = "/v1/tasks/{id}", tag = "tasks",
    params(("id" = schema::TaskId, Path), VersionHeader, RepeatHeader),
    responses((status = 200, description = "As it was", body = TaskSummary)))]
pub async fn delete(
    State(shared): State<Shared>,
    Known(caller): Known,
    Path(id): Path<TaskId>,
    IfMatch(version): IfMatch,
    key: IdempotencyKey,
) -> Result<Kept, Failure> {
    let attempt = attempt("tasks.delete", &id.to_string(), key, &());
    let target = Target { task: id, expected: Some(version) };
    Ok(Kept(tasks::delete(shared.app(), &caller, &attempt, target).await?))
}

/// Hand a draft in for review
#[utoipa::path(post, path = "/v1/tasks/{id}/submit", tag = "tasks",
    params(("id" = schema::TaskId, Path), VersionHeader, RepeatHeader),
    responses((status = 202, description = "Submitted; the review opens shortly", body = Task)))]
pub async fn submit(
    State(shared): State<Shared>,
    Known(caller): Known,
    Path(id): Path<TaskId>,
    IfMatch(version): IfMatch,
    key: IdempotencyKey,
) -> Result<Kept, Failure> {
    let attempt = attempt("tasks.submit", &id.to_string(), key, &());
    let target = Target { task: id, expected: Some(version) };
    Ok(Kept(tasks::submit(shared.app(), &caller, &attempt, target).await?))
}

/// Cancel a task
#[utoipa::path(post, path = "/v1/tasks/{id}/cancel", tag = "tasks",
    params(("id" = schema::TaskId, Path), VersionHeader, RepeatHeader),
    request_body = Cancellation,
    responses(
        (status = 200, description = "Cancelled", body = TaskSummary),
        (status = 202, description = "Being applied: its executor was asked to stop",
         body = TaskSummary)))]
pub async fn cancel(
    State(shared): State<Shared>,
    Known(caller): Known,
    Path(id): Path<TaskId>,
    IfMatch(version): IfMatch,
    key: IdempotencyKey,
    Json(cancellation): Json<Cancellation>,
) -> Result<Kept, Failure> {
    let attempt = attempt("tasks.cancel", &id.to_string(), key, &cancellation);
    let target = Target { task: id, expected: Some(version) };
    Ok(Kept(tasks::cancel(shared.app(), &caller, &attempt, target, cancellation).await?))
}

/// Give a review more time
#[utoipa::path(post, path = "/v1/tasks/{id}/extend", tag = "tasks",
    params(("id" = schema::TaskId, Path), VersionHeader, RepeatHeader), request_body = Extension,
    responses((status = 200, description = "It ends later", body = TaskSummary)))]
pub async fn extend(
    State(shared): State<Shared>,
    Known(caller): Known,
    Path(id): Path<TaskId>,
    IfMatch(version): IfMatch,
    key: IdempotencyKey,
    Json(extension): Json<Extension>,
) -> Result<Kept, Failure> {
    let attempt = attempt("tasks.extend", &id.to_string(), key, &extension);
    let target = Target { task: id, expected: Some(version) };
    Ok(Kept(tasks::extend(shared.app(), &caller, &attempt, target, extension).await?))
}

/// Try a failed task again
#[utoipa::path(post, path = "/v1/tasks/{id}/retry", tag = "tasks",
    params(("id" = schema::TaskId, Path), VersionHeader, RepeatHeader),
    responses((status = 202, description = "Approved or submitted again", body = TaskSummary)))]
pub async fn retry(
    State(shared): State<Shared>,
    Known(caller): Known,
    Path(id): Path<TaskId>,
    IfMatch(version): IfMatch,
    key: IdempotencyKey,
) -> Result<Kept, Failure> {
    let attempt = attempt("tasks.retry", &id.to_string(), key, &());
    let target = Target { task: id, expected: Some(version) };
    Ok(Kept(tasks::retry(shared.app(), &caller, &attempt, target).await?))
}

/// Take an ended task up again as a new draft
#[utoipa::path(post, path = "/v1/tasks/{id}/resubmit", tag = "tasks",
    params(("id" = schema::TaskId, Path), VersionHeader, RepeatHeader),
    responses((status = 201, description = "The new draft", body = Task)))]
pub async fn resubmit(
    State(shared): State<Shared>,
    Known(caller): Known,
    Path(id): Path<TaskId>,
    IfMatch(version): IfMatch,
    key: IdempotencyKey,
) -> Result<Kept, Failure> {
    let attempt = attempt("tasks.resubmit", &id.to_string(), key, &());
    let target = Target { task: id, expected: Some(version) };
    Ok(Kept(tasks::resubmit(shared.app(), &caller, &attempt, target).await?))
}

/// Comment on a task
#[utoipa::path(post, path = "/v1/tasks/{id}/comments", tag = "tasks",
    params(("id" = schema::TaskId, Path), RepeatHeader),
    request_body = NewComment,
    responses((status = 201, description = "The task with one more comment",
               body = TaskSummary)))]
pub async fn comment(
    State(shared): State<Shared>,
    Known(caller): Known,
    Path(id): Path<TaskId>,
    key: IdempotencyKey,
    Json(comment): Json<NewComment>,
) -> Result<Kept, Failure> {
    let attempt = attempt("tasks.comment", &id.to_string(), key, &comment);
    let target = Target { task: id, expected: None };
    Ok(Kept(tasks::comment(shared.app(), &caller, &attempt, target, comment).await?))
}

#[derive(Debug, Clone, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct CommentQuery {
    /// How many at most.
    #[param(minimum = 1, maximum = 200, default = 50)]
    pub page_size: Option<u32>,
    /// `next_page_token` of the page before.
    pub page_token: Option<String>,
}

/// Read the comments, oldest first
#[utoipa::path(get, path = "/v1/tasks/{id}/comments", tag = "tasks",
    params(("id" = schema::TaskId, Path), CommentQuery),
    responses((status = 200, description = "A page", body = Page<Comment>)))]
pub async fn comments(
    State(shared): State<Shared>,
    Known(caller): Known,
    Path(id): Path<TaskId>,
    Query(query): Query<CommentQuery>,
) -> Result<Json<Page<Comment>>, Failure> {
    let wanted = PageQuery { page_size: query.page_size, page_token: query.page_token };
    let span = span(&wanted, &caller, &id)?;
    let paged = tasks::comments(shared.app(), &caller, id, span).await?;
    Ok(page(paged, &caller, &id))
}

/// List the revisions of a task
#[utoipa::path(get, path = "/v1/tasks/{id}/revisions", tag = "tasks",
    params(("id" = schema::TaskId, Path)),
    responses((status = 200, description = "Newest first", body = Revisions)))]
pub async fn revisions(
    State(shared): State<Shared>,
    Known(caller): Known,
    Path(id): Path<TaskId>,
) -> Result<Json<Revisions>, Failure> {
    Ok(Json(tasks::revisions(shared.app(), &caller, id).await?))
}

/// Get one revision, all of it
#[utoipa::path(get, path = "/v1/tasks/{id}/revisions/{revision}", tag = "tasks",
    params(("id" = schema::TaskId, Path), ("revision" = u32, Path, minimum = 1)),
    responses((status = 200, description = "The revision", body = Revision)))]
pub async fn revision(
    State(shared): State<Shared>,
    Known(caller): Known,
    Path((id, revision)): Path<(TaskId, u32)>,
) -> Result<Json<Revision>, Failure> {
    Ok(Json(tasks::revision(shared.app(), &caller, id, revision).await?))
}

/// See how the current revision was rated, and why
#[utoipa::path(get, path = "/v1/tasks/{id}/risk", tag = "tasks",
    params(("id" = schema::TaskId, Path)),
    responses((status = 200, description = "The assessment", body = RiskAssessment)))]
pub async fn risk(
    State(shared): State<Shared>,
    Known(caller): Known,
    Path(id): Path<TaskId>,
) -> Result<Json<RiskAssessment>, Failure> {
    Ok(Json(tasks::risk(shared.app(), &caller, id).await?))
}

/// See which gates are open and which are not
#[utoipa::path(get, path = "/v1/tasks/{id}/explain", tag = "tasks",
    params(("id" = schema::TaskId, Path)),
    responses((status = 200, description = "Every gate with its evidence",
               body = Explanation)))]
pub async fn explain(
    State(shared): State<Shared>,
    Known(caller): Known,
    Path(id): Path<TaskId>,
) -> Result<Json<Explanation>, Failure> {
    Ok(Json(tasks::explain(shared.app(), &caller, id).await?))
}

/// See who was asked and what they answered
#[utoipa::path(get, path = "/v1/tasks/{id}/approvals", tag = "tasks",
    params(("id" = schema::TaskId, Path)),
    responses((status = 200, description = "Requests and votes", body = TaskApprovals)))]
pub async fn approvals(
    State(shared): State<Shared>,
    Known(caller): Known,
    Path(id): Path<TaskId>,
) -> Result<Json<TaskApprovals>, Failure> {
    Ok(Json(tasks::approvals(shared.app(), &caller, id).await?))
}
