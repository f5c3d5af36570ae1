//! A stream of server-sent events that goes on after a break: opened anew with the id of the last
//! message, after a pause that grows, until nobody has answered for too long.

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
    /// Of the last message that had one.
    last: Option<String>,
    open: Option<(Response, Parser)>,
    heard: VecDeque<Message>,
    /// Since the server last said something.
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

    /// After this one.
    pub fn resume(mut self, last: Option<String>) -> Self {
        self.last = last;
        self
    }

    /// Dropping the future loses nothing.
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

    /// One more piece of it. A server that ends a stream is asked again like one that is gone.
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
            Ok(Ok(None)) => return Err(gone("it has ended the stream")),
            Ok(Err(error)) => return Err(self.client.unreachable(&error)),
            Err(_) => return Err(gone("it has fallen silent")),
        };
        let messages = parser.push(&chunk).map_err(|_| Error::Unreadable {
            server: self.client.server().to_owned(),
            status: 200,
            why: "a message does not end".to_owned(),
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
        let sent = timeout(CLIENT_CALL_TIMEOUT, self.client.way.send(request)).await;
        let response = sent
            .map_err(|_| Error::Unreachable {
                server: self.client.server().to_owned(),
                why: "it does not answer in time".to_owned(),
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
