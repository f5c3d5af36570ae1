//! Signing a terminal in from a browser (RFC 8628): two calls of the terminal, which nobody knows
//! yet, and three of the person who lets it in.

use ade_api::device::{
    DeviceApproval, DeviceLogin, DevicePoll, DeviceRequest, DeviceToken, NewDeviceLogin,
};
use ade_api::problem::Problem;
use ade_engine::ops::device;
use axum::extract::State;

use super::door::Known;
use super::error::Failure;
use super::extract::{IdempotencyKey, Json, Path, Place, RepeatHeader};
use super::reply::{Kept, attempt};
use super::state::Shared;

/// How often what happened.
fn count(outcome: &'static str) {
    metrics::counter!("ade_device_logins_total", "outcome" => outcome).increment(1);
}

/// Ask to be let in
///
/// For a program without a browser of its own. Show the person `user_code` and `verification_uri`,
/// then ask `POST /auth/device/token` every `interval` seconds.
#[utoipa::path(post, path = "/auth/device", tag = "device", request_body = NewDeviceLogin,
    responses(
        (status = 200, description = "Two codes: one to show, one to ask with", body = DeviceLogin),
        (status = 409, description = "`conflict`: Somebody else has just got this code",
         body = Problem, content_type = "application/problem+json"),
        (status = 429, description = "`rate_limited`: Too many from this address wait already",
         body = Problem, content_type = "application/problem+json")
    ))]
pub async fn begin(
    State(shared): State<Shared>,
    Place(place): Place,
    Json(new): Json<NewDeviceLogin>,
) -> Result<Json<DeviceLogin>, Failure> {
    let begun = device::begin(shared.app(), new, &place).await?;
    count("begun");
    Ok(Json(begun))
}

/// Ask whether somebody has answered
///
/// The token is in one answer only.
#[utoipa::path(post, path = "/auth/device/token", tag = "device", request_body = DevicePoll,
    responses(
        (status = 200, description = "The person's token", body = DeviceToken),
        (status = 400, description = "`authorization_pending`: Nobody has answered yet; \
         `slow_down`: It asks too often; `expired_token`: No sign-in waits for this code; \
         `access_denied`: The person said no; `malformed_body`: The body is not acceptable JSON",
         body = Problem, content_type = "application/problem+json"),
        (status = 409, description = "`too_many_tokens`: The person has got two tokens meanwhile",
         body = Problem, content_type = "application/problem+json")
    ))]
pub async fn token(
    State(shared): State<Shared>,
    Place(place): Place,
    Json(poll): Json<DevicePoll>,
) -> Result<Json<DeviceToken>, Failure> {
    let issued = device::poll(shared.app(), &poll.device_code, place).await;
    match &issued {
        Ok(_) => count("issued"),
        Err(ade_engine::Error::Device(device::DeviceRefusal::SlowDown { .. })) => {
            count("slowed_down");
        }
        Err(_) => {}
    }
    Ok(Json(issued?))
}

/// See who asks to be let in as you
#[utoipa::path(get, path = "/v1/device/{user_code}", tag = "device",
    params(("user_code" = String, Path, max_length = 32)),
    responses((status = 200, description = "Who asks, from where, since when",
               body = DeviceRequest)))]
pub async fn show(
    State(shared): State<Shared>,
    Known(caller): Known,
    Path(code): Path<String>,
) -> Result<Json<DeviceRequest>, Failure> {
    Ok(Json(device::show(shared.app(), &caller, &code).await?))
}

/// Let it in as you
///
/// It gets a token of yours, with the scopes that you name.
#[utoipa::path(post, path = "/v1/device/{user_code}/approve", tag = "device",
    params(("user_code" = String, Path, max_length = 32), RepeatHeader),
    request_body = DeviceApproval,
    responses((status = 200, description = "It is let in", body = DeviceRequest)))]
pub async fn approve(
    State(shared): State<Shared>,
    Known(caller): Known,
    Path(code): Path<String>,
    key: IdempotencyKey,
    Json(wanted): Json<DeviceApproval>,
) -> Result<Kept, Failure> {
    let attempt = attempt("device.approve", &code, key, &wanted);
    let reply = device::approve(shared.app(), &caller, &attempt, &code, &wanted).await?;
    count("approved");
    Ok(Kept(reply))
}

/// Turn it away
#[utoipa::path(post, path = "/v1/device/{user_code}/deny", tag = "device",
    params(("user_code" = String, Path, max_length = 32), RepeatHeader),
    responses((status = 200, description = "It gets nothing", body = DeviceRequest)))]
pub async fn deny(
    State(shared): State<Shared>,
    Known(caller): Known,
    Path(code): Path<String>,
    key: IdempotencyKey,
) -> Result<Kept, Failure> {
    let attempt = attempt("device.deny", &code, key, &());
    let reply = device::deny(shared.app(), &caller, &attempt, &code).await?;
    count("denied");
    Ok(Kept(reply))
}
