//! Responses of handlers: a reply of the engine, a document with its version, or a page of a list.

use std::convert::Infallible;

use ade_api::page::{Page, PageError, PageQuery};
use ade_core::change::Digest;
use ade_engine::command::{Paged, Span};
use ade_engine::{Caller, IdempotentRequest};
use axum::http::header::ETAG;
use axum::response::{IntoResponse, IntoResponseParts, Response, ResponseParts};
use serde::Serialize;
use serde::de::DeserializeOwned;

pub use super::engine_reply::EngineReply;
use super::engine_reply::tag;
use super::error::ApiError;
use super::extract::{IdempotencyKey, Json, holds_zero};

/// A document with its version, which becomes the `ETag` for a later `If-Match`.
#[derive(Debug)]
pub struct Tagged<T>(pub u64, pub T);

impl<T: Serialize> IntoResponse for Tagged<T> {
    fn into_response(self) -> Response {
        let mut response = Json(self.1).into_response();
        if let Some(tag) = tag(self.0) {
            response.headers_mut().insert(ETAG, tag);
        }
        response
    }
}

/// Identifies a request by its route, idempotency key and body, so that a repetition is detected.
pub fn attempt(
    operation: &str,
    object: &str,
    IdempotencyKey(key): IdempotencyKey,
    body: &impl Serialize,
) -> IdempotentRequest {
    let body = Digest::of(&serde_json::to_vec(body).unwrap_or_default());
    IdempotentRequest { route: format!("{operation} {object}"), key, body }
}

/// Returns the start and size of a page. A token is refused if it was made for another list or
/// contains text that the database cannot store.
pub fn span<K: DeserializeOwned + Serialize>(
    page: &PageQuery,
    caller: &Caller,
    filter: &impl Serialize,
) -> Result<Span<K>, ApiError> {
    let limit = page.size()?;
    let after: Option<K> = page.after(&(caller.tenant, filter))?;
    if serde_json::to_vec(&after).is_ok_and(|json| holds_zero(&json)) {
        return Err(PageError::Token.into());
    }
    Ok(Span { after, limit })
}

/// The token of the next page, from which [`request_context`](super::request_context) makes the
/// `Link` header of the response.
#[derive(Debug, Clone)]
pub struct NextPage(pub Option<String>);

impl IntoResponseParts for NextPage {
    type Error = Infallible;

    fn into_response_parts(self, mut parts: ResponseParts) -> Result<ResponseParts, Infallible> {
        parts.extensions_mut().insert(self);
        Ok(parts)
    }
}

/// A page as the response of a list.
pub type Listing<T> = (NextPage, Json<Page<T>>);

pub fn page<T, K: Serialize>(
    paged: Paged<T, K>,
    caller: &Caller,
    filter: &impl Serialize,
) -> Listing<T> {
    let page = Page::ending(paged.items, paged.next.as_ref(), &(caller.tenant, filter));
    (NextPage(page.next_page_token.clone()), Json(page))
}
