//! People over HTTP: read by everyone in the tenant, changed by admins.

use ade_api::page::{Page, PageQuery};
use ade_api::pending_changes::PendingChange;
use ade_api::problem::Problem;
use ade_api::schema;
use ade_api::users::{Alias, Me, NewUser, Roles, User, UserChange};
use ade_core::ids::UserId;
use ade_engine::identity::{me, users};
use ade_engine::rule_changes::{self, RuleChange};
use axum::extract::State;
use serde::Deserialize;
use utoipa::IntoParams;

use super::auth_layer::Authenticated;
use super::error::ApiError;
use super::extract::{IdempotencyKey, Json, Path, Query, RepeatHeader};
use super::reply::{EngineReply, Listing, attempt, page, span};
use super::state::Shared;

/// Get the caller
#[utoipa::path(get, path = "/v1/me", tag = "me", operation_id = "get",
    responses((status = 200, description = "The caller", body = Me)))]
pub async fn whoami(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
) -> Result<Json<Me>, ApiError> {
    Ok(Json(me::get(shared.app(), &caller).await?))
}

/// Create a person
#[utoipa::path(post, path = "/v1/users", tag = "users", params(RepeatHeader),
    request_body = NewUser,
    responses((status = 201, description = "The person", body = User),
              (status = 202, description = "It waits for a second admin", body = PendingChange)))]
pub async fn create(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    key: IdempotencyKey,
    Json(new): Json<NewUser>,
) -> Result<EngineReply, ApiError> {
    let attempt = attempt("users.create", "", key, &new);
    let change = RuleChange::CreateUser(new);
    Ok(EngineReply(rule_changes::submit(shared.app(), &caller, &attempt, change).await?))
}

#[derive(Debug, Clone, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ListQuery {
    /// The maximum number of items.
    #[param(minimum = 1, maximum = 200, default = 50)]
    pub page_size: Option<u32>,
    /// The `next_page_token` of the previous page.
    pub page_token: Option<String>,
}

/// List people
#[utoipa::path(get, path = "/v1/users", tag = "users", params(ListQuery),
    responses((status = 200, description = "A page", body = Page<User>)))]
pub async fn list(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    Query(query): Query<ListQuery>,
) -> Result<Listing<User>, ApiError> {
    let wanted = PageQuery { page_size: query.page_size, page_token: query.page_token };
    let span = span(&wanted, &caller, &"users")?;
    Ok(page(users::list(shared.app(), &caller, span).await?, &caller, &"users"))
}

/// Get a person
#[utoipa::path(get, path = "/v1/users/{id}", tag = "users",
    params(("id" = schema::UserId, Path)),
    responses((status = 200, description = "The person", body = User)))]
pub async fn get(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    Path(id): Path<UserId>,
) -> Result<Json<User>, ApiError> {
    Ok(Json(users::get(shared.app(), &caller, id).await?))
}

/// Update or deactivate a person
#[utoipa::path(patch, path = "/v1/users/{id}", tag = "users",
    params(("id" = schema::UserId, Path), RepeatHeader), request_body = UserChange,
    responses((status = 200, description = "The person", body = User),
              (status = 202, description = "It waits for a second admin", body = PendingChange)))]
pub async fn change(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    Path(id): Path<UserId>,
    key: IdempotencyKey,
    Json(change): Json<UserChange>,
) -> Result<EngineReply, ApiError> {
    let attempt = attempt("users.change", &id.to_string(), key, &change);
    let change = RuleChange::ChangeUser { id, change };
    Ok(EngineReply(rule_changes::submit(shared.app(), &caller, &attempt, change).await?))
}

/// Set a person's roles
#[utoipa::path(put, path = "/v1/users/{id}/roles", tag = "users",
    params(("id" = schema::UserId, Path), RepeatHeader), request_body = Roles,
    responses((status = 200, description = "The person", body = User),
              (status = 202, description = "It waits for a second admin", body = PendingChange)))]
pub async fn set_roles(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    Path(id): Path<UserId>,
    key: IdempotencyKey,
    Json(roles): Json<Roles>,
) -> Result<EngineReply, ApiError> {
    let attempt = attempt("users.set_roles", &id.to_string(), key, &roles);
    let change = RuleChange::SetRoles { id, roles };
    Ok(EngineReply(rule_changes::submit(shared.app(), &caller, &attempt, change).await?))
}

/// Confirm a person who joined by an invitation
///
/// For people whose invitation was shown to the admin who created it. Until another admin confirms
/// them with a passkey, their votes are marked, and outside of setup they count as one person with
/// that admin. If that admin or the person asks, the change waits for another admin.
#[utoipa::path(post, path = "/v1/users/{id}/confirm", tag = "users",
    params(("id" = schema::UserId, Path), RepeatHeader),
    responses((status = 200, description = "The person", body = User),
              (status = 202, description = "It waits for a second admin", body = PendingChange),
              (status = 409, description = "`closed`: The person needs no confirmation",
               body = Problem, content_type = "application/problem+json")))]
pub async fn confirm(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    Path(id): Path<UserId>,
    key: IdempotencyKey,
) -> Result<EngineReply, ApiError> {
    let attempt = attempt("users.confirm", &id.to_string(), key, &());
    let confirmed = rule_changes::confirm_person(shared.app(), &caller, &attempt, id).await?;
    Ok(EngineReply(confirmed))
}

/// Link another account of the same person
#[utoipa::path(post, path = "/v1/users/{id}/aliases", tag = "users",
    params(("id" = schema::UserId, Path), RepeatHeader), request_body = Alias,
    responses((status = 200, description = "The person", body = User),
              (status = 202, description = "It waits for a second admin", body = PendingChange)))]
pub async fn add_alias(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    Path(id): Path<UserId>,
    key: IdempotencyKey,
    Json(alias): Json<Alias>,
) -> Result<EngineReply, ApiError> {
    let attempt = attempt("users.add_alias", &id.to_string(), key, &alias);
    let change = RuleChange::AddAlias { id, alias };
    Ok(EngineReply(rule_changes::submit(shared.app(), &caller, &attempt, change).await?))
}
