//! Events of other systems over HTTP. Admins manage the sources; messages are authenticated by
//! their signature, and all invalid ones get the same response.

use ade_api::code::Code;
use ade_api::inbound::{
    InboundRotation, InboundSecret, InboundSource, InboundSourceChange, NewInboundSource,
};
use ade_api::page::{Page, PageQuery};
use ade_api::schema;
use ade_api::tasks::Task;
use ade_core::ids::InboundId;
use ade_engine::inbound::{self, Arrived};
use ade_engine::services::webhook_client::seconds;
use axum::extract::State;
use axum::http::HeaderMap;
use utoipa::IntoParams;

use super::auth_layer::Authenticated;
use super::error::ApiError;
use super::extract::{
    CallOrigin, IdempotencyKey, IfMatch, Json, Path, Query, Raw, RepeatHeader, VersionHeader,
};
use super::reply::{EngineReply, Listing, Tagged, attempt, page, span};
use super::state::Shared;
use super::users::ListQuery;

/// Create an inbound source
///
/// A message of the other system, signed as in Standard Webhooks, becomes a draft through the
/// template.
#[utoipa::path(post, path = "/v1/inbound-sources", tag = "inbound", params(RepeatHeader),
    request_body = NewInboundSource,
    responses((status = 201, description = "The secret is shown once", body = InboundSecret)))]
pub async fn create(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    key: IdempotencyKey,
    Json(new): Json<NewInboundSource>,
) -> Result<EngineReply, ApiError> {
    let attempt = attempt("inbound.create", "", key, &new);
    Ok(EngineReply(inbound::create(shared.app(), &caller, &attempt, new).await?))
}

/// List inbound sources, newest first
#[utoipa::path(get, path = "/v1/inbound-sources", tag = "inbound", params(ListQuery),
    responses((status = 200, description = "A page", body = Page<InboundSource>)))]
pub async fn list(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    Query(query): Query<ListQuery>,
) -> Result<Listing<InboundSource>, ApiError> {
    let wanted = PageQuery { page_size: query.page_size, page_token: query.page_token };
    let span = span(&wanted, &caller, &"inbound")?;
    Ok(page(inbound::list(shared.app(), &caller, span).await?, &caller, &"inbound"))
}

/// Get an inbound source
#[utoipa::path(get, path = "/v1/inbound-sources/{id}", tag = "inbound",
    params(("id" = schema::InboundId, Path)),
    responses((status = 200, description = "The current version, to be sent in `If-Match`",
               body = InboundSource)))]
pub async fn get(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    Path(id): Path<InboundId>,
) -> Result<Tagged<InboundSource>, ApiError> {
    let found = inbound::get(shared.app(), &caller, id).await?;
    Ok(Tagged(found.version, found))
}

/// Update, disable or enable an inbound source
#[utoipa::path(patch, path = "/v1/inbound-sources/{id}", tag = "inbound",
    params(("id" = schema::InboundId, Path), VersionHeader, RepeatHeader),
    request_body = InboundSourceChange,
    responses((status = 200, description = "The updated object", body = InboundSource)))]
pub async fn change(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    Path(id): Path<InboundId>,
    IfMatch(version): IfMatch,
    key: IdempotencyKey,
    Json(change): Json<InboundSourceChange>,
) -> Result<EngineReply, ApiError> {
    let attempt = attempt("inbound.change", &format!("{id} {version}"), key, &change);
    Ok(EngineReply(inbound::change(shared.app(), &caller, &attempt, id, version, change).await?))
}

/// Rotate the secret of an inbound source
///
/// Both secrets are valid for a while, so that the sender can switch without losing messages.
#[utoipa::path(post, path = "/v1/inbound-sources/{id}/rotate", tag = "inbound",
    params(("id" = schema::InboundId, Path), RepeatHeader), request_body = InboundRotation,
    responses((status = 200, description = "The new secret is shown once",
               body = InboundSecret)))]
pub async fn rotate(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    Path(id): Path<InboundId>,
    key: IdempotencyKey,
    Json(rotation): Json<InboundRotation>,
) -> Result<EngineReply, ApiError> {
    let attempt = attempt("inbound.rotate", &id.to_string(), key, &rotation);
    Ok(EngineReply(inbound::rotate(shared.app(), &caller, &attempt, id, rotation).await?))
}

/// Delete an inbound source; its messages are refused from then on
#[utoipa::path(delete, path = "/v1/inbound-sources/{id}", tag = "inbound",
    params(("id" = schema::InboundId, Path), RepeatHeader),
    responses((status = 200, description = "The final state", body = InboundSource)))]
pub async fn delete(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    Path(id): Path<InboundId>,
    key: IdempotencyKey,
) -> Result<EngineReply, ApiError> {
    let attempt = attempt("inbound.delete", &id.to_string(), key, &());
    Ok(EngineReply(inbound::delete(shared.app(), &caller, &attempt, id).await?))
}

/// Describes the signature headers of [`receive`].
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Header)]
#[expect(dead_code, reason = "read by the OpenAPI document only")]
pub struct SignatureHeaders {
    /// The message id; a message that is sent twice creates one draft.
    #[param(rename = "webhook-id", value_type = String, required = true)]
    id: String,
    /// Unix time in seconds, at most five minutes from now.
    #[param(rename = "webhook-timestamp", value_type = String, required = true)]
    timestamp: String,
    /// `v1,` followed by the base64 of the HMAC-SHA-256 over id, timestamp and body.
    #[param(rename = "webhook-signature", value_type = String, required = true)]
    signature: String,
}

/// Receive a message of another system
///
/// Signed as in Standard Webhooks. It creates a draft from the source's template, once per
/// `webhook-id`.
#[utoipa::path(post, path = "/v1/inbound/{tenant}/{id}", tag = "inbound",
    params(("tenant" = String, Path), ("id" = String, Path), SignatureHeaders),
    request_body(content = Object, content_type = "application/json",
                 description = "Any JSON that the template expects"),
    responses((status = 201, description = "The draft", body = Task),
              (status = 401, description = "Unknown source, missing or invalid signature, too old \
                                            or too large: the response does not distinguish \
                                            these"),
              (status = 422, description = "The template does not produce a valid task")))]
pub async fn receive(
    State(shared): State<Shared>,
    Path((tenant, source)): Path<(String, String)>,
    CallOrigin(place): CallOrigin,
    headers: HeaderMap,
    Raw(body): Raw,
) -> Result<EngineReply, ApiError> {
    let header = |name: &str| {
        let mut all = headers.get_all(name).iter();
        let first = all.next().filter(|_| all.next().is_none());
        first.and_then(|value| value.to_str().ok()).unwrap_or_default()
    };
    let arrived = Arrived {
        tenant: &tenant,
        source: &source,
        id: header("webhook-id"),
        timestamp: header("webhook-timestamp"),
        signature: header("webhook-signature"),
        body: body.as_deref(),
        place,
        now: seconds(),
    };
    let stranger =
        || ApiError::new(Code::Unauthenticated, "the message could not be authenticated");
    let received = Box::pin(inbound::receive(shared.app(), &arrived)).await?;
    Ok(EngineReply(received.ok_or_else(stranger)?))
}
