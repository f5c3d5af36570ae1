//! What a tenant sets itself, over HTTP: how risk is rated, how long things may take, and flags by
//! name.

use ade_api::schema;
use ade_api::settings::{
    FlagShown, Flags, NewRiskSettings, NewTimes, RiskSettings, SetFlag, Times,
};
use ade_core::flag::Flag;
use ade_engine::ops::settings;
use axum::extract::State;

use super::door::Known;
use super::error::Failure;
use super::extract::{IdempotencyKey, IfMatch, Json, Path, RepeatHeader, VersionHeader};
use super::reply::{Kept, Tagged, attempt};
use super::state::Shared;

/// See how risk is rated
#[utoipa::path(get, path = "/v1/risk/settings", tag = "settings",
    responses((status = 200, description = "Weights, thresholds and patterns; `version` goes \
               into `If-Match`", body = RiskSettings)))]
pub async fn risk(
    State(shared): State<Shared>,
    Known(caller): Known,
) -> Result<Tagged<RiskSettings>, Failure> {
    let found = settings::risk(shared.app(), &caller).await?;
    Ok(Tagged(found.version, found))
}

/// Set how risk is rated from now on
#[utoipa::path(put, path = "/v1/risk/settings", tag = "settings",
    params(VersionHeader, RepeatHeader), request_body = NewRiskSettings,
    responses((status = 200, description = "The new version", body = RiskSettings)))]
pub async fn set_risk(
    State(shared): State<Shared>,
    Known(caller): Known,
    IfMatch(version): IfMatch,
    key: IdempotencyKey,
    Json(new): Json<NewRiskSettings>,
) -> Result<Kept, Failure> {
    let attempt = attempt("settings.set_risk", &version.to_string(), key, &new);
    Ok(Kept(settings::set_risk(shared.app(), &caller, &attempt, version, new).await?))
}

/// See how long things may take
#[utoipa::path(get, path = "/v1/times", tag = "settings",
    responses((status = 200, description = "Leases, reviews and attempts; `version` goes into \
               `If-Match`", body = Times)))]
pub async fn times(
    State(shared): State<Shared>,
    Known(caller): Known,
) -> Result<Tagged<Times>, Failure> {
    let found = settings::times(shared.app(), &caller).await?;
    Ok(Tagged(found.version, found))
}

/// Set how long things may take from now on
#[utoipa::path(put, path = "/v1/times", tag = "settings",
    params(VersionHeader, RepeatHeader), request_body = NewTimes,
    responses((status = 200, description = "The new version", body = Times)))]
pub async fn set_times(
    State(shared): State<Shared>,
    Known(caller): Known,
    IfMatch(version): IfMatch,
    key: IdempotencyKey,
    Json(new): Json<NewTimes>,
) -> Result<Kept, Failure> {
    let attempt = attempt("settings.set_times", &version.to_string(), key, &new);
    Ok(Kept(settings::set_times(shared.app(), &caller, &attempt, version, new).await?))
}

/// See what is switched on
#[utoipa::path(get, path = "/v1/flags", tag = "settings",
    responses((status = 200, description = "Every flag there is", body = Flags)))]
pub async fn flags(
    State(shared): State<Shared>,
    Known(caller): Known,
) -> Result<Json<Flags>, Failure> {
    Ok(Json(settings::flags(shared.app(), &caller).await?))
}

/// Switch a flag on or off
#[utoipa::path(put, path = "/v1/flags/{name}", tag = "settings",
    params(("name" = schema::Flag, Path), RepeatHeader), request_body = SetFlag,
    responses((status = 200, description = "The flag as it is now", body = FlagShown)))]
pub async fn set_flag(
    State(shared): State<Shared>,
    Known(caller): Known,
    Path(flag): Path<Flag>,
    key: IdempotencyKey,
    Json(set): Json<SetFlag>,
) -> Result<Kept, Failure> {
    let attempt = attempt("settings.set_flag", flag.as_str(), key, &set);
    Ok(Kept(settings::set_flag(shared.app(), &caller, &attempt, flag, set).await?))
}
