//! What agents are set up with, over HTTP: read by the agent itself, written by whoever answers
//! for it.

use ade_api::agent_configs::{
    AgentConfig, AgentConfigDifference, AgentConfigRollback, AgentConfigVersions, NewAgentConfig,
};
use ade_api::schema;
use ade_core::ids::AgentId;
use ade_engine::ops::agents;
use axum::extract::State;
use serde::Deserialize;
use utoipa::IntoParams;

use super::door::Known;
use super::error::Failure;
use super::extract::{IdempotencyKey, IfMatch, Json, Path, Query, RepeatHeader, VersionHeader};
use super::reply::{Kept, Tagged, attempt};
use super::state::Shared;

/// See what an agent is set up with
#[utoipa::path(get, path = "/v1/agents/{id}/config", tag = "agents",
    params(("id" = schema::AgentId, Path)),
    responses((status = 200, description = "The version in force; it goes into `If-Match`",
               body = AgentConfig)))]
pub async fn config(
    State(shared): State<Shared>,
    Known(caller): Known,
    Path(id): Path<AgentId>,
) -> Result<Tagged<AgentConfig>, Failure> {
    let found = agents::config(shared.app(), &caller, id).await?;
    Ok(Tagged(found.version.into(), found))
}

/// Set an agent up anew, as its next version
#[utoipa::path(put, path = "/v1/agents/{id}/config", tag = "agents",
    params(("id" = schema::AgentId, Path), VersionHeader, RepeatHeader),
    request_body = NewAgentConfig,
    responses((status = 200, description = "The new version", body = AgentConfig)))]
pub async fn configure(
    State(shared): State<Shared>,
    Known(caller): Known,
    Path(id): Path<AgentId>,
    IfMatch(version): IfMatch,
    key: IdempotencyKey,
    Json(new): Json<NewAgentConfig>,
) -> Result<Kept, Failure> {
    let attempt = attempt("agents.configure", &format!("{id} {version}"), key, &new);
    Ok(Kept(agents::configure(shared.app(), &caller, &attempt, id, version, new).await?))
}

/// List the versions of an agent's configuration
#[utoipa::path(get, path = "/v1/agents/{id}/config/versions", tag = "agents",
    params(("id" = schema::AgentId, Path)),
    responses((status = 200, description = "Who set which, and why",
               body = AgentConfigVersions)))]
pub async fn config_versions(
    State(shared): State<Shared>,
    Known(caller): Known,
    Path(id): Path<AgentId>,
) -> Result<Json<AgentConfigVersions>, Failure> {
    Ok(Json(agents::config_versions(shared.app(), &caller, id).await?))
}

#[derive(Debug, Clone, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct DifferenceQuery {
    /// Another version, or 0 for the empty configuration; the one before if left out.
    pub against: Option<u32>,
}

/// See what a version of an agent's configuration changed
#[utoipa::path(get, path = "/v1/agents/{id}/config/versions/{version}/diff", tag = "agents",
    params(("id" = schema::AgentId, Path), ("version" = u32, Path), DifferenceQuery),
    responses((status = 200, description = "Field by field", body = AgentConfigDifference)))]
pub async fn config_difference(
    State(shared): State<Shared>,
    Known(caller): Known,
    Path((id, version)): Path<(AgentId, u32)>,
    Query(query): Query<DifferenceQuery>,
) -> Result<Json<AgentConfigDifference>, Failure> {
    let against = query.against;
    Ok(Json(agents::config_difference(shared.app(), &caller, id, version, against).await?))
}

/// Bring back an old version of an agent's configuration, as its next
#[utoipa::path(post, path = "/v1/agents/{id}/config/rollback", tag = "agents",
    params(("id" = schema::AgentId, Path), RepeatHeader), request_body = AgentConfigRollback,
    responses((status = 200, description = "The new version", body = AgentConfig)))]
pub async fn roll_back_config(
    State(shared): State<Shared>,
    Known(caller): Known,
    Path(id): Path<AgentId>,
    key: IdempotencyKey,
    Json(rollback): Json<AgentConfigRollback>,
) -> Result<Kept, Failure> {
    let attempt = attempt("agents.roll_back_config", &id.to_string(), key, &rollback);
    Ok(Kept(agents::roll_back_config(shared.app(), &caller, &attempt, id, rollback).await?))
}
