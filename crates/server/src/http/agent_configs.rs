//! Agent configurations over HTTP: read by the agent itself, written by its owner.

use ade_api::agent_configs::{
    AgentConfig, AgentConfigDifference, AgentConfigRollback, AgentConfigVersions, NewAgentConfig,
};
use ade_api::schema;
use ade_core::ids::AgentId;
use ade_engine::agents;
use axum::extract::State;
use serde::Deserialize;
use utoipa::IntoParams;

use super::auth_layer::Authenticated;
use super::error::ApiError;
use super::extract::{IdempotencyKey, IfMatch, Json, Path, Query, RepeatHeader, VersionHeader};
use super::reply::{EngineReply, Tagged, attempt};
use super::state::Shared;

/// Get an agent's configuration
#[utoipa::path(get, path = "/v1/agents/{id}/config", tag = "agents", operation_id = "get_config",
    params(("id" = schema::AgentId, Path)),
    responses((status = 200, description = "The active version, to be sent in `If-Match`",
               body = AgentConfig)))]
pub async fn config(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    Path(id): Path<AgentId>,
) -> Result<Tagged<AgentConfig>, ApiError> {
    let found = agents::config(shared.app(), &caller, id).await?;
    Ok(Tagged(found.version.into(), found))
}

/// Set an agent's configuration, as a new version
#[utoipa::path(put, path = "/v1/agents/{id}/config", tag = "agents", operation_id = "set_config",
    params(("id" = schema::AgentId, Path), VersionHeader, RepeatHeader),
    request_body = NewAgentConfig,
    responses((status = 200, description = "The new version", body = AgentConfig)))]
pub async fn configure(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    Path(id): Path<AgentId>,
    IfMatch(version): IfMatch,
    key: IdempotencyKey,
    Json(new): Json<NewAgentConfig>,
) -> Result<EngineReply, ApiError> {
    let attempt = attempt("agents.configure", &format!("{id} {version}"), key, &new);
    Ok(EngineReply(agents::configure(shared.app(), &caller, &attempt, id, version, new).await?))
}

/// List the versions of an agent's configuration
#[utoipa::path(get, path = "/v1/agents/{id}/config/versions", tag = "agents",
    operation_id = "list_config_versions",
    params(("id" = schema::AgentId, Path)),
    responses((status = 200, description = "The versions with author and reason",
               body = AgentConfigVersions)))]
pub async fn config_versions(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    Path(id): Path<AgentId>,
) -> Result<Json<AgentConfigVersions>, ApiError> {
    Ok(Json(agents::config_versions(shared.app(), &caller, id).await?))
}

#[derive(Debug, Clone, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct DifferenceQuery {
    /// The version to compare with, or 0 for the empty configuration; defaults to the previous
    /// version.
    pub against: Option<u32>,
}

/// Show the changes of a version of an agent's configuration
#[utoipa::path(get, path = "/v1/agents/{id}/config/versions/{version}/diff", tag = "agents",
    operation_id = "compare_configs",
    params(("id" = schema::AgentId, Path), ("version" = u32, Path), DifferenceQuery),
    responses((status = 200, description = "The differences by field",
        body = AgentConfigDifference)))]
pub async fn config_difference(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    Path((id, version)): Path<(AgentId, u32)>,
    Query(query): Query<DifferenceQuery>,
) -> Result<Json<AgentConfigDifference>, ApiError> {
    let against = query.against;
    Ok(Json(agents::config_difference(shared.app(), &caller, id, version, against).await?))
}

/// Restore an earlier version of an agent's configuration, as a new version
#[utoipa::path(post, path = "/v1/agents/{id}/config/rollback", tag = "agents",
    params(("id" = schema::AgentId, Path), RepeatHeader), request_body = AgentConfigRollback,
    responses((status = 200, description = "The new version", body = AgentConfig)))]
pub async fn roll_back_config(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    Path(id): Path<AgentId>,
    key: IdempotencyKey,
    Json(rollback): Json<AgentConfigRollback>,
) -> Result<EngineReply, ApiError> {
    let attempt = attempt("agents.roll_back_config", &id.to_string(), key, &rollback);
    Ok(EngineReply(agents::roll_back_config(shared.app(), &caller, &attempt, id, rollback).await?))
}
