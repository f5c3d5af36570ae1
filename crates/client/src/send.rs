//! Sends a call: headers, timeouts and retries. The idempotency key of a write is generated once
//! and used for all attempts, so that it takes effect once.

use std::fmt::Write as _;
use std::time::Duration;

use ade_api::page::PageQuery;
use ade_api::pending_changes::PendingChange;
use ade_core::limits::{
    CLIENT_ANSWER_MAX_BYTES, CLIENT_BACKOFF_BASE, CLIENT_BACKOFF_MAX, CLIENT_CALL_TIMEOUT,
    CLIENT_TRIES, WAIT_MAX,
};
use backon::{ExponentialBuilder, Retryable as _};
use reqwest::header::{
    AUTHORIZATION, CONTENT_TYPE, HeaderName, HeaderValue, IF_MATCH, RETRY_AFTER,
};
use reqwest::{Method, Request, Response, StatusCode};
use serde::Serialize;
use serde::de::DeserializeOwned;
use uuid::Uuid;

use crate::error::{Error, ProblemDetails, whole};
use crate::submitted::Submitted;
use crate::{Client, seconds};

const KEY: HeaderName = HeaderName::from_static("idempotency-key");

#[derive(Debug, Clone)]
pub struct Call {
    method: Method,
    path: String,
    query: Vec<(&'static str, String)>,
    /// The path and query as given by the caller.
    written_query: Option<String>,
    body: Option<Vec<u8>>,
    version: Option<u64>,
    /// The idempotency key; `None` for a read.
    key: Option<String>,
    time: Duration,
    tries: usize,
}

impl Call {
    pub fn new(method: Method, path: String) -> Self {
        let key = (!method.is_safe()).then(|| Uuid::now_v7().to_string());
        Self {
            method,
            path,
            query: Vec::new(),
            written_query: None,
            body: None,
            version: None,
            key,
            time: CLIENT_CALL_TIMEOUT,
            tries: CLIENT_TRIES,
        }
    }

    pub fn get(path: impl Into<String>) -> Self {
        Self::new(Method::GET, path.into())
    }

    pub fn post(path: impl Into<String>) -> Self {
        Self::new(Method::POST, path.into())
    }

    pub fn put(path: impl Into<String>) -> Self {
        Self::new(Method::PUT, path.into())
    }

    pub fn patch(path: impl Into<String>) -> Self {
        Self::new(Method::PATCH, path.into())
    }

    pub fn delete(path: impl Into<String>) -> Self {
        Self::new(Method::DELETE, path.into())
    }

    /// Returns a call to a path with its query.
    pub fn written(method: Method, address: &str) -> Self {
        let (path, query) = match address.split_once('?') {
            Some((path, query)) => (path, Some(query.to_owned())),
            None => (address, None),
        };
        Self { written_query: query, ..Self::new(method, path.to_owned()) }
    }

    pub fn page(self, page: &PageQuery) -> Self {
        self.query("page_size", page.page_size.map(|size| size.to_string()))
            .query("page_token", page.page_token.clone())
    }

    pub fn query(mut self, name: &'static str, value: Option<String>) -> Self {
        self.query.extend(value.map(|value| (name, value)));
        self
    }

    /// Sets the JSON body. Serialization of the API types cannot fail.
    pub fn body(mut self, body: &impl Serialize) -> Self {
        self.body = Some(serde_json::to_vec(body).unwrap_or_default());
        self
    }

    pub fn bytes(mut self, body: Option<Vec<u8>>) -> Self {
        self.body = body;
        self
    }

    /// Sets an idempotency key of the caller, which also covers a restart of the caller.
    pub fn keyed(mut self, key: Option<String>) -> Self {
        self.key = key.or(self.key);
        self
    }

    pub fn matching(mut self, version: u64) -> Self {
        self.version = Some(version);
        self
    }

    /// Lets the server hold back the response for this long.
    pub fn waiting(mut self, wait: Duration) -> Self {
        self.time = wait + CLIENT_CALL_TIMEOUT;
        self.query("wait", Some(seconds(wait)))
    }

    /// Extends the timeout for a wait that the body specifies.
    pub fn lasting(mut self, wait: Duration) -> Self {
        self.time = wait.min(WAIT_MAX) + CLIENT_CALL_TIMEOUT;
        self
    }

    /// Disables retries, for callers that retry themselves.
    pub fn once(mut self, within: Duration) -> Self {
        self.time = within.min(CLIENT_CALL_TIMEOUT);
        self.tries = 1;
        self
    }
}

/// A successful response, read to its end.
pub struct Received {
    status: StatusCode,
    pub body: Vec<u8>,
}

/// A failed attempt and the pause that the server requested.
struct Failed {
    error: Error,
    pause: Option<Duration>,
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Self { error, pause: None }
    }
}

impl Client {
    pub(crate) async fn send<T: DeserializeOwned>(&self, call: Call) -> Result<T, Error> {
        self.parse(&self.receive(call).await?)
    }

    /// Sends a change to the rules. Status 202 means that it has not taken effect yet.
    pub(crate) async fn submit<T: DeserializeOwned>(
        &self,
        call: Call,
    ) -> Result<Submitted<T>, Error> {
        let received = self.receive(call).await?;
        if received.status == StatusCode::ACCEPTED {
            let change: PendingChange = self.parse(&received)?;
            return Ok(Submitted::Pending(Box::new(change)));
        }
        self.parse(&received).map(Submitted::Done)
    }

    fn parse<T: DeserializeOwned>(&self, received: &Received) -> Result<T, Error> {
        serde_json::from_slice(&received.body).map_err(|error| Error::Unreadable {
            server: self.server().to_owned(),
            status: received.status.as_u16(),
            why: error.to_string(),
        })
    }

    pub(crate) async fn receive(&self, call: Call) -> Result<Received, Error> {
        let pauses = ExponentialBuilder::new()
            .with_min_delay(CLIENT_BACKOFF_BASE)
            .with_max_delay(CLIENT_BACKOFF_MAX)
            .with_max_times(self.transport.tries(call.tries).saturating_sub(1))
            .with_jitter();
        (|| self.attempt(&call))
            .retry(pauses)
            .when(|failed: &Failed| failed.error.is_passing())
            .adjust(|failed, pause| pause.and_then(|pause| followed(failed, pause)))
            .await
            .map_err(|failed| failed.error)
    }

    async fn attempt(&self, call: &Call) -> Result<Received, Failed> {
        let mut request = self.request(call)?;
        *request.timeout_mut() = Some(call.time);
        let response = self.transport.send(request).await;
        self.take(response.map_err(|error| self.unreachable(&error))?).await
    }

    /// Converts an unexpected response to an error.
    pub(crate) async fn refusal(&self, response: Response) -> Error {
        let status = response.status().as_u16();
        match self.take(response).await {
            Err(failed) => failed.error,
            Ok(_) => Error::Unreadable {
                server: self.server().to_owned(),
                status,
                why: "the response is not an event stream".to_owned(),
            },
        }
    }

    /// Builds the request without its timeout.
    pub(crate) fn request(&self, call: &Call) -> Result<Request, Error> {
        let mut url = self.server.clone();
        url.set_path(&format!("{}{}", self.server.path().trim_end_matches('/'), call.path));
        url.set_query(call.written_query.as_deref());
        if !call.query.is_empty() {
            url.query_pairs_mut().extend_pairs(&call.query);
        }
        let mut request = Request::new(call.method.clone(), url);
        if !self.token.is_empty() {
            let mut bearer = header(&format!("Bearer {}", self.token))?;
            bearer.set_sensitive(true);
            request.headers_mut().insert(AUTHORIZATION, bearer);
        }
        if let Some(version) = call.version {
            request.headers_mut().insert(IF_MATCH, header(&format!("\"{version}\""))?);
        }
        if let Some(key) = &call.key {
            request.headers_mut().insert(KEY, header(key)?);
        }
        if let Some(body) = &call.body {
            let json = HeaderValue::from_static("application/json");
            request.headers_mut().insert(CONTENT_TYPE, json);
            *request.body_mut() = Some(body.clone().into());
        }
        Ok(request)
    }

    pub(crate) fn unreachable(&self, error: &reqwest::Error) -> Error {
        let why = match error {
            slow if slow.is_timeout() => "the server did not respond in time".to_owned(),
            // The message already begins with the URL.
            other => std::error::Error::source(other).map_or_else(|| whole(other), whole),
        };
        Error::Unreachable { server: self.server().to_owned(), why }
    }

    async fn take(&self, mut response: Response) -> Result<Received, Failed> {
        let status = response.status();
        let pause = retry_after(&response);
        let unreadable = |why: String| Error::Unreadable {
            server: self.server().to_owned(),
            status: status.as_u16(),
            why,
        };
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| self.unreachable(&error))? {
            if body.len() + chunk.len() > CLIENT_ANSWER_MAX_BYTES {
                return Err(unreadable("the response is too large".to_owned()).into());
            }
            body.extend_from_slice(&chunk);
        }
        if status.is_success() {
            return Ok(Received { status, body });
        }
        let error = match serde_json::from_slice::<ProblemDetails>(&body) {
            Ok(refusal) => Error::Refused(Box::new(refusal)),
            Err(_) => unreadable("the error is not in problem+json format".to_owned()),
        };
        Err(Failed { error, pause })
    }
}

/// Percent-encodes a text as one path segment.
pub fn segment(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

/// Returns a header value. The error does not contain the text, because it may be a token.
pub fn header(text: &str) -> Result<HeaderValue, Error> {
    HeaderValue::from_str(text).map_err(|_| Error::Unusable {
        why: "the token or key contains characters that are invalid in a header".to_owned(),
    })
}

fn retry_after(response: &Response) -> Option<Duration> {
    let text = response.headers().get(RETRY_AFTER)?.to_str().ok()?;
    text.parse().ok().map(Duration::from_secs)
}

/// Returns the pause before the next attempt; `None` if the server asked for a longer pause than
/// the client follows, so that the caller learns of it.
fn followed(failed: &Failed, pause: Duration) -> Option<Duration> {
    let asked = failed.pause.unwrap_or_default();
    (asked <= CLIENT_BACKOFF_MAX).then(|| pause.max(asked))
}
