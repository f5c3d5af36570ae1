//! Duties over HTTP: set by operators, seen by everybody.

use ade_api::on_call::{Duties, Duty, NewDuty};
use ade_api::schema;
use ade_core::ids::DutyId;
use ade_engine::ops::on_call;
use axum::extract::State;

use super::door::Known;
use super::error::Failure;
use super::extract::{IdempotencyKey, Json, Path, RepeatHeader};
use super::reply::{Kept, attempt};
use super::state::Shared;

/// See who is on duty
#[utoipa::path(get, path = "/v1/on-call", tag = "on_call",
    responses((status = 200, description = "Those that are not over", body = Duties)))]
pub async fn list(
    State(shared): State<Shared>,
    Known(caller): Known,
) -> Result<Json<Duties>, Failure> {
    Ok(Json(on_call::list(shared.app(), &caller).await?))
}

/// Put somebody on duty for a role
///
/// While somebody is, an escalation that tells a role reaches them and not everybody who holds it.
#[utoipa::path(post, path = "/v1/on-call", tag = "on_call", params(RepeatHeader),
    request_body = NewDuty,
    responses((status = 201, description = "The duty", body = Duty)))]
pub async fn create(
    State(shared): State<Shared>,
    Known(caller): Known,
    key: IdempotencyKey,
    Json(new): Json<NewDuty>,
) -> Result<Kept, Failure> {
    let attempt = attempt("on_call.create", "", key, &new);
    Ok(Kept(on_call::create(shared.app(), &caller, &attempt, new).await?))
}

/// Take somebody off duty
#[utoipa::path(delete, path = "/v1/on-call/{id}", tag = "on_call",
    params(("id" = schema::DutyId, Path), RepeatHeader),
    responses((status = 200, description = "As it was", body = Duty)))]
pub async fn delete(
    State(shared): State<Shared>,
    Known(caller): Known,
    Path(id): Path<DutyId>,
    key: IdempotencyKey,
) -> Result<Kept, Failure> {
    let attempt = attempt("on_call.delete", &id.to_string(), key, &());
    Ok(Kept(on_call::delete(shared.app(), &caller, &attempt, id).await?))
}
