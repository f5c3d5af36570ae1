//! Roles by the groups of an identity provider, over HTTP.

use ade_api::page::{Page, PageQuery};
use ade_api::sessions::GroupRoles;
use ade_engine::ops::group_roles;
use axum::extract::State;

use super::door::Known;
use super::error::Failure;
use super::extract::{IdempotencyKey, Json, Query, RepeatHeader};
use super::reply::{Kept, attempt, page, span};
use super::state::Shared;
use super::users::ListQuery;

/// See which groups give which roles
#[utoipa::path(get, path = "/v1/group-roles", tag = "group_roles", params(ListQuery),
    responses((status = 200, description = "A page, by identity provider",
               body = Page<GroupRoles>)))]
pub async fn list(
    State(shared): State<Shared>,
    Known(caller): Known,
    Query(query): Query<ListQuery>,
) -> Result<Json<Page<GroupRoles>>, Failure> {
    let wanted = PageQuery { page_size: query.page_size, page_token: query.page_token };
    let span = span(&wanted, &caller, &"group_roles")?;
    Ok(page(group_roles::list(shared.app(), &caller, span).await?, &caller, &"group_roles"))
}

/// Set which groups of a provider give which roles
///
/// The whole set of this provider: what is not in it is taken away. It takes hold when people
/// sign in the next time.
#[utoipa::path(put, path = "/v1/group-roles", tag = "group_roles", params(RepeatHeader),
    request_body = GroupRoles,
    responses((status = 200, description = "Those of this provider, as they are now",
               body = GroupRoles)))]
pub async fn set(
    State(shared): State<Shared>,
    Known(caller): Known,
    key: IdempotencyKey,
    Json(new): Json<GroupRoles>,
) -> Result<Kept, Failure> {
    let attempt = attempt("group_roles.set", "", key, &new);
    Ok(Kept(group_roles::set(shared.app(), &caller, &attempt, new).await?))
}
