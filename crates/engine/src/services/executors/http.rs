//! Calls the endpoints that the settings name. A request is posted as signed JSON with the permit
//! in it, and the response is JSON as well. The author of a task cannot influence the address.
//! `outbound` decides which addresses may be called.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ade_api::executions::FinishOutcome;
use ade_core::limits::{
    EXECUTOR_ANSWER_MAX_BYTES, EXECUTOR_CONNECT_TIMEOUT, EXECUTOR_SIGNATURE_TTL,
};
use ade_receipt::{SignedRequest, Signer};
use reqwest::header::{CONTENT_TYPE, HeaderName};
use reqwest::{Client, Response, StatusCode, Url};
use tokio::time::{Instant, timeout_at};
use uuid::Uuid;

use super::job::{Doing, Leash, Left};
use super::protocol::{ExecutorCall, Silence, Verb};
use super::wire::Speak;
use crate::services::outbound::{
    self, AddressError, AddressPolicy, Connecting, Ports, SystemLookup, checked, is_closed,
};

/// The header with a compact JWS over the hash of the body.
const SIGNATURE: HeaderName = HeaderName::from_static("ade-signature");

/// An endpoint of the settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpEndpoint {
    url: Url,
    reach: AddressPolicy,
    time: Duration,
}

impl HttpEndpoint {
    pub fn new(text: &str, reach: AddressPolicy, time: Duration) -> Result<Self, AddressError> {
        Ok(Self { url: checked(text, reach, &Ports::Any)?, reach, time })
    }

    fn client(&self) -> reqwest::Result<Client> {
        let connecting = Connecting { timeout: EXECUTOR_CONNECT_TIMEOUT, idle: Duration::ZERO };
        outbound::client(self.reach, connecting, SystemLookup)
    }
}

pub struct Http {
    endpoint: HttpEndpoint,
    signer: Arc<Signer>,
    /// The name under which targets know this installation.
    issuer: String,
    /// The audience of receipts for this target; the installation's name if `None`.
    audience: Option<String>,
}

impl fmt::Debug for Http {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Http").field("endpoint", &self.endpoint).finish_non_exhaustive()
    }
}

impl Http {
    pub fn new(
        endpoint: HttpEndpoint,
        signer: Arc<Signer>,
        issuer: String,
        audience: Option<String>,
    ) -> Self {
        Self { endpoint, signer, issuer, audience }
    }

    async fn within(&self, call: &ExecutorCall<'_>, leash: &Leash) -> Result<Vec<u8>, Silence> {
        let deadline = leash.deadline.min(Instant::now() + self.endpoint.time);
        let silent = |kind, error: &str| Err(Silence::new(kind, error, Left::Unknown));
        tokio::select! {
            answered = timeout_at(deadline, self.post(call)) => match answered {
                Ok(answered) => answered,
                Err(_) => silent(FinishOutcome::TimedOut, "the executor timed out"),
            },
            () = leash.aborted() => {
                silent(FinishOutcome::Cancelled, "the executor was asked to stop")
            }
        }
    }

    async fn post(&self, call: &ExecutorCall<'_>) -> Result<Vec<u8>, Silence> {
        let body = call.bytes();
        let unsent = |error: String| Silence::new(FinishOutcome::Failed, error, Left::Nothing);
        let token = self.signature(call.verb, &body).map_err(unsent)?;
        let client = self.endpoint.client().map_err(|error| {
            tracing::error!(%error, "failed to create HTTP client for executor");
            unsent("the endpoint could not be called".to_owned())
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
            tracing::warn!(%error, "executor endpoint did not respond");
            Silence::new(FinishOutcome::Failed, "the endpoint did not respond", left)
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
    reason = "receivers compare the signature time with wall-clock time, not PostgreSQL's clock"
)]
fn seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// Reads the response, up to a limit. Only the status 200 is accepted.
async fn read(mut response: Response) -> Result<Vec<u8>, Silence> {
    let failed = |error: String| Silence::new(FinishOutcome::Failed, error, Left::Unknown);
    if response.status() != StatusCode::OK {
        return Err(failed(format!(
            "the endpoint responded with status {}",
            response.status().as_u16()
        )));
    }
    let mut answer = Vec::new();
    loop {
        let chunk =
            response.chunk().await.map_err(|_| failed("the response was cut off".to_owned()));
        let Some(chunk) = chunk? else { return Ok(answer) };
        if answer.len() + chunk.len() > EXECUTOR_ANSWER_MAX_BYTES {
            let most = format!("the response is longer than {EXECUTOR_ANSWER_MAX_BYTES} bytes");
            return Err(failed(most));
        }
        answer.extend_from_slice(&chunk);
    }
}

impl Speak for Http {
    const NAME: &'static str = "http";

    fn target(&self) -> String {
        self.endpoint.url.to_string()
    }

    fn audience(&self) -> Option<&str> {
        self.audience.as_deref()
    }

    fn call<'a>(
        &'a self,
        call: &'a ExecutorCall<'a>,
        leash: &'a Leash,
    ) -> Doing<'a, Result<Vec<u8>, Silence>> {
        Box::pin(self.within(call, leash))
    }
}
