//! Endpoints that the settings name: a request is posted as JSON and signed, with the permit in it,
//! and the answer is JSON too. The author of a task chooses no part of the address. What
//! is called is judged by `outbound`.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ade_api::executions::FailureKind;
use ade_core::limits::{
    EXECUTOR_ANSWER_MAX_BYTES, EXECUTOR_CONNECT_TIMEOUT, EXECUTOR_SIGNATURE_TTL,
};
use ade_receipt::{SignedRequest, Signer};
use reqwest::header::{CONTENT_TYPE, HeaderName};
use reqwest::{Client, Response, StatusCode, Url};
use tokio::time::{Instant, timeout_at};
use uuid::Uuid;

use super::protocol::{Call, Silence, Verb};
use super::speak::Speak;
use super::work::{Doing, Leash, Left};
use crate::outbound::{
    self, AddressError, Connecting, Ports, Reach, SystemLookup, checked, is_closed,
};

/// A compact JWS over the hash of the body.
const SIGNATURE: HeaderName = HeaderName::from_static("ade-signature");

/// Where requests of one name go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    url: Url,
    reach: Reach,
    time: Duration,
}

impl Endpoint {
    pub fn new(text: &str, reach: Reach, time: Duration) -> Result<Self, AddressError> {
        Ok(Self { url: checked(text, reach, &Ports::Any)?, reach, time })
    }

    fn client(&self) -> reqwest::Result<Client> {
        let connecting = Connecting { timeout: EXECUTOR_CONNECT_TIMEOUT, idle: Duration::ZERO };
        outbound::client(self.reach, connecting, SystemLookup)
    }
}

pub struct Http {
    endpoint: Endpoint,
    signer: Arc<Signer>,
    /// As targets know this installation.
    issuer: String,
    /// As the target knows itself; as this installation if it does not say.
    audience: Option<String>,
}

impl fmt::Debug for Http {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Http").field("endpoint", &self.endpoint).finish_non_exhaustive()
    }
}

impl Http {
    pub fn new(
        endpoint: Endpoint,
        signer: Arc<Signer>,
        issuer: String,
        audience: Option<String>,
    ) -> Self {
        Self { endpoint, signer, issuer, audience }
    }

    async fn within(&self, call: &Call<'_>, leash: &Leash) -> Result<Vec<u8>, Silence> {
        let deadline = leash.deadline.min(Instant::now() + self.endpoint.time);
        let silent = |kind, error: &str| Err(Silence::new(kind, error, Left::Unknown));
        tokio::select! {
            answered = timeout_at(deadline, self.post(call)) => match answered {
                Ok(answered) => answered,
                Err(_) => silent(FailureKind::Timeout, "it took too long"),
            },
            () = leash.aborted() => silent(FailureKind::Cancelled, "it was told to stop"),
        }
    }

    async fn post(&self, call: &Call<'_>) -> Result<Vec<u8>, Silence> {
        let body = call.bytes();
        let unsent = |error: String| Silence::new(FailureKind::Failure, error, Left::Nothing);
        let token = self.signature(call.verb, &body).map_err(unsent)?;
        let client = self.endpoint.client().map_err(|error| {
            tracing::error!(%error, "no client can be made");
            unsent("it cannot be called".to_owned())
        })?;
        let request = client
            .post(self.endpoint.url.clone())
            .header(CONTENT_TYPE, "application/json")
            .header(SIGNATURE, token)
            .body(body);
        let response = request.send().await.map_err(|error| {
            if let Some(closed) = is_closed(&error) {
                return unsent(closed.to_string());
            }
            let left = if error.is_connect() { Left::Nothing } else { Left::Unknown };
            tracing::warn!(%error, "an endpoint does not answer");
            Silence::new(FailureKind::Failure, "it does not answer", left)
        })?;
        read(response).await
    }

    fn signature(&self, verb: Verb, body: &[u8]) -> Result<String, String> {
        let now = seconds();
        let nonce = Uuid::new_v4().to_string();
        let audience = self.endpoint.url.as_str();
        let request = SignedRequest::new(&self.issuer, audience, &nonce, verb.as_str(), body)
            .between(now, now.saturating_add(EXECUTOR_SIGNATURE_TTL.as_secs()));
        self.signer.sign_request(&request).map_err(|error| error.to_string())
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "whoever verifies it compares it with the time of the world, not with PostgreSQL's"
)]
fn seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// Only a plain 200 is an answer, and only as much of it as is read.
async fn read(mut response: Response) -> Result<Vec<u8>, Silence> {
    let failed = |error: String| Silence::new(FailureKind::Failure, error, Left::Unknown);
    if response.status() != StatusCode::OK {
        return Err(failed(format!("it answered with status {}", response.status().as_u16())));
    }
    let mut answer = Vec::new();
    loop {
        let chunk = response.chunk().await.map_err(|_| failed("its answer broke off".to_owned()));
        let Some(chunk) = chunk? else { return Ok(answer) };
        if answer.len() + chunk.len() > EXECUTOR_ANSWER_MAX_BYTES {
            let most = format!("it answered with more than {EXECUTOR_ANSWER_MAX_BYTES} bytes");
            return Err(failed(most));
        }
        answer.extend_from_slice(&chunk);
    }
}

impl Speak for Http {
    const NAME: &'static str = "http";

    fn audience(&self) -> Option<&str> {
        self.audience.as_deref()
    }

    fn call<'a>(
        &'a self,
        call: &'a Call<'a>,
        leash: &'a Leash,
    ) -> Doing<'a, Result<Vec<u8>, Silence>> {
        Box::pin(self.within(call, leash))
    }
}
