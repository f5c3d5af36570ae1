//! Notifications over HTTP.

use ade_api::notifications::{NewPreferences, Notification, Preferences};
use ade_api::page::{Page, PageQuery};
use ade_engine::notifications::{inbox, preferences};
use axum::extract::State;

use super::auth_layer::Authenticated;
use super::error::ApiError;
use super::extract::{IdempotencyKey, IfMatch, Json, Query, RepeatHeader, VersionHeader};
use super::reply::{EngineReply, Listing, Tagged, attempt, page, span};
use super::state::Shared;
use super::users::ListQuery;

/// List your notifications
///
/// Expiries, policy changes and other events of your tasks, newest first. Requests that need your
/// answer are in the inbox.
#[utoipa::path(get, path = "/v1/notifications", tag = "notifications", params(ListQuery),
    responses((status = 200, description = "A page", body = Page<Notification>)))]
pub async fn list(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    Query(query): Query<ListQuery>,
) -> Result<Listing<Notification>, ApiError> {
    let wanted = PageQuery { page_size: query.page_size, page_token: query.page_token };
    let span = span(&wanted, &caller, &"notifications")?;
    Ok(page(inbox::list(shared.app(), &caller, span).await?, &caller, &"notifications"))
}

/// Get your notification preferences
#[utoipa::path(get, path = "/v1/notifications/preferences", tag = "notifications",
    operation_id = "get_preferences",
    responses((status = 200, description = "Your preferences, or the defaults",
               body = Preferences)))]
pub async fn preferences(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
) -> Result<Tagged<Preferences>, ApiError> {
    let found = preferences::get(shared.app(), &caller).await?;
    Ok(Tagged(found.version, found))
}

/// Set your notification preferences
///
/// Event kinds for each channel, quiet hours, and an interval in which notifications are combined.
#[utoipa::path(put, path = "/v1/notifications/preferences", tag = "notifications",
    params(VersionHeader, RepeatHeader), request_body = NewPreferences,
    responses((status = 200, description = "The new preferences", body = Preferences)))]
pub async fn set_preferences(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    IfMatch(version): IfMatch,
    key: IdempotencyKey,
    Json(new): Json<NewPreferences>,
) -> Result<EngineReply, ApiError> {
    let attempt = attempt("notifications.set_preferences", &version.to_string(), key, &new);
    Ok(EngineReply(preferences::set(shared.app(), &caller, &attempt, version, new).await?))
}
