//! Connections: accepted up to a limit, with TLS if there is a certificate, with a timeout for the
//! request head, and closed in order at shutdown. HTTP/1.1 only: idle HTTP/2 connections could not
//! be detected, and a page needs only a few connections.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use ade_core::limits::{HEAD_MAX_BYTES, HEADERS_MAX};
use axum::Router;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use ipnet::IpNet;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::{Instant, timeout_at};

use crate::config;
use crate::forwarded;
use crate::http::state::Shared;
use crate::tls::Tls;

/// The pause after the kernel refused a connection, for example because no descriptors are left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// How often the raw values of histograms are aggregated.
const FOLD_PERIOD: Duration = Duration::from_secs(5);

/// How the server stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShutdownOutcome {
    /// Every request was answered.
    Drained,
    /// The drain timeout expired, and the remaining requests were aborted.
    Cut,
}

/// Serves until `stop` resolves, then accepts no more connections and lets requests finish.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    shared: Shared,
    tls: Option<Tls>,
    stop: impl Future<Output = ()>,
) -> ShutdownOutcome {
    // Every connection has a receiver, so after the signal the channel closes with the last
    // connection.
    let (closing, is_closing) = watch::channel(false);
    let builder = connection_builder(shared.settings());
    let proxies: Arc<[IpNet]> = shared.settings().proxies.as_slice().into();
    let connections = Arc::new(Semaphore::new(shared.settings().connections_max));
    let mut fold = tokio::time::interval(FOLD_PERIOD);
    let mut stop = std::pin::pin!(stop);
    loop {
        let accepted = tokio::select! {
            () = &mut stop => break,
            _ = fold.tick() => {
                shared.metrics().run_upkeep();
                if let Some(tls) = tls.clone() {
                    tokio::task::spawn_blocking(move || reload(&tls));
                }
                continue;
            }
            accepted = accept(&listener, &connections) => accepted,
        };
        if let Some((stream, permit)) = accepted {
            let seat = Seat { permit, is_closing: is_closing.clone(), proxies: proxies.clone() };
            connect(stream, tls.clone(), router.clone(), builder.clone(), seat);
        }
    }
    drop(listener);
    shared.begin_draining();
    let end = Instant::now() + shared.settings().drain();
    drop(is_closing);
    closing.send_replace(true);
    let are_closed = timeout_at(end, closing.closed()).await.is_ok();
    let are_done = timeout_at(end, shared.finished()).await.is_ok();
    if are_closed && are_done { ShutdownOutcome::Drained } else { ShutdownOutcome::Cut }
}

fn reload(tls: &Tls) {
    match tls.reload() {
        Ok(true) => tracing::info!("TLS certificate reloaded"),
        Ok(false) => {}
        Err(error) => tracing::warn!(%error, "TLS certificate reload failed; keeping the old one"),
    }
}

/// Configures connections. Without a timer, hyper would silently ignore the header timeout.
fn connection_builder(settings: &config::ServerConfig) -> http1::Builder {
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
            tracing::warn!(%error, "connection not accepted");
            tokio::time::sleep(ACCEPT_PAUSE).await;
            None
        }
    }
}

/// The resources of a connection.
struct Seat {
    permit: OwnedSemaphorePermit,
    is_closing: watch::Receiver<bool>,
    proxies: Arc<[IpNet]>,
}

fn connect(
    stream: TcpStream,
    tls: Option<Tls>,
    router: Router,
    builder: http1::Builder,
    seat: Seat,
) {
    let peer = stream.peer_addr().ok();
    // Responses are written at once, so waiting to fill a packet would only delay them.
    let _ = stream.set_nodelay(true);
    tokio::spawn(async move {
        metrics::gauge!("ade_http_connections").increment(1);
        match tls {
            // Both are boxed separately, so that plain connections do not need the memory of TLS.
            None => Box::pin(talk(stream, peer, router, &builder, seat)).await,
            Some(tls) => match Box::pin(tls.accept(stream)).await {
                Ok(stream) => Box::pin(talk(stream, peer, router, &builder, seat)).await,
                Err(error) => tracing::debug!(%error, "TLS handshake failed"),
            },
        }
        metrics::gauge!("ade_http_connections").decrement(1);
    });
}

async fn talk<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
    stream: S,
    peer: Option<SocketAddr>,
    router: Router,
    builder: &http1::Builder,
    seat: Seat,
) {
    let Seat { permit, mut is_closing, proxies } = seat;
    let handler = TowerToHyperService::new(router);
    let service = service_fn(move |mut request: hyper::Request<Incoming>| {
        if let Some(peer) = peer {
            let caller = forwarded::caller(peer, request.headers(), &proxies);
            request.extensions_mut().insert(caller);
        }
        handler.call(request)
    });
    let connection = builder.serve_connection(TokioIo::new(stream), service);
    // An upgraded connection is no longer counted here; listeners are counted separately.
    let connection = connection.with_upgrades();
    let mut connection = std::pin::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = async { drop(is_closing.wait_for(|is_closing| *is_closing).await) } => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "connection ended early");
    }
    drop((permit, is_closing));
}
