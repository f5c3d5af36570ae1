//! Device sign-in (RFC 8628): two calls of the unauthenticated terminal, and three of the person
//! who approves it.

use ade_api::device::{
    DeviceApproval, DeviceLogin, DevicePoll, DeviceRequest, DeviceToken, NewDeviceLogin,
};
use ade_api::problem::Problem;
use ade_engine::error;
use ade_engine::identity::device;
use axum::extract::State;

use super::auth_layer::Authenticated;
use super::error::ApiError;
use super::extract::{CallOrigin, IdempotencyKey, Json, Path, RepeatHeader};
use super::reply::{EngineReply, attempt};
use super::state::Shared;

/// Counts device sign-ins by outcome.
fn count(outcome: &'static str) {
    metrics::counter!("ade_device_logins_total", "outcome" => outcome).increment(1);
}

/// Start a device sign-in
///
/// For programs without a browser. Show the person `user_code` and `verification_uri`, then poll
/// `POST /auth/device/token` every `interval` seconds.
#[utoipa::path(post, path = "/auth/device", tag = "device", request_body = NewDeviceLogin,
    responses(
        (status = 200, description = "The user code to show and the device code to poll with",
            body = DeviceLogin),
        (status = 409,
            description = "`conflict`: the code was just taken by another request; retry",
         body = Problem, content_type = "application/problem+json"),
        (status = 429, description = "`rate_limited`: too many pending sign-ins from this address",
         body = Problem, content_type = "application/problem+json")
    ))]
pub async fn begin(
    State(shared): State<Shared>,
    CallOrigin(place): CallOrigin,
    Json(new): Json<NewDeviceLogin>,
) -> Result<Json<DeviceLogin>, ApiError> {
    let begun = device::begin(shared.app(), new, &place).await?;
    count("begun");
    Ok(Json(begun))
}

/// Poll a device sign-in
///
/// The token is returned once.
#[utoipa::path(post, path = "/auth/device/token", tag = "device", request_body = DevicePoll,
    responses(
        (status = 200, description = "The person's token", body = DeviceToken),
        (status = 400, description = "`authorization_pending`: the sign-in is not approved yet; \
                                      `slow_down`: polling too fast; `expired_token`: no \
                                      sign-in is pending for this code; `access_denied`: the \
                                      sign-in was denied; `malformed_body`: the body is not \
                                      valid JSON",
         body = Problem, content_type = "application/problem+json"),
        (status = 409, description = "`too_many_tokens`: the person has two active tokens",
         body = Problem, content_type = "application/problem+json")
    ))]
pub async fn token(
    State(shared): State<Shared>,
    CallOrigin(place): CallOrigin,
    Json(poll): Json<DevicePoll>,
) -> Result<Json<DeviceToken>, ApiError> {
    let issued = device::poll(shared.app(), &poll.device_code, place).await;
    match &issued {
        Ok(_) => count("issued"),
        Err(ade_engine::Error::Device(error::DeviceRefusal::SlowDown { .. })) => {
            count("slowed_down");
        }
        Err(_) => {}
    }
    Ok(Json(issued?))
}

/// Get a pending device sign-in
#[utoipa::path(get, path = "/v1/device/{user_code}", tag = "device", operation_id = "get",
    params(("user_code" = String, Path, max_length = 32)),
    responses((status = 200, description = "The pending sign-in",
               body = DeviceRequest)))]
pub async fn show(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    Path(code): Path<String>,
) -> Result<Json<DeviceRequest>, ApiError> {
    Ok(Json(device::show(shared.app(), &caller, &code).await?))
}

/// Approve a device sign-in
///
/// The terminal gets a token of yours, with the scopes that you give.
#[utoipa::path(post, path = "/v1/device/{user_code}/approve", tag = "device",
    params(("user_code" = String, Path, max_length = 32), RepeatHeader),
    request_body = DeviceApproval,
    responses((status = 200, description = "The terminal is signed in", body = DeviceRequest)))]
pub async fn approve(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    Path(code): Path<String>,
    key: IdempotencyKey,
    Json(wanted): Json<DeviceApproval>,
) -> Result<EngineReply, ApiError> {
    let attempt = attempt("device.approve", &code, key, &wanted);
    let reply = device::approve(shared.app(), &caller, &attempt, &code, &wanted).await?;
    count("approved");
    Ok(EngineReply(reply))
}

/// Deny a device sign-in
#[utoipa::path(post, path = "/v1/device/{user_code}/deny", tag = "device",
    params(("user_code" = String, Path, max_length = 32), RepeatHeader),
    responses((status = 200, description = "The sign-in is denied", body = DeviceRequest)))]
pub async fn deny(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    Path(code): Path<String>,
    key: IdempotencyKey,
) -> Result<EngineReply, ApiError> {
    let attempt = attempt("device.deny", &code, key, &());
    let reply = device::deny(shared.app(), &caller, &attempt, &code).await?;
    count("denied");
    Ok(EngineReply(reply))
}
