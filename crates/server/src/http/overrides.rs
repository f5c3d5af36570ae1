//! Break-glass over HTTP: asked, confirmed, looked at afterwards.

use ade_api::overrides::{AfterReview, NewFinding, NewOverride, OverrideConfirmation};
use ade_api::page::{Page, PageQuery};
use ade_api::schema;
use ade_api::tasks::TaskSummary;
use ade_core::ids::{AfterReviewId, TaskId};
use ade_engine::ops::decision::Target;
use ade_engine::ops::overrides;
use axum::extract::State;

use super::door::Known;
use super::error::Failure;
use super::extract::{IdempotencyKey, IfMatch, Json, Path, Query, RepeatHeader, VersionHeader};
use super::reply::{Kept, attempt, page, span};
use super::state::Shared;
use super::users::ListQuery;

/// Ask to let a task pass without its quorum
///
/// Changes nothing until a second admin confirms it, within an hour.
#[utoipa::path(post, path = "/v1/tasks/{id}/override", tag = "overrides",
    params(("id" = schema::TaskId, Path), VersionHeader, RepeatHeader),
    request_body = NewOverride,
    responses((status = 202, description = "Asked; a second admin has to confirm",
               body = TaskSummary)))]
pub async fn ask(
    State(shared): State<Shared>,
    Known(caller): Known,
    Path(id): Path<TaskId>,
    IfMatch(version): IfMatch,
    key: IdempotencyKey,
    Json(new): Json<NewOverride>,
) -> Result<Kept, Failure> {
    let attempt = attempt("overrides.ask", &id.to_string(), key, &new);
    let target = Target { task: id, expected: Some(version) };
    Ok(Kept(overrides::ask(shared.app(), &caller, &attempt, target, new).await?))
}

/// Confirm an override that another admin asked for
#[utoipa::path(post, path = "/v1/tasks/{id}/override/confirm", tag = "overrides",
    params(("id" = schema::TaskId, Path), RepeatHeader), request_body = OverrideConfirmation,
    responses((status = 200, description = "Approved for one hour; a review is owed",
               body = TaskSummary)))]
pub async fn confirm(
    State(shared): State<Shared>,
    Known(caller): Known,
    Path(id): Path<TaskId>,
    key: IdempotencyKey,
    Json(seen): Json<OverrideConfirmation>,
) -> Result<Kept, Failure> {
    let attempt = attempt("overrides.confirm", &id.to_string(), key, &seen);
    let target = Target { task: id, expected: None };
    Ok(Kept(overrides::confirm(shared.app(), &caller, &attempt, target, seen).await?))
}

/// See the reviews that overrides still owe
#[utoipa::path(get, path = "/v1/after-reviews", tag = "overrides", params(ListQuery),
    responses((status = 200, description = "A page, the longest overdue first",
               body = Page<AfterReview>)))]
pub async fn after_reviews(
    State(shared): State<Shared>,
    Known(caller): Known,
    Query(query): Query<ListQuery>,
) -> Result<Json<Page<AfterReview>>, Failure> {
    let wanted = PageQuery { page_size: query.page_size, page_token: query.page_token };
    let span = span(&wanted, &caller, &"after_reviews")?;
    let owed = overrides::after_reviews(shared.app(), &caller, span).await?;
    Ok(page(owed, &caller, &"after_reviews"))
}

/// Say what was found, and close the review
#[utoipa::path(post, path = "/v1/after-reviews/{id}/close", tag = "overrides",
    params(("id" = schema::AfterReviewId, Path), RepeatHeader), request_body = NewFinding,
    responses((status = 200, description = "As it ended", body = AfterReview)))]
pub async fn close(
    State(shared): State<Shared>,
    Known(caller): Known,
    Path(id): Path<AfterReviewId>,
    key: IdempotencyKey,
    Json(new): Json<NewFinding>,
) -> Result<Kept, Failure> {
    let attempt = attempt("overrides.close", &id.to_string(), key, &new);
    Ok(Kept(overrides::close(shared.app(), &caller, &attempt, id, new).await?))
}
