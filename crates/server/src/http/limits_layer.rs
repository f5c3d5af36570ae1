//! The layer around every handler: it limits concurrent requests and response times, and responds
//! after a panic. A call that changes something is never aborted when its caller disconnects,
//! because no one would know whether it was committed.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ade_api::code::Code;
use ade_api::problem::Problem;
use ade_core::limits::WAIT_MAX;
use axum::extract::{FromRequestParts, Request, State};
use axum::http::Method;
use axum::http::request::Parts;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tracing::Instrument as _;

use super::capacity::Capacity;
use super::error::ApiError;
use super::route::{Route, RouteTimeout};
use super::state::Shared;

/// Signals to a waiting change that its caller has disconnected, so that it can stop waiting.
#[derive(Debug, Clone)]
pub struct ClientDisconnected(watch::Receiver<bool>);

impl ClientDisconnected {
    pub async fn wait(mut self) {
        // The sender was dropped without a signal, so none will arrive.
        if self.0.wait_for(|is_gone| *is_gone).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

impl FromRequestParts<Shared> for ClientDisconnected {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &Shared) -> Result<Self, ApiError> {
        let gone = parts.extensions.get::<Self>().cloned();
        gone.ok_or_else(|| ApiError::new(Code::Internal, "this route requires authentication"))
    }
}

pub(super) async fn limits_layer(
    State((shared, route)): State<(Shared, Route)>,
    mut request: Request,
    next: Next,
) -> Response {
    let (capacity, limit) = capacity_of(&shared, route, &request);
    let Some(permit) = capacity.take() else {
        metrics::counter!("ade_http_requests_shed_total").increment(1);
        return ApiError::new(Code::Overloaded, "too many requests in progress").into_response();
    };
    let (gone, is_gone) = watch::channel(false);
    request.extensions_mut().insert(ClientDisconnected(is_gone));
    request.extensions_mut().insert(capacity);
    let is_safe = matches!(*request.method(), Method::GET | Method::HEAD);
    let strained = shared.clone();
    let work = async move {
        let response = next.run(request).await;
        note_strain(&strained, &response);
        drop(permit);
        response
    };
    let mut task = RunningHandler { handle: tokio::spawn(work.in_current_span()), is_safe, gone };
    match tokio::time::timeout(limit, &mut task.handle).await {
        Ok(Ok(response)) => response,
        Ok(Err(error)) => {
            // A panic message may contain anything, and is already on standard error.
            tracing::error!(is_panic = error.is_panic(), "request handler failed");
            metrics::counter!("ade_http_panics_total").increment(1);
            ApiError::new(Code::Internal, "an unexpected error occurred").into_response()
        }
        Err(_) => {
            let detail = format!("no response within {} s", limit.as_secs());
            ApiError::new(Code::TimedOut, detail).into_response()
        }
    }
}

/// Counts conflicts with other callers, which are reported as contention.
fn note_strain(shared: &Shared, response: &Response) {
    let now = Instant::now();
    match response.extensions().get::<Box<Problem>>().map(|problem| problem.code) {
        Some(Code::Conflict | Code::Busy) => shared.app().strain.contended(now),
        Some(Code::LockQueueFull) => shared.app().strain.queue_full(now),
        Some(Code::TooManyLocks) => {
            metrics::counter!("ade_lock_hoarders_refused_total").increment(1);
        }
        _ => {}
    }
}

/// Returns the capacity that a request uses, and the time for its response.
fn capacity_of(shared: &Shared, route: Route, request: &Request) -> (Arc<Capacity>, Duration) {
    let limit = shared.settings().answer_timeout();
    let (capacity, limit) = match route.pace {
        _ if route.is_reserved() => (shared.reserved(), limit),
        // A body may request a wait, but is read later.
        RouteTimeout::LongPoll if asks_to_wait(request) || *request.method() == Method::POST => {
            (shared.waits(), limit + WAIT_MAX)
        }
        RouteTimeout::LongPoll | RouteTimeout::Default => (shared.requests(), limit),
    };
    (Arc::clone(capacity), limit)
}

fn asks_to_wait(request: &Request) -> bool {
    let query = request.uri().query().unwrap_or_default();
    query.split('&').any(|pair| pair.starts_with("wait="))
}

/// The task of a request: if the caller disconnects, a read is aborted and a change is completed.
struct RunningHandler {
    handle: JoinHandle<Response>,
    is_safe: bool,
    gone: watch::Sender<bool>,
}

impl Drop for RunningHandler {
    fn drop(&mut self) {
        let _ = self.gone.send(true);
        if self.is_safe {
            self.handle.abort();
        }
    }
}
