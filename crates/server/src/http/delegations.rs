//! Delegations over HTTP: who answers for whom.

use ade_api::delegations::{Delegation, DelegationMade, HandOver, NewDelegation, Resolved};
use ade_api::page::{Page, PageQuery};
use ade_api::schema;
use ade_api::tasks::TaskSummary;
use ade_core::ids::{ApprovalId, DelegationId, TaskId, UserId};
use ade_engine::ops::{delegations, resolution};
use axum::extract::State;
use serde::Deserialize;

use super::door::Known;
use super::error::Failure;
use super::extract::{IdempotencyKey, Json, Path, Query, RepeatHeader};
use super::reply::{Kept, attempt, page, span};
use super::state::Shared;

/// Let somebody answer for you, or for another
#[utoipa::path(post, path = "/v1/delegations", tag = "delegations", params(RepeatHeader),
    request_body = NewDelegation,
    responses((status = 201, description = "The delegation, and what was moved",
               body = DelegationMade)))]
pub async fn create(
    State(shared): State<Shared>,
    Known(caller): Known,
    key: IdempotencyKey,
    Json(new): Json<NewDelegation>,
) -> Result<Kept, Failure> {
    let attempt = attempt("delegations.create", "", key, &new);
    Ok(Kept(delegations::create(shared.app(), &caller, &attempt, new).await?))
}

#[derive(Debug, Clone, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct DelegationQuery {
    /// You if left out.
    #[param(value_type = Option<schema::UserId>)]
    pub owner: Option<UserId>,
    /// How many at most.
    #[param(minimum = 1, maximum = 200, default = 50)]
    pub page_size: Option<u32>,
    /// `next_page_token` of the page before.
    pub page_token: Option<String>,
}

/// See who answers for you, or for another
#[utoipa::path(get, path = "/v1/delegations", tag = "delegations", params(DelegationQuery),
    responses((status = 200, description = "A page of those that are not over, newest first",
               body = Page<Delegation>)))]
pub async fn list(
    State(shared): State<Shared>,
    Known(caller): Known,
    Query(query): Query<DelegationQuery>,
) -> Result<Json<Page<Delegation>>, Failure> {
    let wanted = PageQuery { page_size: query.page_size, page_token: query.page_token };
    let filter = ("delegations", query.owner);
    let span = span(&wanted, &caller, &filter)?;
    let found = delegations::list(shared.app(), &caller, query.owner, span).await?;
    Ok(page(found, &caller, &filter))
}

#[derive(Debug, Clone, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ResolveQuery {
    /// You if left out; another only for an admin.
    #[param(value_type = Option<schema::UserId>)]
    pub user: Option<UserId>,
    /// For one task: its conditions and rules are asked.
    #[param(value_type = Option<schema::TaskId>)]
    pub task: Option<TaskId>,
}

/// See who may act for you now, by which way, and why others may not
#[utoipa::path(get, path = "/v1/delegations/resolve", tag = "delegations", params(ResolveQuery),
    responses((status = 200, description = "Who acts, and every way that was looked at",
               body = Resolved)))]
pub async fn resolve(
    State(shared): State<Shared>,
    Known(caller): Known,
    Query(query): Query<ResolveQuery>,
) -> Result<Json<Resolved>, Failure> {
    let ResolveQuery { user, task } = query;
    Ok(Json(resolution::resolve(shared.app(), &caller, user, task).await?))
}

/// End a delegation
#[utoipa::path(delete, path = "/v1/delegations/{id}", tag = "delegations",
    params(("id" = schema::DelegationId, Path), RepeatHeader),
    responses((status = 200, description = "As it ended", body = Delegation)))]
pub async fn end(
    State(shared): State<Shared>,
    Known(caller): Known,
    Path(id): Path<DelegationId>,
    key: IdempotencyKey,
) -> Result<Kept, Failure> {
    let attempt = attempt("delegations.end", &id.to_string(), key, &());
    Ok(Kept(delegations::end(shared.app(), &caller, &attempt, id).await?))
}

/// Hand one request on to somebody else
#[utoipa::path(post, path = "/v1/approvals/{id}/delegate", tag = "delegations",
    params(("id" = schema::ApprovalId, Path), RepeatHeader), request_body = HandOver,
    responses((status = 200, description = "The task, with somebody else asked",
               body = TaskSummary)))]
pub async fn hand_over(
    State(shared): State<Shared>,
    Known(caller): Known,
    Path(id): Path<ApprovalId>,
    key: IdempotencyKey,
    Json(to): Json<HandOver>,
) -> Result<Kept, Failure> {
    let attempt = attempt("delegations.hand_over", &id.to_string(), key, &to);
    Ok(Kept(delegations::hand_over(shared.app(), &caller, &attempt, id, to).await?))
}
