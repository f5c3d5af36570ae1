//! Delegations over HTTP: who answers for whom.

use ade_api::delegations::{Delegation, DelegationMade, HandOver, NewDelegation, Resolved};
use ade_api::page::{Page, PageQuery};
use ade_api::pending_changes::PendingChange;
use ade_api::schema;
use ade_api::tasks::TaskSummary;
use ade_core::ids::{ApprovalId, DelegationId, UserId};
use ade_core::task_ref::TaskRef;
use ade_engine::review::{delegations, resolution};
use ade_engine::rule_changes;
use axum::extract::State;
use serde::Deserialize;

use super::auth_layer::Authenticated;
use super::error::ApiError;
use super::extract::{IdempotencyKey, Json, Path, Query, RepeatHeader};
use super::reply::{EngineReply, Listing, attempt, page, span};
use super::state::Shared;

/// Create a delegation, for yourself or for another person
#[utoipa::path(post, path = "/v1/delegations", tag = "delegations", params(RepeatHeader),
    request_body = NewDelegation,
    responses((status = 201, description = "The delegation and the moved requests",
               body = DelegationMade),
              (status = 202, description = "It waits for a second admin", body = PendingChange)))]
pub async fn create(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    key: IdempotencyKey,
    Json(new): Json<NewDelegation>,
) -> Result<EngineReply, ApiError> {
    let attempt = attempt("delegations.create", "", key, &new);
    Ok(EngineReply(rule_changes::delegate(shared.app(), &caller, &attempt, new).await?))
}

#[derive(Debug, Clone, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct DelegationQuery {
    /// Defaults to you.
    #[param(value_type = Option<schema::UserId>)]
    pub owner_id: Option<UserId>,
    /// The maximum number of items.
    #[param(minimum = 1, maximum = 200, default = 50)]
    pub page_size: Option<u32>,
    /// The `next_page_token` of the previous page.
    pub page_token: Option<String>,
}

/// List delegations, yours or those of another person
#[utoipa::path(get, path = "/v1/delegations", tag = "delegations", params(DelegationQuery),
    responses((status = 200, description = "A page of active delegations, newest first",
               body = Page<Delegation>)))]
pub async fn list(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    Query(query): Query<DelegationQuery>,
) -> Result<Listing<Delegation>, ApiError> {
    let wanted = PageQuery { page_size: query.page_size, page_token: query.page_token };
    let filter = ("delegations", query.owner_id);
    let span = span(&wanted, &caller, &filter)?;
    let found = delegations::list(shared.app(), &caller, query.owner_id, span).await?;
    Ok(page(found, &caller, &filter))
}

#[derive(Debug, Clone, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ResolveQuery {
    /// Defaults to you; only admins can give another person.
    #[param(value_type = Option<schema::UserId>)]
    pub user_id: Option<UserId>,
    /// A task, to evaluate conditions and policies for.
    #[param(value_type = Option<schema::TaskRef>)]
    pub task_id: Option<TaskRef>,
}

/// Resolve who can act for a person now, and why others cannot
#[utoipa::path(get, path = "/v1/delegations/resolve", tag = "delegations", params(ResolveQuery),
    responses((status = 200,
        description = "Who acts, and every delegation path that was considered",
               body = Resolved),
              (status = 404, description = "`not_found`: no such user or task",
               body = ade_api::problem::Problem, content_type = "application/problem+json")))]
pub async fn resolve(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    Query(query): Query<ResolveQuery>,
) -> Result<Json<Resolved>, ApiError> {
    let ResolveQuery { user_id, task_id } = query;
    let task_id = match task_id {
        Some(task) => Some(ade_engine::tasks::resolve(shared.app(), &caller, task).await?),
        None => None,
    };
    Ok(Json(resolution::resolve(shared.app(), &caller, user_id, task_id).await?))
}

/// End a delegation
#[utoipa::path(delete, path = "/v1/delegations/{id}", tag = "delegations",
    params(("id" = schema::DelegationId, Path), RepeatHeader),
    responses((status = 200, description = "The final state", body = Delegation)))]
pub async fn end(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    Path(id): Path<DelegationId>,
    key: IdempotencyKey,
) -> Result<EngineReply, ApiError> {
    let attempt = attempt("delegations.end", &id.to_string(), key, &());
    Ok(EngineReply(delegations::end(shared.app(), &caller, &attempt, id).await?))
}

/// Hand an approval request over to another person
#[utoipa::path(post, path = "/v1/approvals/{id}/delegate", tag = "delegations",
    params(("id" = schema::ApprovalId, Path), RepeatHeader), request_body = HandOver,
    responses((status = 200, description = "The task with the request handed over",
               body = TaskSummary)))]
pub async fn hand_over(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    Path(id): Path<ApprovalId>,
    key: IdempotencyKey,
    Json(to): Json<HandOver>,
) -> Result<EngineReply, ApiError> {
    let attempt = attempt("delegations.hand_over", &id.to_string(), key, &to);
    Ok(EngineReply(delegations::hand_over(shared.app(), &caller, &attempt, id, to).await?))
}
