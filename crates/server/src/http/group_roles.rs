//! Roles by the groups of an identity provider, over HTTP.

use ade_api::page::{Page, PageQuery};
use ade_api::pending_changes::PendingChange;
use ade_api::sessions::GroupRoles;
use ade_engine::identity::group_roles;
use ade_engine::rule_changes::{self, RuleChange};
use axum::extract::State;

use super::auth_layer::Authenticated;
use super::error::ApiError;
use super::extract::{IdempotencyKey, Json, Query, RepeatHeader};
use super::reply::{EngineReply, Listing, attempt, page, span};
use super::state::Shared;
use super::users::ListQuery;

/// List the group role mappings
#[utoipa::path(get, path = "/v1/group-roles", tag = "group_roles", params(ListQuery),
    responses((status = 200, description = "A page, by identity provider",
               body = Page<GroupRoles>)))]
pub async fn list(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    Query(query): Query<ListQuery>,
) -> Result<Listing<GroupRoles>, ApiError> {
    let wanted = PageQuery { page_size: query.page_size, page_token: query.page_token };
    let span = span(&wanted, &caller, &"group_roles")?;
    Ok(page(group_roles::list(shared.app(), &caller, span).await?, &caller, &"group_roles"))
}

/// Set the group role mappings of an identity provider
///
/// The complete set of the provider: mappings that are not listed are removed. Takes effect when
/// people sign in the next time.
#[utoipa::path(put, path = "/v1/group-roles", tag = "group_roles", params(RepeatHeader),
    request_body = GroupRoles,
    responses((status = 200, description = "The mappings of this provider",
               body = GroupRoles),
              (status = 202, description = "It waits for a second admin", body = PendingChange)))]
pub async fn set(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    key: IdempotencyKey,
    Json(new): Json<GroupRoles>,
) -> Result<EngineReply, ApiError> {
    let attempt = attempt("group_roles.set", "", key, &new);
    let change = RuleChange::SetGroupRoles(new);
    Ok(EngineReply(rule_changes::submit(shared.app(), &caller, &attempt, change).await?))
}
