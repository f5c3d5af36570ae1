//! Agents over HTTP: read by everyone in the tenant, registered and revoked by admins, ordered by
//! their owners, and kept alive by heartbeats.

use ade_api::agents::{Agent, AgentBeats, AgentChange, AgentDirective, AgentHeartbeat, NewAgent};
use ade_api::page::{Page, PageQuery};
use ade_api::pending_changes::PendingChange;
use ade_api::schema;
use ade_core::agent::OrderKind;
use ade_core::ids::AgentId;
use ade_engine::agents;
use ade_engine::rule_changes::{self, RuleChange};
use axum::extract::State;

use super::auth_layer::Authenticated;
use super::error::ApiError;
use super::extract::{IdempotencyKey, Json, Path, Query, RepeatHeader};
use super::reply::{EngineReply, Listing, attempt, page, span};
use super::state::Shared;
use super::users::ListQuery;

/// Register an agent
#[utoipa::path(post, path = "/v1/agents", tag = "agents", params(RepeatHeader),
    request_body = NewAgent,
    responses((status = 201, description = "The agent", body = Agent)))]
pub async fn create(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    key: IdempotencyKey,
    Json(new): Json<NewAgent>,
) -> Result<EngineReply, ApiError> {
    let attempt = attempt("agents.create", "", key, &new);
    Ok(EngineReply(agents::create(shared.app(), &caller, &attempt, new).await?))
}

/// List agents
#[utoipa::path(get, path = "/v1/agents", tag = "agents", params(ListQuery),
    responses((status = 200, description = "A page", body = Page<Agent>)))]
pub async fn list(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    Query(query): Query<ListQuery>,
) -> Result<Listing<Agent>, ApiError> {
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
    Authenticated(caller): Authenticated,
    Path(id): Path<AgentId>,
) -> Result<Json<Agent>, ApiError> {
    Ok(Json(agents::get(shared.app(), &caller, id).await?))
}

/// Update an agent
#[utoipa::path(patch, path = "/v1/agents/{id}", tag = "agents",
    params(("id" = schema::AgentId, Path), RepeatHeader), request_body = AgentChange,
    responses((status = 200, description = "The agent", body = Agent),
              (status = 202, description = "It waits for a second admin", body = PendingChange)))]
pub async fn change(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    Path(id): Path<AgentId>,
    key: IdempotencyKey,
    Json(change): Json<AgentChange>,
) -> Result<EngineReply, ApiError> {
    let attempt = attempt("agents.change", &id.to_string(), key, &change);
    let change = RuleChange::ChangeAgent { id, change };
    Ok(EngineReply(rule_changes::submit(shared.app(), &caller, &attempt, change).await?))
}

/// Revoke an agent permanently
#[utoipa::path(delete, path = "/v1/agents/{id}", tag = "agents",
    params(("id" = schema::AgentId, Path), RepeatHeader),
    responses((status = 200, description = "The final state", body = Agent)))]
pub async fn revoke(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    Path(id): Path<AgentId>,
    key: IdempotencyKey,
) -> Result<EngineReply, ApiError> {
    let attempt = attempt("agents.revoke", &id.to_string(), key, &());
    Ok(EngineReply(agents::revoke(shared.app(), &caller, &attempt, id).await?))
}

/// Send an agent's heartbeat for its session and leases
///
/// Every ten seconds. The response contains the directives given by people and the version of the
/// configuration.
#[utoipa::path(post, path = "/v1/agents/{id}/heartbeat", tag = "agents",
    params(("id" = schema::AgentId, Path)), request_body = AgentHeartbeat,
    responses(
        (status = 200, description = "The state of the agent's session", body = AgentBeats),
        (status = 404, description = "The session is not yours",
            body = ade_api::problem::Problem, content_type = "application/problem+json"),
        (status = 409, description = "`process_expired`", body = ade_api::problem::Problem,
            content_type = "application/problem+json")))]
pub async fn heartbeat(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    Path(id): Path<AgentId>,
    Json(beat): Json<AgentHeartbeat>,
) -> Result<Json<AgentBeats>, ApiError> {
    Ok(Json(agents::heartbeat(shared.app(), &caller, id, beat).await?))
}

/// Drain an agent: it gets no new tasks and finishes its running ones
#[utoipa::path(post, path = "/v1/agents/{id}/drain", tag = "agents",
    params(("id" = schema::AgentId, Path), RepeatHeader), request_body = AgentDirective,
    responses((status = 200, description = "The agent", body = Agent)))]
pub async fn drain(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    Path(id): Path<AgentId>,
    key: IdempotencyKey,
    Json(order): Json<AgentDirective>,
) -> Result<EngineReply, ApiError> {
    let attempt = attempt("agents.drain", &id.to_string(), key, &order);
    Ok(EngineReply(
        agents::order(shared.app(), &caller, &attempt, id, Some(OrderKind::Drain), order).await?,
    ))
}

/// Pause an agent: it gets no new tasks until it is resumed
#[utoipa::path(post, path = "/v1/agents/{id}/pause", tag = "agents",
    params(("id" = schema::AgentId, Path), RepeatHeader), request_body = AgentDirective,
    responses((status = 200, description = "The agent", body = Agent)))]
pub async fn pause(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    Path(id): Path<AgentId>,
    key: IdempotencyKey,
    Json(order): Json<AgentDirective>,
) -> Result<EngineReply, ApiError> {
    let attempt = attempt("agents.pause", &id.to_string(), key, &order);
    Ok(EngineReply(
        agents::order(shared.app(), &caller, &attempt, id, Some(OrderKind::Pause), order).await?,
    ))
}

/// Resume a draining or paused agent
#[utoipa::path(post, path = "/v1/agents/{id}/resume", tag = "agents",
    params(("id" = schema::AgentId, Path), RepeatHeader), request_body = AgentDirective,
    responses((status = 200, description = "The agent", body = Agent)))]
pub async fn resume(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    Path(id): Path<AgentId>,
    key: IdempotencyKey,
    Json(order): Json<AgentDirective>,
) -> Result<EngineReply, ApiError> {
    let attempt = attempt("agents.resume", &id.to_string(), key, &order);
    Ok(EngineReply(agents::order(shared.app(), &caller, &attempt, id, None, order).await?))
}
