//! Overrides over HTTP: they are requested, confirmed by a second admin, and reviewed afterwards.

use ade_api::overrides::{AfterReview, NewFinding, NewOverride, OverrideConfirmation};
use ade_api::page::{Page, PageQuery};
use ade_api::schema;
use ade_api::tasks::TaskSummary;
use ade_core::ids::AfterReviewId;
use ade_engine::command::task_command::TaskTarget;
use ade_engine::review::overrides;
use axum::extract::State;

use super::auth_layer::Authenticated;
use super::error::ApiError;
use super::extract::{IdempotencyKey, IfMatch, Json, Path, Query, RepeatHeader, VersionHeader};
use super::reply::{EngineReply, Listing, attempt, page, span};
use super::state::Shared;
use super::task_path::TaskPath;
use super::users::ListQuery;

/// Request an override for a task
///
/// Has no effect until a second admin confirms it, within an hour.
#[utoipa::path(post, path = "/v1/tasks/{id}/override", tag = "overrides", operation_id = "request",
    params(("id" = schema::TaskRef, Path), VersionHeader, RepeatHeader),
    request_body = NewOverride,
    responses((status = 202, description = "Requested; a second admin must confirm",
               body = TaskSummary)))]
pub async fn ask(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    TaskPath(id): TaskPath,
    IfMatch(version): IfMatch,
    key: IdempotencyKey,
    Json(new): Json<NewOverride>,
) -> Result<EngineReply, ApiError> {
    let attempt = attempt("overrides.ask", &id.to_string(), key, &new);
    let target = TaskTarget { task: id, expected: Some(version) };
    Ok(EngineReply(overrides::ask(shared.app(), &caller, &attempt, target, new).await?))
}

/// Confirm an override that another admin requested
#[utoipa::path(post, path = "/v1/tasks/{id}/override/confirm", tag = "overrides",
    params(("id" = schema::TaskRef, Path), RepeatHeader), request_body = OverrideConfirmation,
    responses((status = 200, description = "Approved for one hour; a review is due",
               body = TaskSummary)))]
pub async fn confirm(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    TaskPath(id): TaskPath,
    key: IdempotencyKey,
    Json(seen): Json<OverrideConfirmation>,
) -> Result<EngineReply, ApiError> {
    let attempt = attempt("overrides.confirm", &id.to_string(), key, &seen);
    let target = TaskTarget { task: id, expected: None };
    Ok(EngineReply(overrides::confirm(shared.app(), &caller, &attempt, target, seen).await?))
}

/// List the override reviews that are due
#[utoipa::path(get, path = "/v1/after-reviews", tag = "after_reviews",
    operation_id = "list", params(ListQuery),
    responses((status = 200, description = "A page, the longest overdue first",
               body = Page<AfterReview>)))]
pub async fn after_reviews(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    Query(query): Query<ListQuery>,
) -> Result<Listing<AfterReview>, ApiError> {
    let wanted = PageQuery { page_size: query.page_size, page_token: query.page_token };
    let span = span(&wanted, &caller, &"after_reviews")?;
    let owed = overrides::after_reviews(shared.app(), &caller, span).await?;
    Ok(page(owed, &caller, &"after_reviews"))
}

/// Record the finding and close an override review
#[utoipa::path(post, path = "/v1/after-reviews/{id}/close", tag = "after_reviews",
    operation_id = "close",
    params(("id" = schema::AfterReviewId, Path), RepeatHeader), request_body = NewFinding,
    responses((status = 200, description = "The final state", body = AfterReview)))]
pub async fn close(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    Path(id): Path<AfterReviewId>,
    key: IdempotencyKey,
    Json(new): Json<NewFinding>,
) -> Result<EngineReply, ApiError> {
    let attempt = attempt("overrides.close", &id.to_string(), key, &new);
    Ok(EngineReply(overrides::close(shared.app(), &caller, &attempt, id, new).await?))
}
