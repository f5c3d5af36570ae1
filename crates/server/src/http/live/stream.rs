//! Server-sent events: text, one event after the other, with keep-alive comments so that proxies do
//! not close the connection.

use std::time::Duration;

use ade_core::limits::{LIVE_PING_PERIOD, LIVE_STREAM_CHUNKS, LIVE_WRITE_TIMEOUT};
use ade_engine::events::{Listener, StreamItem};
use axum::body::{Body, Bytes};
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse as _, Response};
use futures_util::stream;
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio::time::Instant;

const PING: &[u8] = b": still here\n\n";

/// Starts a stream that stays open for `wait`, or until either side closes it.
pub fn respond(listener: Listener, room: OwnedSemaphorePermit, wait: Duration) -> Response {
    let (chunks, taken) = mpsc::channel(LIVE_STREAM_CHUNKS);
    tokio::spawn(send_events(listener, room, wait, chunks));
    of(taken)
}

/// Returns a response that streams these chunks.
pub fn of(taken: mpsc::Receiver<Bytes>) -> Response {
    let body = stream::unfold(taken, |mut taken| async move {
        let chunk: Bytes = taken.recv().await?;
        Some((Ok::<_, std::convert::Infallible>(chunk), taken))
    });
    ([(CONTENT_TYPE, "text/event-stream")], Body::from_stream(body)).into_response()
}

async fn send_events(
    mut listener: Listener,
    room: OwnedSemaphorePermit,
    wait: Duration,
    chunks: mpsc::Sender<Bytes>,
) {
    let gauge = metrics::gauge!("ade_live_listeners", "kind" => "stream");
    gauge.increment(1);
    let until = Instant::now().checked_add(wait);
    let mut chunk = Bytes::from(control("ready", listener.begins_at()));
    loop {
        let sent = tokio::time::timeout(LIVE_WRITE_TIMEOUT, chunks.send(chunk)).await;
        if !matches!(sent, Ok(Ok(()))) {
            break;
        }
        let over = async {
            match until {
                Some(until) => tokio::time::sleep_until(until).await,
                None => std::future::pending().await,
            }
        };
        // Past events are sent even if the time is short.
        let is_current = listener.is_current();
        chunk = tokio::select! {
            next = listener.next() => match next {
                Ok(items) => written(&items),
                Err(_) => break,
            },
            () = chunks.closed() => break,
            () = over, if is_current => break,
            () = tokio::time::sleep(LIVE_PING_PERIOD) => Bytes::from_static(PING),
        };
    }
    gauge.decrement(1);
    drop(room);
}

fn control(kind: &str, seq: u64) -> String {
    format!("id: {seq}\nevent: {kind}\ndata: {{\"seq\":{seq}}}\n\n")
}

fn written(items: &[StreamItem]) -> Bytes {
    let mut text = Vec::new();
    for item in items {
        match item {
            StreamItem::Event(event) => {
                metrics::counter!("ade_live_events_sent_total").increment(1);
                text.extend(format!("id: {}\nevent: {}\ndata: ", event.seq, event.kind).bytes());
                // A line break would end the field; JSON contains none inside its strings.
                text.extend(event.written.iter().map(|byte| match byte {
                    b'\n' | b'\r' => b' ',
                    other => *other,
                }));
                text.extend(b"\n\n");
            }
            StreamItem::Skip(seq) => text.extend(control("skip", *seq).bytes()),
            StreamItem::Reset(seq) => text.extend(control("reset", *seq).bytes()),
        }
    }
    text.into()
}
