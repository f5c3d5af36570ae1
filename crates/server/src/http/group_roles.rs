//! Roles by the groups of an identity provider, over HTTP.

use ade_api::sessions::{GroupRoles, GroupRolesSet};
use ade_engine::ops::group_roles;
use axum::extract::State;

use super::door::Known;
use super::error::Failure;
use super::extract::{IdempotencyKey, Json, RepeatHeader};
use super::reply::{Kept, attempt};
use super::state::Shared;

/// See which groups give which roles
#[utoipa::path(get, path = "/v1/group-roles", tag = "group_roles",
    responses((status = 200, description = "By identity provider", body = GroupRolesSet)))]
pub async fn list(
    State(shared): State<Shared>,
    Known(caller): Known,
) -> Result<Json<GroupRolesSet>, Failure> {
    Ok(Json(group_roles::list(shared.app(), &caller).await?))
}

/// Set which groups of a provider give which roles
///
/// The whole set of this provider: what is not in it is taken away. It takes hold when people
/// sign in the next time.
#[utoipa::path(put, path = "/v1/group-roles", tag = "group_roles", params(RepeatHeader),
    request_body = GroupRoles,
    responses((status = 200, description = "All of them, as they are now", body = GroupRolesSet)))]
pub async fn set(
    State(shared): State<Shared>,
    Known(caller): Known,
    key: IdempotencyKey,
    Json(new): Json<GroupRoles>,
) -> Result<Kept, Failure> {
    let attempt = attempt("group_roles.set", "", key, &new);
    Ok(Kept(group_roles::set(shared.app(), &caller, &attempt, new).await?))
}
