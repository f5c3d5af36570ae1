//! On-call duties over HTTP: set by operators, visible to everyone.

use ade_api::on_call::{Duties, Duty, NewDuty};
use ade_api::schema;
use ade_core::ids::DutyId;
use ade_engine::notifications::on_call;
use axum::extract::State;

use super::auth_layer::Authenticated;
use super::error::ApiError;
use super::extract::{IdempotencyKey, Json, Path, RepeatHeader};
use super::reply::{EngineReply, attempt};
use super::state::Shared;

/// List on-call duties
#[utoipa::path(get, path = "/v1/on-call", tag = "on_call",
    responses((status = 200, description = "The duties that have not ended", body = Duties)))]
pub async fn list(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
) -> Result<Json<Duties>, ApiError> {
    Ok(Json(on_call::list(shared.app(), &caller).await?))
}

/// Create an on-call duty
///
/// During a duty, an escalation to the role notifies the person on duty instead of everyone with
/// the role.
#[utoipa::path(post, path = "/v1/on-call", tag = "on_call", params(RepeatHeader),
    request_body = NewDuty,
    responses((status = 201, description = "The duty", body = Duty)))]
pub async fn create(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    key: IdempotencyKey,
    Json(new): Json<NewDuty>,
) -> Result<EngineReply, ApiError> {
    let attempt = attempt("on_call.create", "", key, &new);
    Ok(EngineReply(on_call::create(shared.app(), &caller, &attempt, new).await?))
}

/// Delete an on-call duty
#[utoipa::path(delete, path = "/v1/on-call/{id}", tag = "on_call",
    params(("id" = schema::DutyId, Path), RepeatHeader),
    responses((status = 200, description = "The state before removal", body = Duty)))]
pub async fn delete(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    Path(id): Path<DutyId>,
    key: IdempotencyKey,
) -> Result<EngineReply, ApiError> {
    let attempt = attempt("on_call.delete", &id.to_string(), key, &());
    Ok(EngineReply(on_call::delete(shared.app(), &caller, &attempt, id).await?))
}
