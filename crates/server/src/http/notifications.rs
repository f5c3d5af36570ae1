//! What people were told, over HTTP.

use ade_api::notifications::{NewPreferences, Notification, Preferences};
use ade_api::page::{Page, PageQuery};
use ade_engine::ops::{notifications, preferences};
use axum::extract::State;

use super::door::Known;
use super::error::Failure;
use super::extract::{IdempotencyKey, IfMatch, Json, Query, RepeatHeader, VersionHeader};
use super::reply::{Kept, Tagged, attempt, page, span};
use super::state::Shared;
use super::users::ListQuery;

/// See what you were told
///
/// What time and changed rules did to tasks of yours, newest first. Requests that wait for your
/// answer are in the inbox.
#[utoipa::path(get, path = "/v1/notifications", tag = "notifications", params(ListQuery),
    responses((status = 200, description = "A page", body = Page<Notification>)))]
pub async fn list(
    State(shared): State<Shared>,
    Known(caller): Known,
    Query(query): Query<ListQuery>,
) -> Result<Json<Page<Notification>>, Failure> {
    let wanted = PageQuery { page_size: query.page_size, page_token: query.page_token };
    let span = span(&wanted, &caller, &"notifications")?;
    Ok(page(notifications::list(shared.app(), &caller, span).await?, &caller, &"notifications"))
}

/// See how you want to be told
#[utoipa::path(get, path = "/v1/notifications/preferences", tag = "notifications",
    responses((status = 200, description = "Yours; what everybody has until you say otherwise",
               body = Preferences)))]
pub async fn preferences(
    State(shared): State<Shared>,
    Known(caller): Known,
) -> Result<Tagged<Preferences>, Failure> {
    let found = preferences::get(shared.app(), &caller).await?;
    Ok(Tagged(found.version, found))
}

/// Say how you want to be told
///
/// By kinds of events for each channel, with hours in which nothing is sent, and an interval in
/// which everything goes together.
#[utoipa::path(put, path = "/v1/notifications/preferences", tag = "notifications",
    params(VersionHeader, RepeatHeader), request_body = NewPreferences,
    responses((status = 200, description = "As it is from now on", body = Preferences)))]
pub async fn set_preferences(
    State(shared): State<Shared>,
    Known(caller): Known,
    IfMatch(version): IfMatch,
    key: IdempotencyKey,
    Json(new): Json<NewPreferences>,
) -> Result<Kept, Failure> {
    let attempt = attempt("notifications.set_preferences", &version.to_string(), key, &new);
    Ok(Kept(preferences::set(shared.app(), &caller, &attempt, version, new).await?))
}
