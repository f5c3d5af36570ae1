//! The event stream. Sequence numbers have no gaps: a client that keeps the last one misses nothing
//! after a disconnect, and gets a reset if events are no longer available.

use ade_api::events::{Event, Ticket};
use ade_core::event::Topic;
use serde::Deserialize;

use crate::Client;
use crate::error::Error;
use crate::send::Call;
use crate::stream::Stream;

#[derive(Debug, Clone, Copy)]
pub struct Events<'a>(pub(crate) &'a Client);

/// Selects events.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wanted {
    /// The topics; all if empty.
    pub topics: Vec<Topic>,
    /// The ID of the object whose events are wanted.
    pub object: Option<String>,
    /// The sequence number to start after; defaults to now.
    pub after: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventMessage {
    Event(Box<Event>),
    /// The stream starts, or resumes after a disconnect, after this sequence number.
    Ready(u64),
    /// No events up to this sequence number match.
    Skip(u64),
    /// Some events are no longer available; all state must be reloaded.
    Reset(u64),
}

#[derive(Debug)]
pub struct EventStream(Stream);

#[derive(Debug, Deserialize)]
struct Numbered {
    seq: u64,
}

impl EventStream {
    /// Returns the next message and reconnects as needed. Fails if the server is unreachable for
    /// too long or refuses the stream.
    pub async fn next(&mut self) -> Result<EventMessage, Error> {
        let message = self.0.next().await?;
        let seq = |data: &str| self.0.read(data).map(|numbered: Numbered| numbered.seq);
        match message.event.as_str() {
            "ready" => seq(&message.data).map(EventMessage::Ready),
            "skip" => seq(&message.data).map(EventMessage::Skip),
            "reset" => seq(&message.data).map(EventMessage::Reset),
            _ => self.0.read(&message.data).map(|event| EventMessage::Event(Box::new(event))),
        }
    }
}

impl Events<'_> {
    pub fn listen(self, wanted: &Wanted) -> EventStream {
        let topics: Vec<&str> = wanted.topics.iter().map(|topic| topic.as_str()).collect();
        let call = Call::get("/v1/events")
            .query("topics", (!topics.is_empty()).then(|| topics.join(",")))
            .query("object", wanted.object.clone());
        let after = wanted.after.map(|after| after.to_string());
        EventStream(Stream::new(self.0, call).resume(after))
    }

    /// Issues a short-lived ticket that opens one WebSocket.
    pub async fn ticket(self) -> Result<Ticket, Error> {
        self.0.send(Call::post("/v1/ws/tickets")).await
    }
}
