//! Events of other systems over HTTP: sources are entered by admins; what they send is known by its
//! signature, and whatever is not is answered alike.

use ade_api::code::Code;
use ade_api::inbound::{
    InboundRotation, InboundSecret, InboundSource, InboundSourceChange, NewInboundSource,
};
use ade_api::page::{Page, PageQuery};
use ade_api::schema;
use ade_api::tasks::Task;
use ade_core::ids::InboundId;
use ade_engine::ops::inbound::{self, Arrived};
use ade_engine::webhooks::seconds;
use axum::extract::State;
use axum::http::HeaderMap;
use utoipa::IntoParams;

use super::door::Known;
use super::error::Failure;
use super::extract::{
    IdempotencyKey, IfMatch, Json, Path, Place, Query, Raw, RepeatHeader, VersionHeader,
};
use super::reply::{Kept, Tagged, attempt, page, span};
use super::state::Shared;
use super::users::ListQuery;

/// Let another system propose drafts
///
/// What it sends, signed as Standard Webhooks has it, becomes a draft by the template.
#[utoipa::path(post, path = "/v1/inbound-sources", tag = "inbound", params(RepeatHeader),
    request_body = NewInboundSource,
    responses((status = 201, description = "With its secret, shown once", body = InboundSecret)))]
pub async fn create(
    State(shared): State<Shared>,
    Known(caller): Known,
    key: IdempotencyKey,
    Json(new): Json<NewInboundSource>,
) -> Result<Kept, Failure> {
    let attempt = attempt("inbound.create", "", key, &new);
    Ok(Kept(inbound::create(shared.app(), &caller, &attempt, new).await?))
}

/// List inbound sources, newest first
#[utoipa::path(get, path = "/v1/inbound-sources", tag = "inbound", params(ListQuery),
    responses((status = 200, description = "A page", body = Page<InboundSource>)))]
pub async fn list(
    State(shared): State<Shared>,
    Known(caller): Known,
    Query(query): Query<ListQuery>,
) -> Result<Json<Page<InboundSource>>, Failure> {
    let wanted = PageQuery { page_size: query.page_size, page_token: query.page_token };
    let span = span(&wanted, &caller, &"inbound")?;
    Ok(page(inbound::list(shared.app(), &caller, span).await?, &caller, &"inbound"))
}

/// See an inbound source
#[utoipa::path(get, path = "/v1/inbound-sources/{id}", tag = "inbound",
    params(("id" = schema::InboundId, Path)),
    responses((status = 200, description = "Its version goes into `If-Match`",
               body = InboundSource)))]
pub async fn get(
    State(shared): State<Shared>,
    Known(caller): Known,
    Path(id): Path<InboundId>,
) -> Result<Tagged<InboundSource>, Failure> {
    let found = inbound::get(shared.app(), &caller, id).await?;
    Ok(Tagged(found.version, found))
}

/// Change an inbound source, disable or enable it
#[utoipa::path(patch, path = "/v1/inbound-sources/{id}", tag = "inbound",
    params(("id" = schema::InboundId, Path), VersionHeader, RepeatHeader),
    request_body = InboundSourceChange,
    responses((status = 200, description = "As it is now", body = InboundSource)))]
pub async fn change(
    State(shared): State<Shared>,
    Known(caller): Known,
    Path(id): Path<InboundId>,
    IfMatch(version): IfMatch,
    key: IdempotencyKey,
    Json(change): Json<InboundSourceChange>,
) -> Result<Kept, Failure> {
    let attempt = attempt("inbound.change", &format!("{id} {version}"), key, &change);
    Ok(Kept(inbound::change(shared.app(), &caller, &attempt, id, version, change).await?))
}

/// Give an inbound source a new secret
///
/// For a while both are good, so that the sender can change over without losing anything.
#[utoipa::path(post, path = "/v1/inbound-sources/{id}/rotate", tag = "inbound",
    params(("id" = schema::InboundId, Path), RepeatHeader), request_body = InboundRotation,
    responses((status = 200, description = "With the new secret, shown once",
               body = InboundSecret)))]
pub async fn rotate(
    State(shared): State<Shared>,
    Known(caller): Known,
    Path(id): Path<InboundId>,
    key: IdempotencyKey,
    Json(rotation): Json<InboundRotation>,
) -> Result<Kept, Failure> {
    let attempt = attempt("inbound.rotate", &id.to_string(), key, &rotation);
    Ok(Kept(inbound::rotate(shared.app(), &caller, &attempt, id, rotation).await?))
}

/// Delete an inbound source; nothing is taken from it any more
#[utoipa::path(delete, path = "/v1/inbound-sources/{id}", tag = "inbound",
    params(("id" = schema::InboundId, Path), RepeatHeader),
    responses((status = 200, description = "As it ended", body = InboundSource)))]
pub async fn delete(
    State(shared): State<Shared>,
    Known(caller): Known,
    Path(id): Path<InboundId>,
    key: IdempotencyKey,
) -> Result<Kept, Failure> {
    let attempt = attempt("inbound.delete", &id.to_string(), key, &());
    Ok(Kept(inbound::delete(shared.app(), &caller, &attempt, id).await?))
}

/// For the description of [`receive`].
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Header)]
#[expect(dead_code, reason = "read by the OpenAPI document only")]
pub struct SignatureHeaders {
    /// Names the message: sent twice, it is one draft.
    #[param(rename = "webhook-id", value_type = String, required = true)]
    id: String,
    /// Seconds since 1970, at most five minutes from now.
    #[param(rename = "webhook-timestamp", value_type = String, required = true)]
    timestamp: String,
    /// `v1,` and the base64 of HMAC-SHA-256 over id, timestamp and body.
    #[param(rename = "webhook-signature", value_type = String, required = true)]
    signature: String,
}

/// Take an event of another system
///
/// Signed as Standard Webhooks has it. It becomes a draft by the source's template, once per
/// `webhook-id`, and nothing more.
#[utoipa::path(post, path = "/v1/inbound/{tenant}/{id}", tag = "inbound",
    params(("tenant" = String, Path), ("id" = String, Path), SignatureHeaders),
    request_body(content = Object, content_type = "application/json",
                 description = "Whatever the template expects"),
    responses((status = 201, description = "The draft", body = Task),
              (status = 401, description = "Unknown, not signed, too old or too large: all alike"),
              (status = 422, description = "The template makes no task of it")))]
pub async fn receive(
    State(shared): State<Shared>,
    Path((tenant, source)): Path<(String, String)>,
    Place(place): Place,
    headers: HeaderMap,
    Raw(body): Raw,
) -> Result<Kept, Failure> {
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
    let stranger = || Failure::new(Code::Unauthenticated, "this is not known to come from there");
    Ok(Kept(inbound::receive(shared.app(), &arrived).await?.ok_or_else(stranger)?))
}
