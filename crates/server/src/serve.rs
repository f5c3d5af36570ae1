//! Connections: accepted up to a bound, given a time to send their head, and let go in order when
//! the server stops. HTTP/1.1 only: there is no TLS here yet, and so nothing that would agree on
//! HTTP/2 without guessing.

use std::sync::Arc;
use std::time::Duration;

use ade_core::limits::{HEAD_MAX_BYTES, HEADERS_MAX};
use axum::Router;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::{Instant, timeout_at};

use crate::config;
use crate::http::state::Shared;

/// After the kernel refused a connection (no descriptors left), before asking again.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// Histograms keep raw values until they are folded.
const FOLD_PERIOD: Duration = Duration::from_secs(5);

/// How the server ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// Every request was answered.
    Drained,
    /// Time ran out; those left were cut.
    Cut,
}

/// Serves until `stop` resolves, then accepts nothing more and lets requests end.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    shared: Shared,
    stop: impl Future<Output = ()>,
) -> Ended {
    // Every connection has a receiver: told to end, it closes when the last of them has gone.
    let (closing, is_closing) = watch::channel(false);
    let builder = connection_builder(shared.settings());
    let connections = Arc::new(Semaphore::new(shared.settings().connections_max));
    let mut fold = tokio::time::interval(FOLD_PERIOD);
    let mut stop = std::pin::pin!(stop);
    loop {
        let accepted = tokio::select! {
            () = &mut stop => break,
            _ = fold.tick() => {
                shared.metrics().run_upkeep();
                continue;
            }
            accepted = accept(&listener, &connections) => accepted,
        };
        if let Some((stream, permit)) = accepted {
            connect(stream, permit, router.clone(), &builder, is_closing.clone());
        }
    }
    drop(listener);
    shared.begin_draining();
    let end = Instant::now() + shared.settings().drain();
    drop(is_closing);
    closing.send_replace(true);
    let are_closed = timeout_at(end, closing.closed()).await.is_ok();
    let are_done = timeout_at(end, shared.finished()).await.is_ok();
    if are_closed && are_done { Ended::Drained } else { Ended::Cut }
}

/// The timer matters: without one hyper drops the header timeout and says nothing.
fn connection_builder(settings: &config::Server) -> http1::Builder {
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(settings.head_timeout())
        .max_headers(HEADERS_MAX)
        .max_buf_size(HEAD_MAX_BYTES);
    builder
}

async fn accept(
    listener: &TcpListener,
    connections: &Arc<Semaphore>,
) -> Option<(TcpStream, OwnedSemaphorePermit)> {
    let permit = connections.clone().acquire_owned().await.ok()?;
    match listener.accept().await {
        Ok((stream, _)) => Some((stream, permit)),
        Err(error) => {
            tracing::warn!(%error, "a connection was not accepted");
            tokio::time::sleep(ACCEPT_PAUSE).await;
            None
        }
    }
}

fn connect(
    stream: TcpStream,
    permit: OwnedSemaphorePermit,
    router: Router,
    builder: &http1::Builder,
    mut is_closing: watch::Receiver<bool>,
) {
    let peer = stream.peer_addr().ok();
    // Answers are written whole; waiting to fill a packet only delays them.
    let _ = stream.set_nodelay(true);
    let handler = TowerToHyperService::new(router);
    let service = service_fn(move |mut request: hyper::Request<Incoming>| {
        if let Some(peer) = peer {
            request.extensions_mut().insert(peer);
        }
        handler.call(request)
    });
    let connection = builder.serve_connection(TokioIo::new(stream), service);
    // What becomes a socket is no connection of ours any more; those who listen are counted.
    let connection = connection.with_upgrades();
    tokio::spawn(async move {
        metrics::gauge!("ade_http_connections").increment(1);
        let mut connection = std::pin::pin!(connection);
        let ended = tokio::select! {
            ended = connection.as_mut() => ended,
            () = async { drop(is_closing.wait_for(|is_closing| *is_closing).await) } => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        if let Err(error) = ended {
            tracing::debug!(%error, "a connection ended early");
        }
        metrics::gauge!("ade_http_connections").decrement(1);
        drop((permit, is_closing));
    });
}
