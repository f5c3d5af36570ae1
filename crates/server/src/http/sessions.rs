//! Sessions over HTTP: a person's own, and nobody else's.

use ade_api::problem::Problem;
use ade_api::sessions::{Session, SessionShown, Sessions, TenantSwitch};
use ade_engine::ops::sessions;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};

use super::cookie;
use super::door::Known;
use super::error::Failure;
use super::extract::{Json, Path};
use super::state::Shared;

/// Who is signed in here
#[utoipa::path(get, path = "/v1/session", tag = "sessions",
    responses((status = 200, description = "The session that asks", body = Session),
              (status = 404, description = "`not_found`: A token is no session", body = Problem,
               content_type = "application/problem+json")))]
pub async fn current(
    State(shared): State<Shared>,
    Known(caller): Known,
) -> Result<Json<Session>, Failure> {
    Ok(Json(sessions::current(shared.app(), &caller).await?))
}

/// Go on in another tenant
///
/// There is a new session there, in the cookie of the answer; the one here is over.
#[utoipa::path(post, path = "/v1/session/tenant", tag = "sessions", request_body = TenantSwitch,
    responses((status = 204, description = "The cookie holds the new session"),
              (status = 404, description = "`not_found`: A token is no session, or it is no tenant \
               of yours", body = Problem, content_type = "application/problem+json")))]
pub async fn switch(
    State(shared): State<Shared>,
    Known(caller): Known,
    Json(wanted): Json<TenantSwitch>,
) -> Result<Response, Failure> {
    let session = sessions::switch(shared.app(), &caller, wanted.tenant).await?;
    Ok(cookie::with_session(StatusCode::NO_CONTENT.into_response(), &session))
}

/// List your sessions
#[utoipa::path(get, path = "/v1/sessions", tag = "sessions",
    responses((status = 200, description = "Those that are open", body = Sessions)))]
pub async fn list(
    State(shared): State<Shared>,
    Known(caller): Known,
) -> Result<Json<Sessions>, Failure> {
    Ok(Json(sessions::list(shared.app(), &caller).await?))
}

/// End one of your sessions, for good and at once
#[utoipa::path(delete, path = "/v1/sessions/{id}", tag = "sessions",
    params(("id" = String, Path, max_length = 64)),
    responses((status = 200, description = "As it was", body = SessionShown)))]
pub async fn end(
    State(shared): State<Shared>,
    Known(caller): Known,
    Path(id): Path<String>,
) -> Result<Json<SessionShown>, Failure> {
    Ok(Json(sessions::end(shared.app(), &caller, &id).await?))
}
