//! Passkeys over HTTP, and their word for one decision: a question, and where its answer goes.

use ade_api::passkeys::{
    NewPasskey, Passkey, PasskeyAnswer, PasskeyOffer, Passkeys, StepUp, StepUpAnswer,
    StepUpQuestion, StepUpSubject, StepUpThing,
};
use ade_api::problem::Problem;
use ade_api::schema;
use ade_core::ids::{PasskeyId, StepUpId, UserId};
use ade_core::step_up::Thing;
use ade_engine::Unconfirmed;
use ade_engine::ops::step_up::Given;
use ade_engine::ops::{passkeys, step_up};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};

use super::cookie;
use super::door::Known;
use super::error::Failure;
use super::extract::{IdempotencyKey, Json, Path, RepeatHeader};
use super::reply::{Kept, attempt};
use super::state::Shared;

/// List your passkeys
#[utoipa::path(get, path = "/v1/passkeys", tag = "passkeys",
    responses((status = 200, description = "The oldest first", body = Passkeys),
              (status = 404, description = "`not_found`: Only people have passkeys",
               body = Problem, content_type = "application/problem+json")))]
pub async fn list(
    State(shared): State<Shared>,
    Known(caller): Known,
) -> Result<Json<Passkeys>, Failure> {
    Ok(Json(passkeys::list(shared.app(), &caller).await?))
}

/// Begin to add a passkey
///
/// Whoever has one already confirms it with that one first. A later question replaces this one.
#[utoipa::path(post, path = "/v1/passkeys", tag = "passkeys", request_body = NewPasskey,
    responses((status = 201, description = "What to ask the new key", body = PasskeyOffer),
              (status = 409, description = "`too_many`, `passkeys_off`", body = Problem,
               content_type = "application/problem+json")))]
pub async fn offer(
    State(shared): State<Shared>,
    Known(caller): Known,
    Json(new): Json<NewPasskey>,
) -> Result<(StatusCode, Json<PasskeyOffer>), Failure> {
    let offer = passkeys::offer(shared.app(), &caller, new).await?;
    Ok((StatusCode::CREATED, Json(offer)))
}

/// Add the passkey that has answered
///
/// In the session that asked, within five minutes.
#[utoipa::path(post, path = "/v1/passkeys/{id}", tag = "passkeys",
    params(("id" = schema::PasskeyId, Path), RepeatHeader), request_body = PasskeyAnswer,
    responses((status = 201, description = "Yours from now on", body = Passkey),
              (status = 409, description = "`already_exists`, `too_many`, `passkeys_off`",
               body = Problem, content_type = "application/problem+json"),
              (status = 422, description = "`passkey_refused`, `invalid_body`", body = Problem,
               content_type = "application/problem+json")))]
pub async fn add(
    State(shared): State<Shared>,
    Known(caller): Known,
    Path(id): Path<PasskeyId>,
    key: IdempotencyKey,
    Json(answer): Json<PasskeyAnswer>,
) -> Result<Kept, Failure> {
    let attempt = attempt("passkeys.add", &id.to_string(), key, &answer);
    Ok(Kept(passkeys::add(shared.app(), &caller, &attempt, id, answer).await?))
}

/// Remove one of your passkeys
///
/// Confirmed with any of them, also with this one.
#[utoipa::path(delete, path = "/v1/passkeys/{id}", tag = "passkeys",
    params(("id" = schema::PasskeyId, Path), RepeatHeader),
    responses((status = 200, description = "As it was", body = Passkey)))]
pub async fn remove(
    State(shared): State<Shared>,
    Known(caller): Known,
    Path(id): Path<PasskeyId>,
    key: IdempotencyKey,
) -> Result<Kept, Failure> {
    let attempt = attempt("passkeys.remove", &id.to_string(), key, &());
    Ok(Kept(passkeys::remove(shared.app(), &caller, &attempt, id).await?))
}

/// Take all passkeys of somebody who has lost them
#[utoipa::path(delete, path = "/v1/users/{id}/passkeys", tag = "passkeys",
    params(("id" = schema::UserId, Path), RepeatHeader),
    responses((status = 200, description = "As they were", body = Passkeys)))]
pub async fn reset(
    State(shared): State<Shared>,
    Known(caller): Known,
    Path(id): Path<UserId>,
    key: IdempotencyKey,
) -> Result<Kept, Failure> {
    let attempt = attempt("passkeys.reset", &id.to_string(), key, &());
    Ok(Kept(passkeys::reset(shared.app(), &caller, &attempt, id).await?))
}

/// Ask for the word of your passkey
///
/// For one decision, named as `step_up` of the refusal names it.
#[utoipa::path(post, path = "/v1/step-up", tag = "passkeys", request_body = StepUpSubject,
    responses((status = 201, description = "What to ask the key", body = StepUpQuestion),
              (status = 403, description = "`step_up_required`: you have no passkey",
               body = Problem, content_type = "application/problem+json"),
              (status = 409, description = "`passkeys_off`", body = Problem,
               content_type = "application/problem+json")))]
pub async fn ask(
    State(shared): State<Shared>,
    Known(caller): Known,
    Json(asked): Json<StepUpSubject>,
) -> Result<(StatusCode, Json<StepUpQuestion>), Failure> {
    let question = step_up::ask(shared.app(), &caller, asked).await?;
    Ok((StatusCode::CREATED, Json(question)))
}

/// Give the word of your passkey
///
/// It counts for five minutes, for one decision about exactly what was asked, in the session that
/// asked. A browser goes on with the cookie of the answer; the one before is worth nothing.
#[utoipa::path(post, path = "/v1/step-up/{id}", tag = "passkeys",
    params(("id" = schema::StepUpId, Path)), request_body = StepUpAnswer,
    responses((status = 200, description = "Given", body = StepUp),
              (status = 409, description = "`closed`: It was answered, or it is too old",
               body = Problem, content_type = "application/problem+json"),
              (status = 422, description = "`passkey_refused`, `invalid_body`", body = Problem,
               content_type = "application/problem+json")))]
pub async fn give(
    State(shared): State<Shared>,
    Known(caller): Known,
    Path(id): Path<StepUpId>,
    Json(answer): Json<StepUpAnswer>,
) -> Result<Response, Failure> {
    let Given { step_up, session } = step_up::give(shared.app(), &caller, id, answer).await?;
    let answer = Json(step_up).into_response();
    Ok(match session {
        Some(session) => cookie::with_session(answer, &session),
        None => answer,
    })
}

/// A refusal with the body of the call that comes next, and the page where it can be decided.
pub(super) fn unconfirmed_decision(problem: Problem, unconfirmed: Unconfirmed) -> Problem {
    let Unconfirmed { subject, has_passkey, page } = unconfirmed;
    let things = subject.about().iter().cloned();
    let about = things.map(|Thing { id, digest }| StepUpThing { id, digest }).collect();
    let step_up = StepUpSubject { purpose: subject.purpose(), about };
    let problem = problem.with("step_up", step_up).with("has_passkey", has_passkey);
    let (says, call) = if has_passkey {
        ("Decide it where your browser can ask your passkey", "POST /v1/step-up")
    } else {
        ("Add a passkey first", "POST /v1/passkeys")
    };
    problem.next(format!("{says}: {page}")).call(call).with("page", page)
}
