//! Events as they happen. Numbers are dense: whoever keeps the last one misses nothing over a
//! break, and is told if something cannot be told any more.

use ade_api::events::{Event, Ticket};
use ade_core::event::Topic;
use serde::Deserialize;

use crate::Client;
use crate::error::Error;
use crate::send::Call;
use crate::stream::Stream;

#[derive(Debug, Clone, Copy)]
pub struct Events<'a>(pub(crate) &'a Client);

/// Which events are told.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wanted {
    /// All of them if empty.
    pub topics: Vec<Topic>,
    /// Only what happens to this, by its id.
    pub object: Option<String>,
    /// After this number; from now on if left out.
    pub after: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Heard {
    Event(Box<Event>),
    /// What follows comes after this number. Also after a break, with the number it went on from.
    Ready(u64),
    /// Up to this number there is nothing for the caller.
    Skip(u64),
    /// Some events cannot be told: read everything anew.
    Reset(u64),
}

#[derive(Debug)]
pub struct EventStream(Stream);

#[derive(Debug, Deserialize)]
struct Numbered {
    seq: u64,
}

impl EventStream {
    /// Goes on after a break; fails once nobody has answered for too long, or may not listen.
    pub async fn next(&mut self) -> Result<Heard, Error> {
        let message = self.0.next().await?;
        let seq = |data: &str| self.0.read(data).map(|numbered: Numbered| numbered.seq);
        match message.event.as_str() {
            "ready" => seq(&message.data).map(Heard::Ready),
            "skip" => seq(&message.data).map(Heard::Skip),
            "reset" => seq(&message.data).map(Heard::Reset),
            _ => self.0.read(&message.data).map(|event| Heard::Event(Box::new(event))),
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

    /// Opens one socket, once and soon.
    pub async fn ticket(self) -> Result<Ticket, Error> {
        self.0.send(Call::post("/v1/ws/tickets")).await
    }
}
