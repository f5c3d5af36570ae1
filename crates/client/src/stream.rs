//! A stream of server-sent events that reconnects: it resumes after the ID of the last message,
//! with growing pauses, until the server has been unreachable for too long.

use std::collections::VecDeque;
use std::time::Duration;

use ade_api::events::Message;
use ade_core::limits::{
    CLIENT_BACKOFF_BASE, CLIENT_BACKOFF_MAX, CLIENT_CALL_TIMEOUT, LIVE_IDLE_MAX,
    RUN_UNREACHABLE_MAX,
};
use reqwest::Response;
use serde::de::DeserializeOwned;
use tokio::time::{Instant, sleep, timeout};

use crate::Client;
use crate::error::Error;
use crate::send::{Call, header};
use crate::sse::Parser;

const LAST_EVENT_ID: &str = "last-event-id";

#[derive(Debug)]
pub struct Stream {
    client: Client,
    call: Call,
    /// The ID of the last message that had one.
    last: Option<String>,
    open: Option<(Response, Parser)>,
    heard: VecDeque<Message>,
    /// When the server last sent something.
    silent_since: Instant,
    breaks: u32,
}

impl Stream {
    pub fn new(client: &Client, call: Call) -> Self {
        Self {
            client: client.clone(),
            call,
            last: None,
            open: None,
            heard: VecDeque::new(),
            silent_since: Instant::now(),
            breaks: 0,
        }
    }

    /// Resumes after the given message ID.
    pub fn resume(mut self, last: Option<String>) -> Self {
        self.last = last;
        self
    }

    /// Returns the next message. Dropping the future loses nothing.
    pub async fn next(&mut self) -> Result<Message, Error> {
        loop {
            if let Some(message) = self.heard.pop_front() {
                if message.id.is_some() {
                    self.last.clone_from(&message.id);
                }
                return Ok(message);
            }
            if let Err(error) = self.listen().await {
                self.open = None;
                let is_over = self.silent_since.elapsed() >= RUN_UNREACHABLE_MAX;
                if is_over || !error.is_passing() {
                    return Err(error);
                }
                sleep(self.pause()).await;
                self.breaks += 1;
            }
        }
    }

    pub fn read<T: DeserializeOwned>(&self, data: &str) -> Result<T, Error> {
        serde_json::from_str(data).map_err(|error| Error::Unreadable {
            server: self.client.server().to_owned(),
            status: 200,
            why: error.to_string(),
        })
    }

    fn pause(&self) -> Duration {
        CLIENT_BACKOFF_BASE.saturating_mul(1 << self.breaks.min(10)).min(CLIENT_BACKOFF_MAX)
    }

    /// Reads one more chunk. A stream that the server ends is reopened like a lost one.
    async fn listen(&mut self) -> Result<(), Error> {
        if self.open.is_none() {
            self.open = Some((self.connect().await?, Parser::default()));
        }
        let Some((response, parser)) = &mut self.open else { return Ok(()) };
        let gone = |why: &str| Error::Unreachable {
            server: self.client.server().to_owned(),
            why: why.to_owned(),
        };
        let chunk = match timeout(LIVE_IDLE_MAX, response.chunk()).await {
            Ok(Ok(Some(chunk))) => chunk,
            Ok(Ok(None)) => return Err(gone("the server ended the stream")),
            Ok(Err(error)) => return Err(self.client.unreachable(&error)),
            Err(_) => return Err(gone("the server sent nothing for too long")),
        };
        let messages = parser.push(&chunk).map_err(|_| Error::Unreadable {
            server: self.client.server().to_owned(),
            status: 200,
            why: "a message is too long".to_owned(),
        })?;
        (self.silent_since, self.breaks) = (Instant::now(), 0);
        self.heard.extend(messages);
        Ok(())
    }

    async fn connect(&self) -> Result<Response, Error> {
        let mut request = self.client.request(&self.call)?;
        if let Some(last) = &self.last {
            request.headers_mut().insert(LAST_EVENT_ID, header(last)?);
        }
        let sent = timeout(CLIENT_CALL_TIMEOUT, self.client.transport.send(request)).await;
        let response = sent
            .map_err(|_| Error::Unreachable {
                server: self.client.server().to_owned(),
                why: "the server did not respond in time".to_owned(),
            })?
            .map_err(|error| self.client.unreachable(&error))?;
        let kind = response.headers().get(reqwest::header::CONTENT_TYPE);
        let is_stream = kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"));
        if response.status().is_success() && is_stream {
            return Ok(response);
        }
        Err(self.client.refusal(response).await)
    }
}
