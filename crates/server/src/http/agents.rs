//! Agents over HTTP: read by everybody of the tenant, registered and revoked by admins, told what
//! to do by whoever answers for them, and heard of by their heartbeats.

use ade_api::agents::{Agent, AgentBeats, AgentChange, AgentHeartbeat, AgentOrder, NewAgent};
use ade_api::page::{Page, PageQuery};
use ade_api::schema;
use ade_core::agent::Order;
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

/// Keep an agent's process and many leases alive
///
/// Every ten seconds. The answer tells what people have ordered meanwhile, and the version of the
/// configuration.
#[utoipa::path(post, path = "/v1/agents/{id}/heartbeat", tag = "agents",
    params(("id" = schema::AgentId, Path)), request_body = AgentHeartbeat,
    responses(
        (status = 200, description = "How everything stands", body = AgentBeats),
        (status = 404, description = "The session is not yours",
            body = ade_api::problem::Problem, content_type = "application/problem+json"),
        (status = 409, description = "`session_over`", body = ade_api::problem::Problem,
            content_type = "application/problem+json")))]
pub async fn heartbeat(
    State(shared): State<Shared>,
    Known(caller): Known,
    Path(id): Path<AgentId>,
    Json(beat): Json<AgentHeartbeat>,
) -> Result<Json<AgentBeats>, Failure> {
    Ok(Json(agents::heartbeat(shared.app(), &caller, id, beat).await?))
}

/// Give an agent nothing new and let it finish, since it is about to go
#[utoipa::path(post, path = "/v1/agents/{id}/drain", tag = "agents",
    params(("id" = schema::AgentId, Path), RepeatHeader), request_body = AgentOrder,
    responses((status = 200, description = "The agent", body = Agent)))]
pub async fn drain(
    State(shared): State<Shared>,
    Known(caller): Known,
    Path(id): Path<AgentId>,
    key: IdempotencyKey,
    Json(order): Json<AgentOrder>,
) -> Result<Kept, Failure> {
    let attempt = attempt("agents.drain", &id.to_string(), key, &order);
    Ok(Kept(agents::order(shared.app(), &caller, &attempt, id, Some(Order::Drain), order).await?))
}

/// Give an agent nothing new until it is resumed
#[utoipa::path(post, path = "/v1/agents/{id}/pause", tag = "agents",
    params(("id" = schema::AgentId, Path), RepeatHeader), request_body = AgentOrder,
    responses((status = 200, description = "The agent", body = Agent)))]
pub async fn pause(
    State(shared): State<Shared>,
    Known(caller): Known,
    Path(id): Path<AgentId>,
    key: IdempotencyKey,
    Json(order): Json<AgentOrder>,
) -> Result<Kept, Failure> {
    let attempt = attempt("agents.pause", &id.to_string(), key, &order);
    Ok(Kept(agents::order(shared.app(), &caller, &attempt, id, Some(Order::Pause), order).await?))
}

/// Let an agent that drains or is paused work again
#[utoipa::path(post, path = "/v1/agents/{id}/resume", tag = "agents",
    params(("id" = schema::AgentId, Path), RepeatHeader), request_body = AgentOrder,
    responses((status = 200, description = "The agent", body = Agent)))]
pub async fn resume(
    State(shared): State<Shared>,
    Known(caller): Known,
    Path(id): Path<AgentId>,
    key: IdempotencyKey,
    Json(order): Json<AgentOrder>,
) -> Result<Kept, Failure> {
    let attempt = attempt("agents.resume", &id.to_string(), key, &order);
    Ok(Kept(agents::order(shared.app(), &caller, &attempt, id, None, order).await?))
}
