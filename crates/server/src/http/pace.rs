//! What callers are told of how often they may call: on every answer what is left of the rate that
//! leaves them least, and how long to stay away if it was too often.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use ade_engine::limiter::{Nameless, Told};
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::response::{IntoResponse as _, Response};

use super::error::Failure;
use super::state::Shared;

const LIMIT: HeaderName = HeaderName::from_static("ratelimit-limit");
const REMAINING: HeaderName = HeaderName::from_static("ratelimit-remaining");
const RESET: HeaderName = HeaderName::from_static("ratelimit-reset");

/// Where a call comes from; nowhere if it comes from within.
pub(super) fn address_of(request: &Request) -> Option<IpAddr> {
    request.extensions().get::<SocketAddr>().map(SocketAddr::ip)
}

/// The answer to nobody in particular, counted by where they are.
pub(super) async fn nameless(
    shared: &Shared,
    address: Option<IpAddr>,
    why: Nameless,
    answer: impl Future<Output = Response>,
) -> Response {
    let Some(address) = address else { return answer.await };
    let told = shared.app().limiter.admit_nameless(address, why).await;
    unless_limited(told, answer).await
}

/// The answer, or the refusal without it; both say how the caller stands.
pub(super) async fn unless_limited(told: Told, answer: impl Future<Output = Response>) -> Response {
    let mut response = match told.wait {
        Some(wait) => Failure::limited(&told.of, wait).into_response(),
        None => answer.await,
    };
    tell(&told, response.headers_mut());
    response
}

/// An answer from within has told already, of the call that it was made of.
fn tell(told: &Told, headers: &mut HeaderMap) {
    let seconds = |span: Duration| span.as_secs() + u64::from(span.subsec_nanos() > 0);
    headers.entry(LIMIT).or_insert(HeaderValue::from(told.limit));
    headers.entry(REMAINING).or_insert(HeaderValue::from(told.left));
    headers.entry(RESET).or_insert(HeaderValue::from(seconds(told.reset)));
}
