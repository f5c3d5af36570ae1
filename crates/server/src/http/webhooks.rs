//! Webhooks over HTTP, for admins. A secret is only contained in the response that creates it.

use ade_api::page::{Page, PageQuery};
use ade_api::schema;
use ade_api::webhooks::{
    Delivery, DeliveryState, NewWebhook, Redelivered, Redelivery, Webhook, WebhookChange,
    WebhookRotation, WebhookSecret,
};
use ade_core::ids::WebhookId;
use ade_engine::webhooks;
use axum::extract::State;
use serde::Deserialize;
use utoipa::IntoParams;

use super::auth_layer::Authenticated;
use super::error::ApiError;
use super::extract::{IdempotencyKey, IfMatch, Json, Path, Query, RepeatHeader, VersionHeader};
use super::reply::{EngineReply, Listing, Tagged, attempt, page, span};
use super::state::Shared;
use super::users::ListQuery;

/// Create a webhook
///
/// Requests are signed as in Standard Webhooks; an event is delivered at least once.
#[utoipa::path(post, path = "/v1/webhooks", tag = "webhooks", params(RepeatHeader),
    request_body = NewWebhook,
    responses((status = 201, description = "The secret is shown once", body = WebhookSecret)))]
pub async fn create(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    key: IdempotencyKey,
    Json(new): Json<NewWebhook>,
) -> Result<EngineReply, ApiError> {
    let attempt = attempt("webhooks.create", "", key, &new);
    Ok(EngineReply(webhooks::create(shared.app(), &caller, &attempt, new).await?))
}

/// List webhooks, newest first
#[utoipa::path(get, path = "/v1/webhooks", tag = "webhooks", params(ListQuery),
    responses((status = 200, description = "A page", body = Page<Webhook>)))]
pub async fn list(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    Query(query): Query<ListQuery>,
) -> Result<Listing<Webhook>, ApiError> {
    let wanted = PageQuery { page_size: query.page_size, page_token: query.page_token };
    let span = span(&wanted, &caller, &"webhooks")?;
    Ok(page(webhooks::list(shared.app(), &caller, span).await?, &caller, &"webhooks"))
}

/// Get a webhook and its state
#[utoipa::path(get, path = "/v1/webhooks/{id}", tag = "webhooks",
    params(("id" = schema::WebhookId, Path)),
    responses((status = 200, description = "The current version, to be sent in `If-Match`",
        body = Webhook)))]
pub async fn get(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    Path(id): Path<WebhookId>,
) -> Result<Tagged<Webhook>, ApiError> {
    let found = webhooks::get(shared.app(), &caller, id).await?;
    Ok(Tagged(found.version, found))
}

/// Update, disable or enable a webhook
#[utoipa::path(patch, path = "/v1/webhooks/{id}", tag = "webhooks",
    params(("id" = schema::WebhookId, Path), VersionHeader, RepeatHeader),
    request_body = WebhookChange,
    responses((status = 200, description = "The updated object", body = Webhook)))]
pub async fn change(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    Path(id): Path<WebhookId>,
    IfMatch(version): IfMatch,
    key: IdempotencyKey,
    Json(change): Json<WebhookChange>,
) -> Result<EngineReply, ApiError> {
    let attempt = attempt("webhooks.change", &format!("{id} {version}"), key, &change);
    Ok(EngineReply(webhooks::change(shared.app(), &caller, &attempt, id, version, change).await?))
}

/// Rotate the secret of a webhook
///
/// Both secrets sign for a while, so that the receiver can switch without losing events.
#[utoipa::path(post, path = "/v1/webhooks/{id}/rotate", tag = "webhooks",
    params(("id" = schema::WebhookId, Path), RepeatHeader), request_body = WebhookRotation,
    responses((status = 200, description = "The new secret is shown once",
               body = WebhookSecret)))]
pub async fn rotate(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    Path(id): Path<WebhookId>,
    key: IdempotencyKey,
    Json(rotation): Json<WebhookRotation>,
) -> Result<EngineReply, ApiError> {
    let attempt = attempt("webhooks.rotate", &id.to_string(), key, &rotation);
    Ok(EngineReply(webhooks::rotate(shared.app(), &caller, &attempt, id, rotation).await?))
}

/// Delete a webhook; its pending deliveries are not sent
#[utoipa::path(delete, path = "/v1/webhooks/{id}", tag = "webhooks",
    params(("id" = schema::WebhookId, Path), RepeatHeader),
    responses((status = 200, description = "The final state", body = Webhook)))]
pub async fn delete(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    Path(id): Path<WebhookId>,
    key: IdempotencyKey,
) -> Result<EngineReply, ApiError> {
    let attempt = attempt("webhooks.delete", &id.to_string(), key, &());
    Ok(EngineReply(webhooks::delete(shared.app(), &caller, &attempt, id).await?))
}

/// Send a test event to a webhook
#[utoipa::path(post, path = "/v1/webhooks/{id}/ping", tag = "webhooks",
    params(("id" = schema::WebhookId, Path), RepeatHeader),
    responses((status = 202, description = "Scheduled; see the deliveries for the result",
               body = Delivery)))]
pub async fn ping(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    Path(id): Path<WebhookId>,
    key: IdempotencyKey,
) -> Result<EngineReply, ApiError> {
    let attempt = attempt("webhooks.ping", &id.to_string(), key, &());
    Ok(EngineReply(webhooks::ping(shared.app(), &caller, &attempt, id).await?))
}

#[derive(Debug, Clone, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct DeliveryQuery {
    /// Defaults to all states.
    #[param(inline)]
    pub state: Option<DeliveryState>,
    /// The maximum number of items.
    #[param(minimum = 1, maximum = 200, default = 50)]
    pub page_size: Option<u32>,
    /// The `next_page_token` of the previous page.
    pub page_token: Option<String>,
}

/// List the deliveries of a webhook, newest first
#[utoipa::path(get, path = "/v1/webhooks/{id}/deliveries", tag = "webhooks",
    operation_id = "list_deliveries",
    params(("id" = schema::WebhookId, Path), DeliveryQuery),
    responses((status = 200, description = "A page; deliveries are kept for 30 days",
        body = Page<Delivery>)))]
pub async fn deliveries(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    Path(id): Path<WebhookId>,
    Query(query): Query<DeliveryQuery>,
) -> Result<Listing<Delivery>, ApiError> {
    let wanted = PageQuery { page_size: query.page_size, page_token: query.page_token };
    let filter = ("deliveries", id, query.state);
    let span = span(&wanted, &caller, &filter)?;
    let found = webhooks::deliveries(shared.app(), &caller, id, query.state, span).await?;
    Ok(page(found, &caller, &filter))
}

/// Redeliver deliveries
///
/// Under the same `webhook-id`, so that a receiver can detect duplicates.
#[utoipa::path(post, path = "/v1/webhooks/{id}/redeliver", tag = "webhooks",
    params(("id" = schema::WebhookId, Path), RepeatHeader), request_body = Redelivery,
    responses((status = 202, description = "The number of items scheduled", body = Redelivered)))]
pub async fn redeliver(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    Path(id): Path<WebhookId>,
    key: IdempotencyKey,
    Json(wanted): Json<Redelivery>,
) -> Result<EngineReply, ApiError> {
    let attempt = attempt("webhooks.redeliver", &id.to_string(), key, &wanted);
    Ok(EngineReply(webhooks::redeliver(shared.app(), &caller, &attempt, id, wanted).await?))
}
