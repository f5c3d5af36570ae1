//! Pending changes over HTTP: seen by everyone, published by a second admin.

use ade_api::page::{Page, PageQuery};
use ade_api::pending_changes::{ChangeObjection, PendingChange};
use ade_api::schema;
use ade_core::ids::PendingChangeId;
use ade_engine::rule_changes;
use axum::extract::State;
use serde::Deserialize;
use utoipa::IntoParams;

use super::auth_layer::Authenticated;
use super::error::ApiError;
use super::extract::{IdempotencyKey, Json, Path, Query, RepeatHeader};
use super::reply::{EngineReply, Listing, attempt, page, span};
use super::state::Shared;

#[derive(Debug, Clone, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct PendingChangeQuery {
    /// `true` lists the closed changes instead of the open ones.
    #[serde(default)]
    pub closed: bool,
    /// The maximum number of items.
    #[param(minimum = 1, maximum = 200, default = 50)]
    pub page_size: Option<u32>,
    /// The `next_page_token` of the previous page.
    pub page_token: Option<String>,
}

/// List changes that wait for a second admin
#[utoipa::path(get, path = "/v1/pending-changes", tag = "pending_changes",
    params(PendingChangeQuery),
    responses((status = 200, description = "A page, newest first", body = Page<PendingChange>)))]
pub async fn list(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    Query(query): Query<PendingChangeQuery>,
) -> Result<Listing<PendingChange>, ApiError> {
    let wanted = PageQuery { page_size: query.page_size, page_token: query.page_token };
    let filter = ("pending_changes", query.closed);
    let span = span(&wanted, &caller, &filter)?;
    let found = rule_changes::list(shared.app(), &caller, !query.closed, span).await?;
    Ok(page(found, &caller, &filter))
}

/// Get a pending change and its consequences
#[utoipa::path(get, path = "/v1/pending-changes/{id}", tag = "pending_changes",
    params(("id" = schema::PendingChangeId, Path)),
    responses((status = 200, description = "The change", body = PendingChange)))]
pub async fn get(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    Path(id): Path<PendingChangeId>,
) -> Result<Json<PendingChange>, ApiError> {
    Ok(Json(rule_changes::get(shared.app(), &caller, id).await?))
}

/// Publish a change that another person proposed
///
/// The response is that of the change itself, for example the updated settings. It is refused if
/// the change would now have other consequences than those shown.
#[utoipa::path(post, path = "/v1/pending-changes/{id}/publish", tag = "pending_changes",
    params(("id" = schema::PendingChangeId, Path), RepeatHeader),
    responses((status = 200, description = "In force immediately; the changed object",
               body = Object),
              (status = 201, description = "In force immediately; the created object",
               body = Object)))]
pub async fn publish(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    Path(id): Path<PendingChangeId>,
    key: IdempotencyKey,
) -> Result<EngineReply, ApiError> {
    let attempt = attempt("pending_changes.publish", &id.to_string(), key, &());
    Ok(EngineReply(rule_changes::publish(shared.app(), &caller, &attempt, id).await?))
}

/// Object to a change that would take effect without a second admin
///
/// In a tenant with one admin, everyone with a role can object until the change takes effect.
#[utoipa::path(post, path = "/v1/pending-changes/{id}/object", tag = "pending_changes",
    params(("id" = schema::PendingChangeId, Path), RepeatHeader),
    request_body = ChangeObjection,
    responses((status = 200, description = "The closed change", body = PendingChange)))]
pub async fn object(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    Path(id): Path<PendingChangeId>,
    key: IdempotencyKey,
    Json(objection): Json<ChangeObjection>,
) -> Result<EngineReply, ApiError> {
    let attempt = attempt("pending_changes.object", &id.to_string(), key, &objection);
    Ok(EngineReply(rule_changes::object(shared.app(), &caller, &attempt, id, objection).await?))
}

/// Withdraw a pending change
#[utoipa::path(delete, path = "/v1/pending-changes/{id}", tag = "pending_changes",
    params(("id" = schema::PendingChangeId, Path), RepeatHeader),
    responses((status = 200, description = "The closed change", body = PendingChange)))]
pub async fn withdraw(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    Path(id): Path<PendingChangeId>,
    key: IdempotencyKey,
) -> Result<EngineReply, ApiError> {
    let attempt = attempt("pending_changes.withdraw", &id.to_string(), key, &());
    Ok(EngineReply(rule_changes::withdraw(shared.app(), &caller, &attempt, id).await?))
}
