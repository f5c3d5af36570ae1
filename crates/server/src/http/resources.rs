//! The registry of resources over HTTP. A resource is named by its type and its id.

use ade_api::page::{Page, PageQuery};
use ade_api::pending_changes::PendingChange;
use ade_api::resources::{Resource, ResourceEntry, ResourceImport, ResourcesImported};
use ade_core::resource::ResourceRef;
use ade_engine::admin::resources;
use ade_engine::rule_changes::{self, RuleChange};
use axum::extract::State;

use super::auth_layer::Authenticated;
use super::error::ApiError;
use super::extract::{IdempotencyKey, Json, Path, Query, RepeatHeader};
use super::reply::{EngineReply, Listing, attempt, page, span};
use super::state::Shared;
use super::users::ListQuery;

/// Create or replace a resource entry
#[utoipa::path(put, path = "/v1/resources/{type}/{id}", tag = "resources",
    params(("type" = String, Path, max_length = 64), ("id" = String, Path, max_length = 256),
           RepeatHeader),
    request_body = ResourceEntry,
    responses((status = 200, description = "The entry", body = Resource),
              (status = 202, description = "It waits for a second admin", body = PendingChange)))]
pub async fn put(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    Path((kind, id)): Path<(String, String)>,
    key: IdempotencyKey,
    Json(entry): Json<ResourceEntry>,
) -> Result<EngineReply, ApiError> {
    let name = name_of(&kind, &id)?;
    let attempt = attempt("resources.put", &name.to_string(), key, &entry);
    let change = RuleChange::PutResource { name, entry };
    Ok(EngineReply(rule_changes::submit(shared.app(), &caller, &attempt, change).await?))
}

/// Import resource entries, all or none
#[utoipa::path(post, path = "/v1/resources/import", tag = "resources", params(RepeatHeader),
    request_body = ResourceImport,
    responses((status = 200, description = "The numbers of new, changed and unchanged entries",
               body = ResourcesImported),
              (status = 202, description = "It waits for a second admin", body = PendingChange)))]
pub async fn import(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    key: IdempotencyKey,
    Json(items): Json<ResourceImport>,
) -> Result<EngineReply, ApiError> {
    let attempt = attempt("resources.import", "", key, &items);
    let change = RuleChange::ImportResources(items);
    Ok(EngineReply(rule_changes::submit(shared.app(), &caller, &attempt, change).await?))
}

/// Get a resource entry
#[utoipa::path(get, path = "/v1/resources/{type}/{id}", tag = "resources",
    params(("type" = String, Path, max_length = 64), ("id" = String, Path, max_length = 256)),
    responses((status = 200, description = "The entry", body = Resource)))]
pub async fn get(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    Path((kind, id)): Path<(String, String)>,
) -> Result<Json<Resource>, ApiError> {
    let name = name_of(&kind, &id)?;
    Ok(Json(resources::get(shared.app(), &caller, &name).await?))
}

/// List resources
#[utoipa::path(get, path = "/v1/resources", tag = "resources", params(ListQuery),
    responses((status = 200, description = "A page", body = Page<Resource>)))]
pub async fn list(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    Query(query): Query<ListQuery>,
) -> Result<Listing<Resource>, ApiError> {
    let wanted = PageQuery { page_size: query.page_size, page_token: query.page_token };
    let span = span(&wanted, &caller, &"resources")?;
    Ok(page(resources::list(shared.app(), &caller, span).await?, &caller, &"resources"))
}

/// Parses a resource name. An invalid one gets 404.
fn name_of(kind: &str, id: &str) -> Result<ResourceRef, ApiError> {
    ResourceRef::new(kind, id).map_err(|error| ApiError::missing(&error.to_string()))
}
