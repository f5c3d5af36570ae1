//! A reviewer's queue and answers over HTTP.

use ade_api::approvals::{Approval, Inbox, NewVote, Voted};
use ade_api::page::PageQuery;
use ade_api::schema;
use ade_api::tasks::TaskSummary;
use ade_core::approval::{Answer, ApprovalStatus};
use ade_core::ids::ApprovalId;
use ade_engine::review::approvals;
use axum::extract::State;
use serde::de::IntoDeserializer as _;
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::IntoParams;

use super::auth_layer::Authenticated;
use super::error::ApiError;
use super::extract::{IdempotencyKey, Json, Path, Query, RepeatHeader};
use super::reply::{EngineReply, Listing, NextPage, attempt, page, span};
use super::state::Shared;
use super::task_path::TaskPath;

#[derive(Debug, Clone, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ApprovalQuery {
    /// Only `me` is allowed: reviewers can only see their own queue.
    #[param(value_type = Option<String>, pattern = "^me$")]
    pub reviewer: Option<Reviewer>,
    /// Defaults to open requests. Case-insensitive.
    #[serde(default, deserialize_with = "status")]
    #[param(value_type = Option<schema::ApprovalStatus>)]
    pub status: Option<ApprovalStatus>,
    /// The maximum number of items.
    #[param(minimum = 1, maximum = 200, default = 50)]
    pub page_size: Option<u32>,
    /// The `next_page_token` of the previous page.
    pub page_token: Option<String>,
    /// The `version` of the last response, or 0 at first. The response is never older and may come
    /// from an equally recent copy. Without it, the database is read.
    #[serde(default, deserialize_with = "super::extract::number")]
    pub since_version: Option<u64>,
}

/// The reviewer whose queue is listed.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reviewer {
    Me,
}

fn status<'de, D: Deserializer<'de>>(from: D) -> Result<Option<ApprovalStatus>, D::Error> {
    match Option::<String>::deserialize(from)? {
        None => Ok(None),
        Some(text) => {
            let word = text.to_ascii_uppercase();
            ApprovalStatus::deserialize(word.into_deserializer()).map(Some)
        }
    }
}

/// List your approval requests
///
/// Overdue requests come first, then by risk and priority; if more than a hundred are overdue, the
/// riskiest come first. With `status`, lists earlier requests.
#[utoipa::path(get, path = "/v1/approvals", tag = "approvals",
    operation_id = "list", params(ApprovalQuery),
    responses((status = 200, description = "A page", body = Inbox)))]
pub async fn inbox(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    Query(mut query): Query<ApprovalQuery>,
) -> Result<(NextPage, Json<Inbox>), ApiError> {
    let app = shared.app();
    // The known version and the caller's own name are not part of the filter of a page token.
    let since = query.since_version.take();
    query.reviewer = None;
    let wanted =
        PageQuery { page_size: query.page_size.take(), page_token: query.page_token.take() };
    match query.status {
        None | Some(ApprovalStatus::Pending) => {
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

fn shown((next, Json(page)): Listing<Approval>, version: Option<u64>) -> (NextPage, Json<Inbox>) {
    let inbox = Inbox { items: page.items, next_page_token: page.next_page_token, version };
    (next, Json(inbox))
}

/// Get an approval request
#[utoipa::path(get, path = "/v1/approvals/{id}", tag = "approvals",
    params(("id" = schema::ApprovalId, Path)),
    responses((status = 200, description = "The request", body = Approval)))]
pub async fn get(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    Path(id): Path<ApprovalId>,
) -> Result<Json<Approval>, ApiError> {
    Ok(Json(approvals::get(shared.app(), &caller, id).await?))
}

/// Approve a revision
///
/// A vote that arrives after the review has ended is recorded but not counted.
#[utoipa::path(post, path = "/v1/tasks/{id}/approve", tag = "tasks", operation_id = "approve",
    params(("id" = schema::TaskRef, Path), RepeatHeader), request_body = NewVote,
    responses((status = 200, description = "The vote and its receipt", body = Voted)))]
pub async fn approve(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    TaskPath(id): TaskPath,
    key: IdempotencyKey,
    Json(vote): Json<NewVote>,
) -> Result<EngineReply, ApiError> {
    let attempt = attempt("tasks.approve", &id.to_string(), key, &vote);
    let voted = approvals::vote(shared.app(), &caller, &attempt, id, Answer::Approve, vote);
    Ok(EngineReply(voted.await?))
}

/// Reject a revision, with a reason
#[utoipa::path(post, path = "/v1/tasks/{id}/reject", tag = "tasks", operation_id = "reject",
    params(("id" = schema::TaskRef, Path), RepeatHeader), request_body = NewVote,
    responses((status = 200, description = "The vote and its receipt", body = Voted)))]
pub async fn reject(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    TaskPath(id): TaskPath,
    key: IdempotencyKey,
    Json(vote): Json<NewVote>,
) -> Result<EngineReply, ApiError> {
    let attempt = attempt("tasks.reject", &id.to_string(), key, &vote);
    let voted = approvals::vote(shared.app(), &caller, &attempt, id, Answer::Reject, vote);
    Ok(EngineReply(voted.await?))
}

/// Request changes from the author, with a reason
#[utoipa::path(post, path = "/v1/tasks/{id}/request-changes", tag = "tasks",
    operation_id = "request_changes",
    params(("id" = schema::TaskRef, Path), RepeatHeader), request_body = NewVote,
    responses((status = 200, description = "The vote and its receipt", body = Voted)))]
pub async fn request_changes(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    TaskPath(id): TaskPath,
    key: IdempotencyKey,
    Json(vote): Json<NewVote>,
) -> Result<EngineReply, ApiError> {
    let attempt = attempt("tasks.request_changes", &id.to_string(), key, &vote);
    let voted = approvals::vote(shared.app(), &caller, &attempt, id, Answer::RequestChanges, vote);
    Ok(EngineReply(voted.await?))
}

/// Withdraw your vote
///
/// Possible until the apply starts. An approval that does not hold without the vote returns to
/// review.
#[utoipa::path(post, path = "/v1/approvals/{id}/withdraw", tag = "approvals",
    params(("id" = schema::ApprovalId, Path), RepeatHeader),
    responses((status = 200, description = "The task without the vote", body = TaskSummary)))]
pub async fn withdraw(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    Path(id): Path<ApprovalId>,
    key: IdempotencyKey,
) -> Result<EngineReply, ApiError> {
    let attempt = attempt("approvals.withdraw", &id.to_string(), key, &());
    Ok(EngineReply(approvals::withdraw(shared.app(), &caller, &attempt, id).await?))
}
