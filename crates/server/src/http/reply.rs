//! How handlers answer: with what the engine kept for this request, or with a page of a list.

use ade_api::page::{Page, PageError, PageQuery};
use ade_core::change::Digest;
use ade_engine::ops::{Paged, Reply, Span};
use ade_engine::{Attempt, Caller};
use axum::http::header::{CONTENT_TYPE, ETAG};
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::error::Failure;
use super::extract::{IdempotencyKey, Json, holds_zero};

/// Tells the caller that the answer is the one it was given before.
const REPEATED: HeaderName = HeaderName::from_static("idempotency-replayed");

/// What the engine wrote for this request, word for word.
#[derive(Debug)]
pub struct Kept(pub Reply);

#[derive(Deserialize)]
struct Versioned {
    version: Option<u64>,
}

impl IntoResponse for Kept {
    fn into_response(self) -> Response {
        let Reply { status, body, is_repeated } = self.0;
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let version = serde_json::from_str::<Versioned>(&body).ok().and_then(|seen| seen.version);
        let mut response = (status, [(CONTENT_TYPE, "application/json")], body).into_response();
        if let Some(tag) = version.and_then(tag) {
            response.headers_mut().insert(ETAG, tag);
        }
        if is_repeated {
            response.headers_mut().insert(REPEATED, HeaderValue::from_static("true"));
        }
        response
    }
}

pub fn tag(version: u64) -> Option<HeaderValue> {
    HeaderValue::from_str(&format!("\"{version}\"")).ok()
}

/// A document with the version that `If-Match` names later.
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

/// One call, so that its repetition is known: by what was asked, and with which body.
pub fn attempt(
    operation: &str,
    object: &str,
    IdempotencyKey(key): IdempotencyKey,
    body: &impl Serialize,
) -> Attempt {
    let body = Digest::of(&serde_json::to_vec(body).unwrap_or_default());
    Attempt { route: format!("{operation} {object}"), key, body }
}

/// Where a page begins. The token only continues the list it was made for, and nothing of ours ends
/// with a text that the record cannot keep.
pub fn span<K: DeserializeOwned + Serialize>(
    page: &PageQuery,
    caller: &Caller,
    filter: &impl Serialize,
) -> Result<Span<K>, Failure> {
    let limit = page.size()?;
    let after: Option<K> = page.after(&(caller.tenant, filter))?;
    if serde_json::to_vec(&after).is_ok_and(|json| holds_zero(&json)) {
        return Err(PageError::Token.into());
    }
    Ok(Span { after, limit })
}

pub fn page<T, K: Serialize>(
    paged: Paged<T, K>,
    caller: &Caller,
    filter: &impl Serialize,
) -> Json<Page<T>> {
    Json(Page::ending(paged.items, paged.next.as_ref(), &(caller.tenant, filter)))
}
