//! The registry of resources over HTTP. A resource is named by its type and its id.

use ade_api::page::{Page, PageQuery};
use ade_api::resources::{Resource, ResourceEntry, ResourceImport, ResourcesImported};
use ade_core::resource::ResourceRef;
use ade_engine::ops::resources;
use axum::extract::State;

use super::door::Known;
use super::error::Failure;
use super::extract::{IdempotencyKey, Json, Path, Query, RepeatHeader};
use super::reply::{Kept, attempt, page, span};
use super::state::Shared;
use super::users::ListQuery;

/// Enter a resource, or replace its entry
#[utoipa::path(put, path = "/v1/resources/{type}/{id}", tag = "resources",
    params(("type" = String, Path, max_length = 64), ("id" = String, Path, max_length = 256),
           RepeatHeader),
    request_body = ResourceEntry,
    responses((status = 200, description = "The entry", body = Resource)))]
pub async fn put(
    State(shared): State<Shared>,
    Known(caller): Known,
    Path((kind, id)): Path<(String, String)>,
    key: IdempotencyKey,
    Json(entry): Json<ResourceEntry>,
) -> Result<Kept, Failure> {
    let name = name_of(&kind, &id)?;
    let attempt = attempt("resources.put", &name.to_string(), key, &entry);
    Ok(Kept(resources::put(shared.app(), &caller, &attempt, &name, entry).await?))
}

/// Enter many resources at once, all or none
#[utoipa::path(post, path = "/v1/resources/import", tag = "resources", params(RepeatHeader),
    request_body = ResourceImport,
    responses((status = 200, description = "How many were new, changed and the same",
               body = ResourcesImported)))]
pub async fn import(
    State(shared): State<Shared>,
    Known(caller): Known,
    key: IdempotencyKey,
    Json(items): Json<ResourceImport>,
) -> Result<Kept, Failure> {
    let attempt = attempt("resources.import", "", key, &items);
    Ok(Kept(resources::import(shared.app(), &caller, &attempt, items).await?))
}

/// Get a resource's entry
#[utoipa::path(get, path = "/v1/resources/{type}/{id}", tag = "resources",
    params(("type" = String, Path, max_length = 64), ("id" = String, Path, max_length = 256)),
    responses((status = 200, description = "The entry", body = Resource)))]
pub async fn get(
    State(shared): State<Shared>,
    Known(caller): Known,
    Path((kind, id)): Path<(String, String)>,
) -> Result<Json<Resource>, Failure> {
    let name = name_of(&kind, &id)?;
    Ok(Json(resources::get(shared.app(), &caller, &name).await?))
}

/// List resources
#[utoipa::path(get, path = "/v1/resources", tag = "resources", params(ListQuery),
    responses((status = 200, description = "A page", body = Page<Resource>)))]
pub async fn list(
    State(shared): State<Shared>,
    Known(caller): Known,
    Query(query): Query<ListQuery>,
) -> Result<Json<Page<Resource>>, Failure> {
    let wanted = PageQuery { page_size: query.page_size, page_token: query.page_token };
    let span = span(&wanted, &caller, &"resources")?;
    Ok(page(resources::list(shared.app(), &caller, span).await?, &caller, &"resources"))
}

/// What cannot be a name names nothing.
fn name_of(kind: &str, id: &str) -> Result<ResourceRef, Failure> {
    ResourceRef::new(kind, id).map_err(|error| Failure::missing(&error.to_string()))
}
