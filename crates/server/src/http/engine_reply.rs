//! The reply of the engine as a response, with the version of its document as the `ETag`.

use ade_engine::command::Reply;
use axum::http::header::{CONTENT_TYPE, ETAG};
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;

/// The header that marks a replayed response.
const REPEATED: HeaderName = HeaderName::from_static("idempotency-replayed");

/// The reply of the engine, returned unchanged.
#[derive(Debug)]
pub struct EngineReply(pub Reply);

#[derive(Deserialize)]
struct Versioned {
    version: Option<u64>,
}

impl IntoResponse for EngineReply {
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

pub(super) fn tag(version: u64) -> Option<HeaderValue> {
    HeaderValue::from_str(&format!("\"{version}\"")).ok()
}
