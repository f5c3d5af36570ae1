//! The outermost layer: it gives every call an id, a span, a log line and metrics, and every
//! response security headers and, if it failed, a problem document. Headers, bodies and queries
//! are not logged, because they may contain secrets.

use std::time::Instant;

use ade_api::problem::{self, Problem};
use ade_core::ids::RequestId;
use axum::body::Body;
use axum::extract::{MatchedPath, Request};
use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, LINK};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Uri};
use axum::middleware::Next;
use axum::response::Response;
use tracing::Instrument as _;
use uuid::Uuid;

use super::reply::NextPage;

pub const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Headers of every response, unless the handler has set them itself.
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

/// The parameter that continues a list. The token is base64url, so it needs no encoding.
const PAGE_TOKEN: &str = "page_token=";
/// The route label of all unmatched paths, so that callers cannot create metrics.
const NO_ROUTE: &str = "none";

pub(super) async fn wrap(mut request: Request, next: Next) -> Response {
    let began = Instant::now();
    let request_id = RequestId::from_uuid(Uuid::now_v7());
    request.extensions_mut().insert(request_id);
    let method = method_label(request.method());
    let route = request.extensions().get::<MatchedPath>();
    let route = route.map_or(NO_ROUTE, MatchedPath::as_str).to_owned();
    let span = tracing::info_span!("request", %request_id, method, route);
    let uri = request.uri().clone();

    let mut response = next.run(request).instrument(span.clone()).await;

    let problem = response.extensions_mut().remove::<Box<Problem>>();
    let code = problem.as_ref().map_or("", |problem| problem.code.as_str());
    let status = response.status().as_u16();
    let seconds = began.elapsed().as_secs_f64();
    span.in_scope(|| {
        if status >= 500 {
            tracing::error!(status, code, seconds, "request completed");
        } else {
            tracing::info!(status, code, seconds, "request completed");
        }
    });
    count(method, route, status, seconds);
    if let Some(NextPage(Some(token))) = response.extensions_mut().remove::<NextPage>() {
        link_next(response.headers_mut(), &uri, &token);
    }
    if let Some(problem) = problem {
        let problem = Problem { request_id: request_id.to_string(), ..*problem };
        write_problem(&mut response, &problem);
    }
    complete(response.headers_mut(), request_id);
    response
}

/// Adds the URL of the next page: the one of this page with another page token (RFC 8288).
fn link_next(headers: &mut HeaderMap, uri: &Uri, token: &str) {
    let query = uri.query().unwrap_or_default();
    let kept = query.split('&').filter(|pair| !pair.is_empty() && !pair.starts_with(PAGE_TOKEN));
    let query: String = kept.flat_map(|pair| [pair, "&"]).collect();
    let link = format!("<{}?{query}{PAGE_TOKEN}{token}>; rel=\"next\"", uri.path());
    if let Ok(value) = HeaderValue::from_str(&link) {
        headers.insert(LINK, value);
    }
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

/// Returns the method label. Unknown methods share one, so that callers cannot create metrics.
fn method_label(method: &Method) -> &'static str {
    let known = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
    known.into_iter().find(|name| method.as_str() == *name).unwrap_or("other")
}
