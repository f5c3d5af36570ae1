//! Sessions over HTTP: only a person's own.

use ade_api::problem::Problem;
use ade_api::sessions::{Session, SessionShown, Sessions, TenantSwitch};
use ade_engine::identity::sessions;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};

use super::auth_layer::Authenticated;
use super::cookie;
use super::error::ApiError;
use super::extract::{Json, Path};
use super::state::Shared;

/// Get the current session
#[utoipa::path(get, path = "/v1/session", tag = "sessions", operation_id = "get",
    responses((status = 200, description = "The current session", body = Session),
              (status = 404, description = "`not_found`: the token is not a session",
                  body = Problem,
               content_type = "application/problem+json")))]
pub async fn current(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
) -> Result<Json<Session>, ApiError> {
    Ok(Json(sessions::current(shared.app(), &caller).await?))
}

/// Switch to another tenant
///
/// Creates a new session in that tenant, set as a cookie; the current session ends.
#[utoipa::path(post, path = "/v1/session/tenant", tag = "sessions", request_body = TenantSwitch,
    responses((status = 204, description = "The cookie contains the new session"),
              (status = 404,
                  description = "`not_found`: the token is no session, or the tenant is not yours",
                  body = Problem, content_type = "application/problem+json")))]
pub async fn switch(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    Json(wanted): Json<TenantSwitch>,
) -> Result<Response, ApiError> {
    let session = sessions::switch(shared.app(), &caller, wanted.tenant_id).await?;
    Ok(cookie::with_session(StatusCode::NO_CONTENT.into_response(), &session))
}

/// List your sessions
#[utoipa::path(get, path = "/v1/sessions", tag = "sessions",
    responses((status = 200, description = "The active sessions", body = Sessions)))]
pub async fn list(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
) -> Result<Json<Sessions>, ApiError> {
    Ok(Json(sessions::list(shared.app(), &caller).await?))
}

/// End one of your sessions immediately
#[utoipa::path(delete, path = "/v1/sessions/{id}", tag = "sessions",
    params(("id" = String, Path, max_length = 64)),
    responses((status = 200, description = "The state before removal", body = SessionShown)))]
pub async fn end(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    Path(id): Path<String>,
) -> Result<Json<SessionShown>, ApiError> {
    Ok(Json(sessions::end(shared.app(), &caller, &id).await?))
}
