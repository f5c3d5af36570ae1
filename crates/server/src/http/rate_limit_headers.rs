//! Rate limit headers: every response contains the remaining quota of the tightest limit, and the
//! retry delay if a limit was exceeded.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use ade_engine::services::rate_limiter::{Nameless, RateStatus};
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::response::{IntoResponse as _, Response};

use super::error::ApiError;
use super::state::Shared;

const LIMIT: HeaderName = HeaderName::from_static("ratelimit-limit");
const REMAINING: HeaderName = HeaderName::from_static("ratelimit-remaining");
const RESET: HeaderName = HeaderName::from_static("ratelimit-reset");

/// Returns the address of the caller; `None` for a call from within the process.
pub(super) fn address_of(request: &Request) -> Option<IpAddr> {
    request.extensions().get::<SocketAddr>().map(SocketAddr::ip)
}

/// Counts an anonymous call by its address.
pub(super) async fn nameless(
    shared: &Shared,
    address: Option<IpAddr>,
    why: Nameless,
    answer: impl Future<Output = Response>,
) -> Response {
    let Some(address) = address else { return answer.await };
    let quota = shared.app().limiter.admit_nameless(address, why).await;
    unless_limited(quota, answer).await
}

/// Returns the response, or a refusal if the limit was exceeded, both with the rate limit headers.
pub(super) async fn unless_limited(
    quota: RateStatus,
    answer: impl Future<Output = Response>,
) -> Response {
    let mut response = match quota.wait {
        Some(wait) => ApiError::limited(&quota.of, wait).into_response(),
        None => answer.await,
    };
    set_headers(&quota, response.headers_mut());
    response
}

/// Adds the rate limit headers. A response from within the process already has them.
fn set_headers(quota: &RateStatus, headers: &mut HeaderMap) {
    let seconds = |span: Duration| span.as_secs() + u64::from(span.subsec_nanos() > 0);
    headers.entry(LIMIT).or_insert(HeaderValue::from(quota.limit));
    headers.entry(REMAINING).or_insert(HeaderValue::from(quota.left));
    headers.entry(RESET).or_insert(HeaderValue::from(seconds(quota.reset)));
}
