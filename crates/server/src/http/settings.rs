//! The settings of a tenant over HTTP: risk, timeouts and feature flags.

use ade_api::pending_changes::PendingChange;
use ade_api::schema;
use ade_api::settings::{
    FlagShown, Flags, NewRiskSettings, NewTimeouts, RiskSettings, SetFlag, Timeouts,
};
use ade_core::flag::Flag;
use ade_engine::policies::settings;
use ade_engine::rule_changes::{self, RuleChange};
use axum::extract::State;

use super::auth_layer::Authenticated;
use super::error::ApiError;
use super::extract::{IdempotencyKey, IfMatch, Json, Path, RepeatHeader, VersionHeader};
use super::reply::{EngineReply, Tagged, attempt};
use super::state::Shared;

/// Get the risk settings
#[utoipa::path(get, path = "/v1/risk/settings", tag = "settings", operation_id = "get_risk",
    responses((status = 200, description = "Weights, thresholds and patterns; `version` goes \
               into `If-Match`", body = RiskSettings)))]
pub async fn risk(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
) -> Result<Tagged<RiskSettings>, ApiError> {
    let found = settings::risk(shared.app(), &caller).await?;
    Ok(Tagged(found.version, found))
}

/// Set the risk settings
#[utoipa::path(put, path = "/v1/risk/settings", tag = "settings",
    params(VersionHeader, RepeatHeader), request_body = NewRiskSettings,
    responses((status = 200, description = "The new version", body = RiskSettings),
              (status = 202, description = "It waits for a second admin", body = PendingChange)))]
pub async fn set_risk(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    IfMatch(version): IfMatch,
    key: IdempotencyKey,
    Json(new): Json<NewRiskSettings>,
) -> Result<EngineReply, ApiError> {
    let attempt = attempt("settings.set_risk", &version.to_string(), key, &new);
    let change = RuleChange::SetRisk { expected: version, new };
    Ok(EngineReply(rule_changes::submit(shared.app(), &caller, &attempt, change).await?))
}

/// Get the timeouts
#[utoipa::path(get, path = "/v1/settings/timeouts", tag = "settings", operation_id = "get_timeouts",
    responses((status = 200, description = "Leases, reviews and attempts; `version` goes into \
               `If-Match`", body = Timeouts)))]
pub async fn timeouts(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
) -> Result<Tagged<Timeouts>, ApiError> {
    let found = settings::timeouts(shared.app(), &caller).await?;
    Ok(Tagged(found.version, found))
}

/// Set the timeouts
#[utoipa::path(put, path = "/v1/settings/timeouts", tag = "settings",
    params(VersionHeader, RepeatHeader), request_body = NewTimeouts,
    responses((status = 200, description = "The new version", body = Timeouts),
              (status = 202, description = "It waits for a second admin", body = PendingChange)))]
pub async fn set_timeouts(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    IfMatch(version): IfMatch,
    key: IdempotencyKey,
    Json(new): Json<NewTimeouts>,
) -> Result<EngineReply, ApiError> {
    let attempt = attempt("settings.set_timeouts", &version.to_string(), key, &new);
    let change = RuleChange::SetTimeouts { expected: version, new };
    Ok(EngineReply(rule_changes::submit(shared.app(), &caller, &attempt, change).await?))
}

/// List the feature flags
#[utoipa::path(get, path = "/v1/flags", tag = "settings", operation_id = "list_flags",
    responses((status = 200, description = "All flags", body = Flags)))]
pub async fn flags(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
) -> Result<Json<Flags>, ApiError> {
    Ok(Json(settings::flags(shared.app(), &caller).await?))
}

/// Set a feature flag
#[utoipa::path(put, path = "/v1/flags/{name}", tag = "settings",
    params(("name" = schema::Flag, Path), RepeatHeader), request_body = SetFlag,
    responses((status = 200, description = "The updated flag", body = FlagShown),
              (status = 202, description = "It waits for a second admin", body = PendingChange)))]
pub async fn set_flag(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    Path(flag): Path<Flag>,
    key: IdempotencyKey,
    Json(set): Json<SetFlag>,
) -> Result<EngineReply, ApiError> {
    let attempt = attempt("settings.set_flag", flag.as_str(), key, &set);
    let change = RuleChange::SetFlag { flag, set };
    Ok(EngineReply(rule_changes::submit(shared.app(), &caller, &attempt, change).await?))
}
