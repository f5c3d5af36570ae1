//! Policies over HTTP: read by everyone, proposed by one admin, published by another.

use ade_api::page::{Page, PageQuery};
use ade_api::pending_changes::PendingChange;
use ade_api::policies::{
    Evaluation, NewDraft, PolicyDraft, PolicyHistory, PolicyRollback, PolicyVersionShown, Replay,
    Replayed,
};
use ade_api::schema;
use ade_api::tasks::NewTask;
use ade_core::ids::{PolicyDraftId, PolicyId};
use ade_engine::policies::{self, replay as replays};
use ade_engine::{rule_changes, tasks};
use axum::extract::State;

use super::auth_layer::Authenticated;
use super::error::ApiError;
use super::extract::{IdempotencyKey, Json, Path, Query, RepeatHeader};
use super::reply::{EngineReply, Listing, attempt, page, span};
use super::state::Shared;
use super::users::ListQuery;

/// Propose a policy or a new version of one
///
/// The name in the document identifies the policy. The draft is published separately, by another
/// admin unless the tenant is in setup or has one admin.
#[utoipa::path(post, path = "/v1/policies", tag = "policies",
    operation_id = "create_draft", params(RepeatHeader),
    request_body = NewDraft,
    responses((status = 201, description = "The draft and its changes", body = PolicyDraft)))]
pub async fn draft(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    key: IdempotencyKey,
    Json(new): Json<NewDraft>,
) -> Result<EngineReply, ApiError> {
    let attempt = attempt("policies.draft", "", key, &new);
    Ok(EngineReply(policies::draft(shared.app(), &caller, &attempt, new).await?))
}

/// List the active versions of all policies
#[utoipa::path(get, path = "/v1/policies", tag = "policies", params(ListQuery),
    responses((status = 200, description = "A page", body = Page<PolicyVersionShown>)))]
pub async fn list(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    Query(query): Query<ListQuery>,
) -> Result<Listing<PolicyVersionShown>, ApiError> {
    let wanted = PageQuery { page_size: query.page_size, page_token: query.page_token };
    let span = span(&wanted, &caller, &"policies")?;
    Ok(page(policies::list(shared.app(), &caller, span).await?, &caller, &"policies"))
}

/// List the versions of a policy
#[utoipa::path(get, path = "/v1/policies/{id}/versions", tag = "policies",
    operation_id = "list_versions",
    params(("id" = schema::PolicyId, Path)),
    responses((status = 200, description = "Newest first", body = PolicyHistory)))]
pub async fn versions(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    Path(id): Path<PolicyId>,
) -> Result<Json<PolicyHistory>, ApiError> {
    Ok(Json(policies::history(shared.app(), &caller, id).await?))
}

/// Propose an earlier version again
#[utoipa::path(post, path = "/v1/policies/{id}/rollback", tag = "policies",
    operation_id = "roll_back",
    params(("id" = schema::PolicyId, Path), RepeatHeader), request_body = PolicyRollback,
    responses((status = 201, description = "The draft and its changes", body = PolicyDraft)))]
pub async fn rollback(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    Path(id): Path<PolicyId>,
    key: IdempotencyKey,
    Json(rollback): Json<PolicyRollback>,
) -> Result<EngineReply, ApiError> {
    let attempt = attempt("policies.rollback", &id.to_string(), key, &rollback);
    Ok(EngineReply(policies::rollback(shared.app(), &caller, &attempt, id, rollback).await?))
}

/// List drafts that are not published yet
#[utoipa::path(get, path = "/v1/policy-drafts", tag = "policies",
    operation_id = "list_drafts", params(ListQuery),
    responses((status = 200, description = "A page", body = Page<PolicyDraft>)))]
pub async fn drafts(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    Query(query): Query<ListQuery>,
) -> Result<Listing<PolicyDraft>, ApiError> {
    let wanted = PageQuery { page_size: query.page_size, page_token: query.page_token };
    let span = span(&wanted, &caller, &"policy_drafts")?;
    Ok(page(policies::drafts(shared.app(), &caller, span).await?, &caller, &"policy_drafts"))
}

/// Get a draft and its changes
#[utoipa::path(get, path = "/v1/policy-drafts/{id}", tag = "policies",
    params(("id" = schema::PolicyDraftId, Path)),
    responses((status = 200, description = "The draft", body = PolicyDraft)))]
pub async fn get_draft(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    Path(id): Path<PolicyDraftId>,
) -> Result<Json<PolicyDraft>, ApiError> {
    Ok(Json(policies::get_draft(shared.app(), &caller, id).await?))
}

/// Publish a draft
///
/// Another admin than the one who proposed it publishes a draft at once. In setup, and in a tenant
/// with one admin, its proposer publishes it: it takes effect at once, or it becomes a pending
/// change if it makes approvals easier and the tenant is not in setup.
#[utoipa::path(post, path = "/v1/policy-drafts/{id}/publish", tag = "policies",
    operation_id = "publish_draft",
    params(("id" = schema::PolicyDraftId, Path), RepeatHeader),
    responses((status = 200, description = "In force immediately", body = PolicyVersionShown),
              (status = 202, description = "Not in force yet: it takes effect after 24 hours \
               unless someone objects", body = PendingChange)))]
pub async fn publish(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    Path(id): Path<PolicyDraftId>,
    key: IdempotencyKey,
) -> Result<EngineReply, ApiError> {
    let attempt = attempt("policies.publish", &id.to_string(), key, &());
    Ok(EngineReply(rule_changes::publish_draft(shared.app(), &caller, &attempt, id).await?))
}

/// Withdraw a draft
#[utoipa::path(delete, path = "/v1/policy-drafts/{id}", tag = "policies",
    operation_id = "withdraw_draft",
    params(("id" = schema::PolicyDraftId, Path), RepeatHeader),
    responses((status = 200, description = "The final state", body = PolicyDraft)))]
pub async fn withdraw(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    Path(id): Path<PolicyDraftId>,
    key: IdempotencyKey,
) -> Result<EngineReply, ApiError> {
    let attempt = attempt("policies.withdraw", &id.to_string(), key, &());
    Ok(EngineReply(policies::withdraw(shared.app(), &caller, &attempt, id).await?))
}

/// Replay recent tasks against a policy document
///
/// Nothing is written. Tasks that would newly be auto-approved come first.
#[utoipa::path(post, path = "/v1/policies/replay", tag = "policies", request_body = Replay,
    responses((status = 200, description = "Counts, and the tasks with a different result",
        body = Replayed),
              (status = 404, description = "`not_found`: no such draft",
               body = ade_api::problem::Problem, content_type = "application/problem+json"),
              (status = 422, description = "`invalid_body`, `invalid_policy`: see `errors`",
               body = ade_api::problem::Problem, content_type = "application/problem+json")))]
pub async fn replay(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    Json(asked): Json<Replay>,
) -> Result<Json<Replayed>, ApiError> {
    Ok(Json(replays::replay(shared.app(), &caller, asked).await?))
}

/// Evaluate a task without proposing it
#[utoipa::path(post, path = "/v1/tasks/evaluate", tag = "tasks", request_body = NewTask,
    responses((status = 200, description = "The effect, the risk, and the required reviewers",
               body = Evaluation)))]
pub async fn evaluate(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    Json(new): Json<NewTask>,
) -> Result<Json<Evaluation>, ApiError> {
    Ok(Json(tasks::evaluate(shared.app(), &caller, new).await?))
}
