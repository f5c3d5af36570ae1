//! One socket: sends the events of its listener, pings the client, and accepts only pongs.

use ade_api::events::Frame;
use ade_core::limits::{LIVE_IDLE_MAX, LIVE_PING_PERIOD, LIVE_WRITE_TIMEOUT};
use ade_engine::events::{Listener, StreamItem};
use ade_engine::services::event_hub::End;
use axum::body::Bytes;
use axum::extract::ws::{CloseFrame, Message, Utf8Bytes, WebSocket, close_code};
use futures_util::SinkExt as _;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, timeout};

const REVOKED: u16 = 4401;
const DENIED: u16 = 4403;
const TOO_SLOW: u16 = 4408;

/// The reason for closing the socket.
enum Over {
    /// The client has disconnected.
    Gone,
    Said(u16, &'static str),
}

pub async fn send_events(
    mut socket: WebSocket,
    mut listener: Listener,
    room: OwnedSemaphorePermit,
) {
    let gauge = metrics::gauge!("ade_live_listeners", "kind" => "socket");
    gauge.increment(1);
    let over = run(&mut socket, &mut listener).await;
    drop(listener);
    if let Over::Said(code, reason) = over {
        let frame = CloseFrame { code, reason: Utf8Bytes::from_static(reason) };
        let _ = timeout(LIVE_WRITE_TIMEOUT, socket.send(Message::Close(Some(frame)))).await;
    }
    gauge.decrement(1);
    drop(room);
}

async fn run(socket: &mut WebSocket, listener: &mut Listener) -> Over {
    let mut heard_at = Instant::now();
    let mut pings = tokio::time::interval(LIVE_PING_PERIOD);
    pings.reset();
    let ready = frame(Frame::Ready { seq: listener.begins_at() });
    if let Some(over) = send(socket, vec![ready]).await {
        return over;
    }
    loop {
        let messages = tokio::select! {
            next = listener.next() => match next {
                Ok(items) => items.into_iter().filter_map(message).collect(),
                Err(end) => return ended(end),
            },
            said = socket.recv() => match said {
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => {
                    heard_at = Instant::now();
                    continue;
                }
                Some(Ok(Message::Text(_) | Message::Binary(_))) => {
                    return Over::Said(close_code::POLICY, "this socket accepts no messages");
                }
                Some(Ok(Message::Close(_)) | Err(_)) | None => return Over::Gone,
            },
            _ = pings.tick() => {
                if heard_at.elapsed() > LIVE_IDLE_MAX {
                    return Over::Said(TOO_SLOW, "no pong received");
                }
                vec![Message::Ping(Bytes::new())]
            }
        };
        if let Some(over) = send(socket, messages).await {
            return over;
        }
    }
}

/// Sends all messages at once; a client that does not read them in time is disconnected.
async fn send(socket: &mut WebSocket, messages: Vec<Message>) -> Option<Over> {
    let sending = async {
        for message in messages {
            socket.feed(message).await?;
        }
        socket.flush().await
    };
    match timeout(LIVE_WRITE_TIMEOUT, sending).await {
        Ok(Ok(())) => None,
        Ok(Err(_)) => Some(Over::Gone),
        Err(_) => {
            metrics::counter!("ade_live_cut_total").increment(1);
            Some(Over::Gone)
        }
    }
}

fn frame(frame: Frame) -> Message {
    Message::text(serde_json::to_string(&frame).unwrap_or_default())
}

fn message(item: StreamItem) -> Option<Message> {
    Some(match item {
        StreamItem::Event(event) => {
            metrics::counter!("ade_live_events_sent_total").increment(1);
            // An event is JSON, which is always UTF-8.
            Message::Text(Utf8Bytes::try_from(event.written.clone()).ok()?)
        }
        StreamItem::Skip(seq) => frame(Frame::Skip { seq }),
        StreamItem::Reset(seq) => frame(Frame::Reset { seq }),
    })
}

fn ended(end: End) -> Over {
    let code = match end {
        End::Revoked => REVOKED,
        End::Denied => DENIED,
        End::Unchecked => close_code::AGAIN,
        End::Draining => close_code::AWAY,
    };
    Over::Said(code, end.as_str())
}
