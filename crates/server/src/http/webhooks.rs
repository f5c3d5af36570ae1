//! Webhooks over HTTP: for admins alone. A secret is in the answer that made it, and nowhere else.

use ade_api::page::{Page, PageQuery};
use ade_api::schema;
use ade_api::webhooks::{
    Delivery, DeliveryState, NewWebhook, Redelivered, Redelivery, Webhook, WebhookChange,
    WebhookRotation, WebhookSecret,
};
use ade_core::ids::WebhookId;
use ade_engine::ops::webhooks;
use axum::extract::State;
use serde::Deserialize;
use utoipa::IntoParams;

use super::door::Known;
use super::error::Failure;
use super::extract::{IdempotencyKey, IfMatch, Json, Path, Query, RepeatHeader, VersionHeader};
use super::reply::{Kept, Tagged, attempt, page, span};
use super::state::Shared;
use super::users::ListQuery;

/// Have an address told of events
///
/// Requests are signed as Standard Webhooks has it; an event comes at least once.
#[utoipa::path(post, path = "/v1/webhooks", tag = "webhooks", params(RepeatHeader),
    request_body = NewWebhook,
    responses((status = 201, description = "With its secret, shown once", body = WebhookSecret)))]
pub async fn create(
    State(shared): State<Shared>,
    Known(caller): Known,
    key: IdempotencyKey,
    Json(new): Json<NewWebhook>,
) -> Result<Kept, Failure> {
    let attempt = attempt("webhooks.create", "", key, &new);
    Ok(Kept(webhooks::create(shared.app(), &caller, &attempt, new).await?))
}

/// List webhooks, newest first
#[utoipa::path(get, path = "/v1/webhooks", tag = "webhooks", params(ListQuery),
    responses((status = 200, description = "A page", body = Page<Webhook>)))]
pub async fn list(
    State(shared): State<Shared>,
    Known(caller): Known,
    Query(query): Query<ListQuery>,
) -> Result<Json<Page<Webhook>>, Failure> {
    let wanted = PageQuery { page_size: query.page_size, page_token: query.page_token };
    let span = span(&wanted, &caller, &"webhooks")?;
    Ok(page(webhooks::list(shared.app(), &caller, span).await?, &caller, &"webhooks"))
}

/// See a webhook and how it does
#[utoipa::path(get, path = "/v1/webhooks/{id}", tag = "webhooks",
    params(("id" = schema::WebhookId, Path)),
    responses((status = 200, description = "Its version goes into `If-Match`", body = Webhook)))]
pub async fn get(
    State(shared): State<Shared>,
    Known(caller): Known,
    Path(id): Path<WebhookId>,
) -> Result<Tagged<Webhook>, Failure> {
    let found = webhooks::get(shared.app(), &caller, id).await?;
    Ok(Tagged(found.version, found))
}

/// Change a webhook, disable or enable it
#[utoipa::path(patch, path = "/v1/webhooks/{id}", tag = "webhooks",
    params(("id" = schema::WebhookId, Path), VersionHeader, RepeatHeader),
    request_body = WebhookChange,
    responses((status = 200, description = "As it is now", body = Webhook)))]
pub async fn change(
    State(shared): State<Shared>,
    Known(caller): Known,
    Path(id): Path<WebhookId>,
    IfMatch(version): IfMatch,
    key: IdempotencyKey,
    Json(change): Json<WebhookChange>,
) -> Result<Kept, Failure> {
    let attempt = attempt("webhooks.change", &format!("{id} {version}"), key, &change);
    Ok(Kept(webhooks::change(shared.app(), &caller, &attempt, id, version, change).await?))
}

/// Give a webhook a new secret
///
/// For a while both sign, so that the receiver can change over without losing anything.
#[utoipa::path(post, path = "/v1/webhooks/{id}/rotate", tag = "webhooks",
    params(("id" = schema::WebhookId, Path), RepeatHeader), request_body = WebhookRotation,
    responses((status = 200, description = "With the new secret, shown once",
               body = WebhookSecret)))]
pub async fn rotate(
    State(shared): State<Shared>,
    Known(caller): Known,
    Path(id): Path<WebhookId>,
    key: IdempotencyKey,
    Json(rotation): Json<WebhookRotation>,
) -> Result<Kept, Failure> {
    let attempt = attempt("webhooks.rotate", &id.to_string(), key, &rotation);
    Ok(Kept(webhooks::rotate(shared.app(), &caller, &attempt, id, rotation).await?))
}

/// Delete a webhook; what waits for it is not sent
#[utoipa::path(delete, path = "/v1/webhooks/{id}", tag = "webhooks",
    params(("id" = schema::WebhookId, Path), RepeatHeader),
    responses((status = 200, description = "As it ended", body = Webhook)))]
pub async fn delete(
    State(shared): State<Shared>,
    Known(caller): Known,
    Path(id): Path<WebhookId>,
    key: IdempotencyKey,
) -> Result<Kept, Failure> {
    let attempt = attempt("webhooks.delete", &id.to_string(), key, &());
    Ok(Kept(webhooks::delete(shared.app(), &caller, &attempt, id).await?))
}

/// Try a webhook out
#[utoipa::path(post, path = "/v1/webhooks/{id}/ping", tag = "webhooks",
    params(("id" = schema::WebhookId, Path), RepeatHeader),
    responses((status = 202, description = "On its way; see the deliveries for what comes of it",
               body = Delivery)))]
pub async fn ping(
    State(shared): State<Shared>,
    Known(caller): Known,
    Path(id): Path<WebhookId>,
    key: IdempotencyKey,
) -> Result<Kept, Failure> {
    let attempt = attempt("webhooks.ping", &id.to_string(), key, &());
    Ok(Kept(webhooks::ping(shared.app(), &caller, &attempt, id).await?))
}

#[derive(Debug, Clone, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct DeliveryQuery {
    /// All of them if left out.
    #[param(inline)]
    pub state: Option<DeliveryState>,
    /// How many at most.
    #[param(minimum = 1, maximum = 200, default = 50)]
    pub page_size: Option<u32>,
    /// `next_page_token` of the page before.
    pub page_token: Option<String>,
}

/// See what is on its way to a webhook, and what was, newest first
#[utoipa::path(get, path = "/v1/webhooks/{id}/deliveries", tag = "webhooks",
    params(("id" = schema::WebhookId, Path), DeliveryQuery),
    responses((status = 200, description = "A page; kept for 30 days", body = Page<Delivery>)))]
pub async fn deliveries(
    State(shared): State<Shared>,
    Known(caller): Known,
    Path(id): Path<WebhookId>,
    Query(query): Query<DeliveryQuery>,
) -> Result<Json<Page<Delivery>>, Failure> {
    let wanted = PageQuery { page_size: query.page_size, page_token: query.page_token };
    let filter = ("deliveries", id, query.state);
    let span = span(&wanted, &caller, &filter)?;
    let found = webhooks::deliveries(shared.app(), &caller, id, query.state, span).await?;
    Ok(page(found, &caller, &filter))
}

/// Send deliveries once more
///
/// Under the same `webhook-id`: a receiver that has seen it knows it.
#[utoipa::path(post, path = "/v1/webhooks/{id}/redeliver", tag = "webhooks",
    params(("id" = schema::WebhookId, Path), RepeatHeader), request_body = Redelivery,
    responses((status = 202, description = "How many are on their way", body = Redelivered)))]
pub async fn redeliver(
    State(shared): State<Shared>,
    Known(caller): Known,
    Path(id): Path<WebhookId>,
    key: IdempotencyKey,
    Json(wanted): Json<Redelivery>,
) -> Result<Kept, Failure> {
    let attempt = attempt("webhooks.redeliver", &id.to_string(), key, &wanted);
    Ok(Kept(webhooks::redeliver(shared.app(), &caller, &attempt, id, wanted).await?))
}
