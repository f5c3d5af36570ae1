//! Passkeys over HTTP, and the confirmation of a decision with a passkey.

use ade_api::passkeys::{
    NewPasskey, Passkey, PasskeyAnswer, PasskeyOffer, Passkeys, StepUp, StepUpAnswer,
    StepUpQuestion, StepUpSubject,
};
use ade_api::pending_changes::PendingChange;
use ade_api::problem::Problem;
use ade_api::schema;
use ade_core::ids::{PasskeyId, StepUpId, UserId};
use ade_engine::identity::step_up::StepUpGrant;
use ade_engine::identity::{passkeys, step_up};
use ade_engine::rule_changes::{self, RuleChange};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};

use super::auth_layer::Authenticated;
use super::cookie;
use super::error::ApiError;
use super::extract::{IdempotencyKey, Json, Path, RepeatHeader};
use super::reply::{EngineReply, attempt};
use super::state::Shared;

/// List your passkeys
#[utoipa::path(get, path = "/v1/passkeys", tag = "passkeys",
    responses((status = 200, description = "The oldest first", body = Passkeys),
              (status = 404, description = "`not_found`: only people have passkeys",
               body = Problem, content_type = "application/problem+json")))]
pub async fn list(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
) -> Result<Json<Passkeys>, ApiError> {
    Ok(Json(passkeys::list(shared.app(), &caller).await?))
}

/// Start to register a passkey
///
/// If you already have a passkey, confirm with it first. A later call replaces this one.
#[utoipa::path(post, path = "/v1/passkeys", tag = "passkeys",
    operation_id = "begin", request_body = NewPasskey,
    responses((status = 201, description = "The challenge for the new passkey",
        body = PasskeyOffer),
              (status = 409, description = "`too_many`, `passkeys_off`", body = Problem,
               content_type = "application/problem+json")))]
pub async fn offer(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    Json(new): Json<NewPasskey>,
) -> Result<(StatusCode, Json<PasskeyOffer>), ApiError> {
    let offer = passkeys::offer(shared.app(), &caller, new).await?;
    Ok((StatusCode::CREATED, Json(offer)))
}

/// Register a passkey
///
/// In the session that started the registration, within five minutes.
#[utoipa::path(post, path = "/v1/passkeys/{id}", tag = "passkeys",
    params(("id" = schema::PasskeyId, Path), RepeatHeader), request_body = PasskeyAnswer,
    responses((status = 201, description = "The new passkey", body = Passkey),
              (status = 409, description = "`already_exists`, `too_many`, `passkeys_off`",
               body = Problem, content_type = "application/problem+json"),
              (status = 422, description = "`passkey_refused`, `invalid_body`", body = Problem,
               content_type = "application/problem+json")))]
pub async fn add(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    Path(id): Path<PasskeyId>,
    key: IdempotencyKey,
    Json(answer): Json<PasskeyAnswer>,
) -> Result<EngineReply, ApiError> {
    let attempt = attempt("passkeys.add", &id.to_string(), key, &answer);
    Ok(EngineReply(passkeys::add(shared.app(), &caller, &attempt, id, answer).await?))
}

/// Remove one of your passkeys
///
/// Requires confirmation with any of your passkeys, including this one.
#[utoipa::path(delete, path = "/v1/passkeys/{id}", tag = "passkeys",
    params(("id" = schema::PasskeyId, Path), RepeatHeader),
    responses((status = 200, description = "The state before removal", body = Passkey)))]
pub async fn remove(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    Path(id): Path<PasskeyId>,
    key: IdempotencyKey,
) -> Result<EngineReply, ApiError> {
    let attempt = attempt("passkeys.remove", &id.to_string(), key, &());
    Ok(EngineReply(passkeys::remove(shared.app(), &caller, &attempt, id).await?))
}

/// Remove all passkeys of a person who has lost them
#[utoipa::path(delete, path = "/v1/users/{id}/passkeys", tag = "passkeys",
    params(("id" = schema::UserId, Path), RepeatHeader),
    responses((status = 200, description = "The deleted passkey", body = Passkeys),
              (status = 202, description = "It waits for a second admin", body = PendingChange)))]
pub async fn reset(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    Path(id): Path<UserId>,
    key: IdempotencyKey,
) -> Result<EngineReply, ApiError> {
    let attempt = attempt("passkeys.reset", &id.to_string(), key, &());
    let change = RuleChange::ResetPasskeys { id };
    Ok(EngineReply(rule_changes::submit(shared.app(), &caller, &attempt, change).await?))
}

/// Start a passkey confirmation
///
/// For one decision, given by `step_up` of the refusal.
#[utoipa::path(post, path = "/v1/step-up", tag = "step_up",
    operation_id = "begin", request_body = StepUpSubject,
    responses((status = 201, description = "The challenge for the passkey", body = StepUpQuestion),
              (status = 403, description = "`step_up_required`: you have no passkey",
               body = Problem, content_type = "application/problem+json"),
              (status = 409, description = "`passkeys_off`", body = Problem,
               content_type = "application/problem+json")))]
pub async fn ask(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    Json(asked): Json<StepUpSubject>,
) -> Result<(StatusCode, Json<StepUpQuestion>), ApiError> {
    let question = step_up::ask(shared.app(), &caller, asked).await?;
    Ok((StatusCode::CREATED, Json(question)))
}

/// Complete a passkey confirmation
///
/// Valid for five minutes, for exactly one decision, in the same session. Browsers continue with
/// the new session cookie; the previous one is invalid.
#[utoipa::path(post, path = "/v1/step-up/{id}", tag = "step_up", operation_id = "confirm",
    params(("id" = schema::StepUpId, Path)), request_body = StepUpAnswer,
    responses((status = 200, description = "The confirmation", body = StepUp),
              (status = 409,
                  description = "`closed`: the confirmation was already answered or has expired",
               body = Problem, content_type = "application/problem+json"),
              (status = 422, description = "`passkey_refused`, `invalid_body`", body = Problem,
               content_type = "application/problem+json")))]
pub async fn give(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    Path(id): Path<StepUpId>,
    Json(answer): Json<StepUpAnswer>,
) -> Result<Response, ApiError> {
    let StepUpGrant { step_up, session } = step_up::give(shared.app(), &caller, id, answer).await?;
    let answer = Json(step_up).into_response();
    Ok(match session {
        Some(session) => cookie::with_session(answer, &session),
        None => answer,
    })
}
