//! Invitations over HTTP: an admin creates one, and the invited person exchanges it for a session.

use ade_api::code::Code;
use ade_api::invitations::{Invitation, InvitationAcceptance};
use ade_api::problem::Problem;
use ade_api::schema;
use ade_core::ids::UserId;
use ade_engine::identity::invitations;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};

use super::auth_layer::Authenticated;
use super::cookie;
use super::cross_site;
use super::error::ApiError;
use super::extract::{CallOrigin, IdempotencyKey, Json, Path, RepeatHeader};
use super::reply::{EngineReply, attempt};
use super::state::Shared;

/// Counts invitations by what happened to them.
fn count(outcome: &'static str) {
    metrics::counter!("ade_invitations_total", "outcome" => outcome).increment(1);
}

/// Invite a person to sign in
///
/// For people without an identity provider. The invitation is valid for 15 minutes and can be
/// accepted once; a new invitation replaces the earlier one. Where mail is configured, it is sent
/// to the person's address and not shown. Elsewhere another admin should confirm the person
/// afterwards (`POST /v1/users/{id}/confirm`). People who have a passkey or are signed in cannot be
/// invited.
#[utoipa::path(post, path = "/v1/users/{id}/invitations", tag = "invitations",
    params(("id" = schema::UserId, Path), RepeatHeader),
    responses(
        (status = 201, description = "The invitation, shown once or sent by mail",
         body = Invitation),
        (status = 409, description = "`not_invitable`: The person has another way to sign in, or \
         is deactivated", body = Problem, content_type = "application/problem+json")
    ))]
pub async fn create(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    Path(id): Path<UserId>,
    key: IdempotencyKey,
) -> Result<EngineReply, ApiError> {
    let attempt = attempt("invitations.create", &id.to_string(), key, &());
    let reply = invitations::create(shared.app(), &caller, &attempt, id).await?;
    count("created");
    Ok(EngineReply(reply))
}

/// Accept an invitation
///
/// Opens a session for the invited person, in the cookie of the response. Like every change that a
/// browser sends, the request carries `X-ADE-Request: 1` and comes from a page of this server.
#[utoipa::path(post, path = "/v1/invitations/accept", tag = "invitations",
    request_body = InvitationAcceptance,
    responses(
        (status = 204, description = "The cookie contains the session"),
        (status = 400, description = "`invitation_not_valid`: The invitation is unknown, used, \
         replaced or expired; `malformed_body`: The body is not acceptable JSON", body = Problem,
         content_type = "application/problem+json"),
        (status = 403, description = "`cross_site`: The request comes from another site",
         body = Problem, content_type = "application/problem+json")
    ))]
pub async fn accept(
    State(shared): State<Shared>,
    CallOrigin(place): CallOrigin,
    headers: HeaderMap,
    Json(acceptance): Json<InvitationAcceptance>,
) -> Result<Response, ApiError> {
    // Otherwise another site could sign a browser in as another person.
    if !cross_site::is_own_page(&headers, &shared.settings().origins) {
        let detail = "an invitation can only be accepted on a page of this server";
        return Err(ApiError::new(Code::CrossSite, detail));
    }
    match invitations::accept(shared.app(), &acceptance.invitation, place).await {
        Ok(session) => {
            count("accepted");
            Ok(cookie::with_session(StatusCode::NO_CONTENT.into_response(), &session))
        }
        Err(error) => {
            count("refused");
            Err(error.into())
        }
    }
}
