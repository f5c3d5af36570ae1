//! People over HTTP: read by everybody of the tenant, changed by admins.

use ade_api::page::{Page, PageQuery};
use ade_api::schema;
use ade_api::users::{Alias, Me, NewUser, Roles, User, UserChange};
use ade_core::ids::UserId;
use ade_engine::ops::{me, users};
use axum::extract::State;
use serde::Deserialize;
use utoipa::IntoParams;

use super::door::Known;
use super::error::Failure;
use super::extract::{IdempotencyKey, Json, Path, Query, RepeatHeader};
use super::reply::{Kept, attempt, page, span};
use super::state::Shared;

/// See who you are
#[utoipa::path(get, path = "/v1/me", tag = "users",
    responses((status = 200, description = "You", body = Me)))]
pub async fn whoami(
    State(shared): State<Shared>,
    Known(caller): Known,
) -> Result<Json<Me>, Failure> {
    Ok(Json(me::get(shared.app(), &caller).await?))
}

/// Enter a person
#[utoipa::path(post, path = "/v1/users", tag = "users", params(RepeatHeader),
    request_body = NewUser,
    responses((status = 201, description = "The person", body = User)))]
pub async fn create(
    State(shared): State<Shared>,
    Known(caller): Known,
    key: IdempotencyKey,
    Json(new): Json<NewUser>,
) -> Result<Kept, Failure> {
    let attempt = attempt("users.create", "", key, &new);
    Ok(Kept(users::create(shared.app(), &caller, &attempt, new).await?))
}

#[derive(Debug, Clone, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ListQuery {
    /// How many at most.
    #[param(minimum = 1, maximum = 200, default = 50)]
    pub page_size: Option<u32>,
    /// `next_page_token` of the page before.
    pub page_token: Option<String>,
}

/// List people
#[utoipa::path(get, path = "/v1/users", tag = "users", params(ListQuery),
    responses((status = 200, description = "A page", body = Page<User>)))]
pub async fn list(
    State(shared): State<Shared>,
    Known(caller): Known,
    Query(query): Query<ListQuery>,
) -> Result<Json<Page<User>>, Failure> {
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
    Known(caller): Known,
    Path(id): Path<UserId>,
) -> Result<Json<User>, Failure> {
    Ok(Json(users::get(shared.app(), &caller, id).await?))
}

/// Change a person, or deactivate them
#[utoipa::path(patch, path = "/v1/users/{id}", tag = "users",
    params(("id" = schema::UserId, Path), RepeatHeader), request_body = UserChange,
    responses((status = 200, description = "The person", body = User)))]
pub async fn change(
    State(shared): State<Shared>,
    Known(caller): Known,
    Path(id): Path<UserId>,
    key: IdempotencyKey,
    Json(change): Json<UserChange>,
) -> Result<Kept, Failure> {
    let attempt = attempt("users.change", &id.to_string(), key, &change);
    Ok(Kept(users::change(shared.app(), &caller, &attempt, id, change).await?))
}

/// Set a person's roles
#[utoipa::path(put, path = "/v1/users/{id}/roles", tag = "users",
    params(("id" = schema::UserId, Path), RepeatHeader), request_body = Roles,
    responses((status = 200, description = "The person", body = User)))]
pub async fn set_roles(
    State(shared): State<Shared>,
    Known(caller): Known,
    Path(id): Path<UserId>,
    key: IdempotencyKey,
    Json(roles): Json<Roles>,
) -> Result<Kept, Failure> {
    let attempt = attempt("users.set_roles", &id.to_string(), key, &roles);
    Ok(Kept(users::set_roles(shared.app(), &caller, &attempt, id, roles).await?))
}

/// Say that another account is the same human
#[utoipa::path(post, path = "/v1/users/{id}/aliases", tag = "users",
    params(("id" = schema::UserId, Path), RepeatHeader), request_body = Alias,
    responses((status = 200, description = "The person", body = User)))]
pub async fn add_alias(
    State(shared): State<Shared>,
    Known(caller): Known,
    Path(id): Path<UserId>,
    key: IdempotencyKey,
    Json(alias): Json<Alias>,
) -> Result<Kept, Failure> {
    let attempt = attempt("users.add_alias", &id.to_string(), key, &alias);
    Ok(Kept(users::add_alias(shared.app(), &caller, &attempt, id, alias).await?))
}
