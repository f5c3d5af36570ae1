//! What people were told, over HTTP.

use ade_api::notifications::Notification;
use ade_api::page::{Page, PageQuery};
use ade_engine::ops::notifications;
use axum::extract::State;

use super::door::Known;
use super::error::Failure;
use super::extract::{Json, Query};
use super::reply::{page, span};
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
