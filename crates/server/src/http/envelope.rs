//! The outermost layer: gives every call its id, its span, its line in the log and its place in
//! the metrics, and every answer its security headers and, if it failed, its problem document.
//! Neither headers nor bodies nor queries are logged, so no secret can be.

use std::time::Instant;

use ade_api::problem::{self, Problem};
use ade_core::ids::RequestId;
use axum::body::Body;
use axum::extract::{MatchedPath, Request};
use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method};
use axum::middleware::Next;
use axum::response::Response;
use tracing::Instrument as _;
use uuid::Uuid;

use super::error::Failure;

pub const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// On every answer. A handler that has set one of them itself keeps its own.
pub static HEADERS: [(HeaderName, &str); 9] = [
    (CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'"),
    (CACHE_CONTROL, "no-store"),
    (HeaderName::from_static("x-content-type-options"), "nosniff"),
    (HeaderName::from_static("x-frame-options"), "DENY"),
    (HeaderName::from_static("referrer-policy"), "no-referrer"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (
        HeaderName::from_static("permissions-policy"),
        "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    ),
    (HeaderName::from_static("strict-transport-security"), "max-age=31536000; includeSubDomains"),
];

/// One name for all that no route takes: paths of strangers would fill the metrics.
const NO_ROUTE: &str = "none";

pub(super) async fn wrap(mut request: Request, next: Next) -> Response {
    let began = Instant::now();
    let request_id = RequestId::from_uuid(Uuid::now_v7());
    request.extensions_mut().insert(request_id);
    let method = method_label(request.method());
    let route = request.extensions().get::<MatchedPath>();
    let route = route.map_or(NO_ROUTE, MatchedPath::as_str).to_owned();
    let span = tracing::info_span!("request", %request_id, method, route);

    let mut response = next.run(request).instrument(span.clone()).await;

    let failure = response.extensions_mut().remove::<Failure>();
    let code = failure.as_ref().map_or("", |failure| failure.code().as_str());
    let status = response.status().as_u16();
    let seconds = began.elapsed().as_secs_f64();
    span.in_scope(|| {
        if status >= 500 {
            tracing::error!(status, code, seconds, "answered");
        } else {
            tracing::info!(status, code, seconds, "answered");
        }
    });
    count(method, route, status, seconds);
    if let Some(failure) = failure {
        write_problem(&mut response, &failure.into_problem(request_id.to_string()));
    }
    complete(response.headers_mut(), request_id);
    response
}

fn write_problem(response: &mut Response, problem: &Problem) {
    let body = serde_json::to_vec(problem).unwrap_or_default();
    *response.body_mut() = Body::from(body);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(problem::MEDIA_TYPE));
}

fn complete(headers: &mut HeaderMap, request_id: RequestId) {
    for (name, value) in &HEADERS {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    if let Ok(value) = HeaderValue::from_str(&request_id.to_string()) {
        headers.insert(REQUEST_ID, value);
    }
}

fn count(method: &'static str, route: String, status: u16, seconds: f64) {
    let labels = [("method", method.to_owned()), ("route", route), ("status", status.to_string())];
    metrics::histogram!("ade_http_request_duration_seconds", &labels).record(seconds);
}

/// A caller may invent methods; the metrics have room for those we know.
fn method_label(method: &Method) -> &'static str {
    let known = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
    known.into_iter().find(|name| method.as_str() == *name).unwrap_or("other")
}
