//! What stands around every handler: room for it or a refusal at once, a time after which its
//! caller is answered, and a panic turned into an answer. A call that changes something is never
//! cut short by a caller who has gone: a half-heard COMMIT would help nobody.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ade_api::code::Code;
use ade_core::limits::WAIT_MAX;
use axum::extract::{FromRequestParts, Request, State};
use axum::http::Method;
use axum::http::request::Parts;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinHandle;
use tracing::Instrument as _;

use super::error::Failure;
use super::routes::Pace;
use super::state::Shared;

/// Tells a change that waits when its caller has gone: there is nothing more to wait for.
#[derive(Debug, Clone)]
pub struct Gone(watch::Receiver<bool>);

impl Gone {
    pub async fn wait(mut self) {
        // A sender that was dropped has told, or never will.
        if self.0.wait_for(|is_gone| *is_gone).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

impl FromRequestParts<Shared> for Gone {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _: &Shared) -> Result<Self, Failure> {
        let gone = parts.extensions.get::<Self>().cloned();
        gone.ok_or_else(|| Failure::new(Code::Internal, "this route knows no caller"))
    }
}

pub(super) async fn watch(
    State((shared, pace)): State<(Shared, Pace)>,
    mut request: Request,
    next: Next,
) -> Response {
    let (room, limit) = room(&shared, pace, &request);
    let Ok(permit) = room.try_acquire_owned() else {
        metrics::counter!("ade_http_requests_shed_total").increment(1);
        return Failure::new(Code::Overloaded, "too many requests are at work").into_response();
    };
    let (gone, is_gone) = watch::channel(false);
    request.extensions_mut().insert(Gone(is_gone));
    let is_safe = matches!(*request.method(), Method::GET | Method::HEAD);
    let strained = shared.clone();
    let work = async move {
        let response = next.run(request).await;
        note_strain(&strained, &response);
        drop(permit);
        response
    };
    let mut task = Work { handle: tokio::spawn(work.in_current_span()), is_safe, gone };
    match tokio::time::timeout(limit, &mut task.handle).await {
        Ok(Ok(response)) => response,
        Ok(Err(error)) => {
            // The message of a panic may hold anything; it went to standard error already.
            tracing::error!(is_panic = error.is_panic(), "a handler did not end");
            metrics::counter!("ade_http_panics_total").increment(1);
            Failure::new(Code::Internal, "something unforeseen happened").into_response()
        }
        Err(_) => {
            let detail = format!("no answer within {} s", limit.as_secs());
            Failure::new(Code::TimedOut, detail).into_response()
        }
    }
}

/// Who was turned away because of others adds up to something that is told.
fn note_strain(shared: &Shared, response: &Response) {
    let now = Instant::now();
    match response.extensions().get::<Failure>().map(Failure::code) {
        Some(Code::Conflict | Code::Busy) => shared.app().strain.contended(now),
        Some(Code::LockQueueFull) => shared.app().strain.queue_full(now),
        Some(Code::TooManyLocks) => {
            metrics::counter!("ade_lock_hoarders_refused_total").increment(1);
        }
        _ => {}
    }
}

fn room(shared: &Shared, pace: Pace, request: &Request) -> (Arc<Semaphore>, Duration) {
    let limit = shared.settings().answer_timeout();
    match pace {
        // A body says later how long it waits.
        Pace::Waiting if asks_to_wait(request) || *request.method() == Method::POST => {
            (shared.waits(), limit + WAIT_MAX)
        }
        Pace::Waiting | Pace::Quick => (shared.requests(), limit),
    }
}

fn asks_to_wait(request: &Request) -> bool {
    let query = request.uri().query().unwrap_or_default();
    query.split('&').any(|pair| pair.starts_with("wait="))
}

/// A read that nobody waits for is stopped; a change goes on to its end.
struct Work {
    handle: JoinHandle<Response>,
    is_safe: bool,
    gone: watch::Sender<bool>,
}

impl Drop for Work {
    fn drop(&mut self) {
        let _ = self.gone.send(true);
        if self.is_safe {
            self.handle.abort();
        }
    }
}
