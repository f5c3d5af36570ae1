//! Agents over HTTP: read by everybody of the tenant, registered and revoked by admins.

use ade_api::agents::{Agent, AgentChange, NewAgent};
use ade_api::page::{Page, PageQuery};
use ade_api::schema;
use ade_core::ids::AgentId;
use ade_engine::ops::agents;
use axum::extract::State;

use super::door::Known;
use super::error::Failure;
use super::extract::{IdempotencyKey, Json, Path, Query, RepeatHeader};
use super::reply::{Kept, attempt, page, span};
use super::state::Shared;
use super::users::ListQuery;

/// Register an agent
#[utoipa::path(post, path = "/v1/agents", tag = "agents", params(RepeatHeader),
    request_body = NewAgent,
    responses((status = 201, description = "The agent", body = Agent)))]
pub async fn create(
    State(shared): State<Shared>,
    Known(caller): Known,
    key: IdempotencyKey,
    Json(new): Json<NewAgent>,
) -> Result<Kept, Failure> {
    let attempt = attempt("agents.create", "", key, &new);
    Ok(Kept(agents::create(shared.app(), &caller, &attempt, new).await?))
}

/// List agents
#[utoipa::path(get, path = "/v1/agents", tag = "agents", params(ListQuery),
    responses((status = 200, description = "A page", body = Page<Agent>)))]
pub async fn list(
    State(shared): State<Shared>,
    Known(caller): Known,
    Query(query): Query<ListQuery>,
) -> Result<Json<Page<Agent>>, Failure> {
    let wanted = PageQuery { page_size: query.page_size, page_token: query.page_token };
    let span = span(&wanted, &caller, &"agents")?;
    Ok(page(agents::list(shared.app(), &caller, span).await?, &caller, &"agents"))
}

/// Get an agent
#[utoipa::path(get, path = "/v1/agents/{id}", tag = "agents",
    params(("id" = schema::AgentId, Path)),
    responses((status = 200, description = "The agent", body = Agent)))]
pub async fn get(
    State(shared): State<Shared>,
    Known(caller): Known,
    Path(id): Path<AgentId>,
) -> Result<Json<Agent>, Failure> {
    Ok(Json(agents::get(shared.app(), &caller, id).await?))
}

/// Change an agent
#[utoipa::path(patch, path = "/v1/agents/{id}", tag = "agents",
    params(("id" = schema::AgentId, Path), RepeatHeader), request_body = AgentChange,
    responses((status = 200, description = "The agent", body = Agent)))]
pub async fn change(
    State(shared): State<Shared>,
    Known(caller): Known,
    Path(id): Path<AgentId>,
    key: IdempotencyKey,
    Json(change): Json<AgentChange>,
) -> Result<Kept, Failure> {
    let attempt = attempt("agents.change", &id.to_string(), key, &change);
    Ok(Kept(agents::change(shared.app(), &caller, &attempt, id, change).await?))
}

/// Revoke an agent, for good
#[utoipa::path(delete, path = "/v1/agents/{id}", tag = "agents",
    params(("id" = schema::AgentId, Path), RepeatHeader),
    responses((status = 200, description = "As it ended", body = Agent)))]
pub async fn revoke(
    State(shared): State<Shared>,
    Known(caller): Known,
    Path(id): Path<AgentId>,
    key: IdempotencyKey,
) -> Result<Kept, Failure> {
    let attempt = attempt("agents.revoke", &id.to_string(), key, &());
    Ok(Kept(agents::revoke(shared.app(), &caller, &attempt, id).await?))
}
