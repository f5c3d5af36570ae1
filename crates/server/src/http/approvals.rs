//! A reviewer's queue and answers over HTTP.

use ade_api::approvals::{Approval, Inbox, NewVote, Voted};
use ade_api::page::{Page, PageQuery};
use ade_api::schema;
use ade_api::tasks::TaskSummary;
use ade_core::approval::Status;
use ade_core::ids::ApprovalId;
use ade_engine::ops::approvals;
use axum::extract::State;
use serde::de::IntoDeserializer as _;
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::IntoParams;

use super::door::Known;
use super::error::Failure;
use super::extract::{IdempotencyKey, Json, Path, Query, RepeatHeader};
use super::reply::{Kept, attempt, page, span};
use super::state::Shared;

#[derive(Debug, Clone, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ApprovalQuery {
    /// `me`, and nobody else: a queue is its reviewer's own, named or not.
    #[param(value_type = Option<String>, pattern = "^me$")]
    pub reviewer: Option<Reviewer>,
    /// What waits for an answer if left out. Small letters do too.
    #[serde(default, deserialize_with = "status")]
    #[param(value_type = Option<schema::ApprovalStatus>)]
    pub status: Option<Status>,
    /// How many at most.
    #[param(minimum = 1, maximum = 200, default = 50)]
    pub page_size: Option<u32>,
    /// `next_page_token` of the page before.
    pub page_token: Option<String>,
    /// `version` of the last answer, or 0 at first. The answer is never older, and may come from a
    /// copy that is as new. Without it, the record itself is asked.
    #[serde(default, deserialize_with = "super::extract::number")]
    pub since_version: Option<u64>,
}

/// Whose queue.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reviewer {
    Me,
}

fn status<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Status>, D::Error> {
    match Option::<String>::deserialize(from)? {
        None => Ok(None),
        Some(text) => {
            let word = text.to_ascii_uppercase();
            Status::deserialize(word.into_deserializer()).map(Some)
        }
    }
}

/// See what waits for you
///
/// Overdue first, then by risk and priority; the riskiest first where more than a hundred are
/// overdue. With `status`: what you were asked before.
#[utoipa::path(get, path = "/v1/approvals", tag = "approvals", params(ApprovalQuery),
    responses((status = 200, description = "A page", body = Inbox)))]
pub async fn inbox(
    State(shared): State<Shared>,
    Known(caller): Known,
    Query(mut query): Query<ApprovalQuery>,
) -> Result<Json<Inbox>, Failure> {
    let app = shared.app();
    // Neither how new it must be nor the caller's own name tells a list from another.
    let since = query.since_version.take();
    query.reviewer = None;
    let wanted =
        PageQuery { page_size: query.page_size.take(), page_token: query.page_token.take() };
    match query.status {
        None | Some(Status::Pending) => {
            let span = span(&wanted, &caller, &query)?;
            let found = approvals::inbox(app, &caller, span, since).await?;
            Ok(shown(page(found.page, &caller, &query), found.version))
        }
        Some(status) => {
            let span = span(&wanted, &caller, &query)?;
            let paged = approvals::ended(app, &caller, status, span).await?;
            Ok(shown(page(paged, &caller, &query), None))
        }
    }
}

fn shown(Json(page): Json<Page<Approval>>, version: Option<u64>) -> Json<Inbox> {
    Json(Inbox { items: page.items, next_page_token: page.next_page_token, version })
}

/// Get one request
#[utoipa::path(get, path = "/v1/approvals/{id}", tag = "approvals",
    params(("id" = schema::ApprovalId, Path)),
    responses((status = 200, description = "The request", body = Approval)))]
pub async fn get(
    State(shared): State<Shared>,
    Known(caller): Known,
    Path(id): Path<ApprovalId>,
) -> Result<Json<Approval>, Failure> {
    Ok(Json(approvals::get(shared.app(), &caller, id).await?))
}

/// Approve exactly what you saw
///
/// A vote that comes after the review has ended is kept, told and never counted.
#[utoipa::path(post, path = "/v1/approvals/{id}/approve", tag = "approvals",
    params(("id" = schema::ApprovalId, Path), RepeatHeader), request_body = NewVote,
    responses((status = 200, description = "The vote and its receipt", body = Voted)))]
pub async fn approve(
    State(shared): State<Shared>,
    Known(caller): Known,
    Path(id): Path<ApprovalId>,
    key: IdempotencyKey,
    Json(vote): Json<NewVote>,
) -> Result<Kept, Failure> {
    let attempt = attempt("approvals.approve", &id.to_string(), key, &vote);
    Ok(Kept(approvals::approve(shared.app(), &caller, &attempt, id, vote).await?))
}

/// Reject it, with a reason
#[utoipa::path(post, path = "/v1/approvals/{id}/reject", tag = "approvals",
    params(("id" = schema::ApprovalId, Path), RepeatHeader), request_body = NewVote,
    responses((status = 200, description = "The vote and its receipt", body = Voted)))]
pub async fn reject(
    State(shared): State<Shared>,
    Known(caller): Known,
    Path(id): Path<ApprovalId>,
    key: IdempotencyKey,
    Json(vote): Json<NewVote>,
) -> Result<Kept, Failure> {
    let attempt = attempt("approvals.reject", &id.to_string(), key, &vote);
    Ok(Kept(approvals::reject(shared.app(), &caller, &attempt, id, vote).await?))
}

/// Send it back to its author, with a reason
#[utoipa::path(post, path = "/v1/approvals/{id}/request-changes", tag = "approvals",
    params(("id" = schema::ApprovalId, Path), RepeatHeader), request_body = NewVote,
    responses((status = 200, description = "The vote and its receipt", body = Voted)))]
pub async fn request_changes(
    State(shared): State<Shared>,
    Known(caller): Known,
    Path(id): Path<ApprovalId>,
    key: IdempotencyKey,
    Json(vote): Json<NewVote>,
) -> Result<Kept, Failure> {
    let attempt = attempt("approvals.request_changes", &id.to_string(), key, &vote);
    Ok(Kept(approvals::request_changes(shared.app(), &caller, &attempt, id, vote).await?))
}

/// Take your answer back while the review goes on
#[utoipa::path(post, path = "/v1/approvals/{id}/withdraw", tag = "approvals",
    params(("id" = schema::ApprovalId, Path), RepeatHeader),
    responses((status = 200, description = "The task without it", body = TaskSummary)))]
pub async fn withdraw(
    State(shared): State<Shared>,
    Known(caller): Known,
    Path(id): Path<ApprovalId>,
    key: IdempotencyKey,
) -> Result<Kept, Failure> {
    let attempt = attempt("approvals.withdraw", &id.to_string(), key, &());
    Ok(Kept(approvals::withdraw(shared.app(), &caller, &attempt, id).await?))
}
