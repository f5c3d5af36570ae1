//! Policies over HTTP: read by everybody, proposed by one admin, published by another.

use ade_api::page::{Page, PageQuery};
use ade_api::policies::{
    NewDraft, PolicyDraft, PolicyHistory, PolicyRollback, PolicyVersionShown, Replay, Replayed,
    Simulated,
};
use ade_api::schema;
use ade_api::tasks::NewTask;
use ade_core::ids::{PolicyDraftId, PolicyId};
use ade_engine::ops::{policies, simulation, tasks};
use axum::extract::State;

use super::door::Known;
use super::error::Failure;
use super::extract::{IdempotencyKey, Json, Path, Query, RepeatHeader};
use super::reply::{Kept, attempt, page, span};
use super::state::Shared;
use super::users::ListQuery;

/// Propose a policy, or the next version of one
///
/// The document's name says which. Another admin has to publish it.
#[utoipa::path(post, path = "/v1/policies", tag = "policies", params(RepeatHeader),
    request_body = NewDraft,
    responses((status = 201, description = "The draft and what it changes", body = PolicyDraft)))]
pub async fn draft(
    State(shared): State<Shared>,
    Known(caller): Known,
    key: IdempotencyKey,
    Json(new): Json<NewDraft>,
) -> Result<Kept, Failure> {
    let attempt = attempt("policies.draft", "", key, &new);
    Ok(Kept(policies::draft(shared.app(), &caller, &attempt, new).await?))
}

/// List policies in their current versions
#[utoipa::path(get, path = "/v1/policies", tag = "policies", params(ListQuery),
    responses((status = 200, description = "A page", body = Page<PolicyVersionShown>)))]
pub async fn list(
    State(shared): State<Shared>,
    Known(caller): Known,
    Query(query): Query<ListQuery>,
) -> Result<Json<Page<PolicyVersionShown>>, Failure> {
    let wanted = PageQuery { page_size: query.page_size, page_token: query.page_token };
    let span = span(&wanted, &caller, &"policies")?;
    Ok(page(policies::list(shared.app(), &caller, span).await?, &caller, &"policies"))
}

/// List the versions of a policy
#[utoipa::path(get, path = "/v1/policies/{id}/versions", tag = "policies",
    params(("id" = schema::PolicyId, Path)),
    responses((status = 200, description = "Newest first", body = PolicyHistory)))]
pub async fn versions(
    State(shared): State<Shared>,
    Known(caller): Known,
    Path(id): Path<PolicyId>,
) -> Result<Json<PolicyHistory>, Failure> {
    Ok(Json(policies::history(shared.app(), &caller, id).await?))
}

/// Propose an earlier version anew
#[utoipa::path(post, path = "/v1/policies/{id}/rollback", tag = "policies",
    params(("id" = schema::PolicyId, Path), RepeatHeader), request_body = PolicyRollback,
    responses((status = 201, description = "The draft and what it changes", body = PolicyDraft)))]
pub async fn rollback(
    State(shared): State<Shared>,
    Known(caller): Known,
    Path(id): Path<PolicyId>,
    key: IdempotencyKey,
    Json(rollback): Json<PolicyRollback>,
) -> Result<Kept, Failure> {
    let attempt = attempt("policies.rollback", &id.to_string(), key, &rollback);
    Ok(Kept(policies::rollback(shared.app(), &caller, &attempt, id, rollback).await?))
}

/// List drafts that wait for a second admin
#[utoipa::path(get, path = "/v1/policy-drafts", tag = "policies", params(ListQuery),
    responses((status = 200, description = "A page", body = Page<PolicyDraft>)))]
pub async fn drafts(
    State(shared): State<Shared>,
    Known(caller): Known,
    Query(query): Query<ListQuery>,
) -> Result<Json<Page<PolicyDraft>>, Failure> {
    let wanted = PageQuery { page_size: query.page_size, page_token: query.page_token };
    let span = span(&wanted, &caller, &"policy_drafts")?;
    Ok(page(policies::drafts(shared.app(), &caller, span).await?, &caller, &"policy_drafts"))
}

/// Get a draft, and what it changes
#[utoipa::path(get, path = "/v1/policy-drafts/{id}", tag = "policies",
    params(("id" = schema::PolicyDraftId, Path)),
    responses((status = 200, description = "The draft", body = PolicyDraft)))]
pub async fn get_draft(
    State(shared): State<Shared>,
    Known(caller): Known,
    Path(id): Path<PolicyDraftId>,
) -> Result<Json<PolicyDraft>, Failure> {
    Ok(Json(policies::get_draft(shared.app(), &caller, id).await?))
}

/// Publish a draft that another admin proposed
#[utoipa::path(post, path = "/v1/policy-drafts/{id}/publish", tag = "policies",
    params(("id" = schema::PolicyDraftId, Path), RepeatHeader),
    responses((status = 200, description = "In force from now on", body = PolicyVersionShown)))]
pub async fn publish(
    State(shared): State<Shared>,
    Known(caller): Known,
    Path(id): Path<PolicyDraftId>,
    key: IdempotencyKey,
) -> Result<Kept, Failure> {
    let attempt = attempt("policies.publish", &id.to_string(), key, &());
    Ok(Kept(policies::publish(shared.app(), &caller, &attempt, id).await?))
}

/// Withdraw a draft
#[utoipa::path(delete, path = "/v1/policy-drafts/{id}", tag = "policies",
    params(("id" = schema::PolicyDraftId, Path), RepeatHeader),
    responses((status = 200, description = "As it ended", body = PolicyDraft)))]
pub async fn withdraw(
    State(shared): State<Shared>,
    Known(caller): Known,
    Path(id): Path<PolicyDraftId>,
    key: IdempotencyKey,
) -> Result<Kept, Failure> {
    let attempt = attempt("policies.withdraw", &id.to_string(), key, &());
    Ok(Kept(policies::withdraw(shared.app(), &caller, &attempt, id).await?))
}

/// See how the tasks of the last days would have fared under another document
///
/// Nothing is written. Tasks that would now pass without a person come first.
#[utoipa::path(post, path = "/v1/policies/simulate", tag = "policies", request_body = Replay,
    responses((status = 200, description = "Counts, and the tasks that differ", body = Replayed),
              (status = 404, description = "`not_found`: the draft",
               body = ade_api::problem::Problem, content_type = "application/problem+json"),
              (status = 422, description = "`invalid_body`, `invalid_policy`: see `errors`",
               body = ade_api::problem::Problem, content_type = "application/problem+json")))]
pub async fn replay(
    State(shared): State<Shared>,
    Known(caller): Known,
    Json(asked): Json<Replay>,
) -> Result<Json<Replayed>, Failure> {
    Ok(Json(simulation::replay(shared.app(), &caller, asked).await?))
}

/// See what would happen to a task, without proposing it
#[utoipa::path(post, path = "/v1/simulate", tag = "policies", request_body = NewTask,
    responses((status = 200, description = "Effect, risk, and who would be asked",
               body = Simulated)))]
pub async fn simulate(
    State(shared): State<Shared>,
    Known(caller): Known,
    Json(new): Json<NewTask>,
) -> Result<Json<Simulated>, Failure> {
    Ok(Json(tasks::simulate(shared.app(), &caller, new).await?))
}
