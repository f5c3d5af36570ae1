//! Sends one request to one endpoint, with limits on time and on the response. Every call produces
//! a result to record.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ade_core::limits::{WEBHOOK_ANSWER_MAX_BYTES, WEBHOOK_TIMEOUT};
use ade_core::webhook::{DeliveryResponse, excerpt};
use reqwest::header::{CONTENT_TYPE, HeaderName, RETRY_AFTER, USER_AGENT};
use reqwest::{Client, Response, Url};
use tokio::time::{Instant, timeout_at};

use super::sign::{SigningKey, signature};
use crate::services::outbound::is_closed;

const ID: HeaderName = HeaderName::from_static("webhook-id");
const TIMESTAMP: HeaderName = HeaderName::from_static("webhook-timestamp");
const SIGNATURE: HeaderName = HeaderName::from_static("webhook-signature");
const AGENT: &str = concat!("community-ade/", env!("CARGO_PKG_VERSION"));

#[derive(Debug)]
pub struct WebhookRequest {
    pub url: Url,
    /// The id, which is the same in every attempt.
    pub id: String,
    pub body: String,
    pub keys: Vec<SigningKey>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SendResult {
    pub answer: DeliveryResponse,
    pub excerpt: Option<String>,
    /// A message for an admin; `None` after a success.
    pub problem: Option<String>,
}

impl SendResult {
    pub fn closed(problem: &impl ToString) -> Self {
        Self { answer: DeliveryResponse::Closed, excerpt: None, problem: Some(problem.to_string()) }
    }

    fn silent(problem: &str) -> Self {
        Self { answer: DeliveryResponse::None, excerpt: None, problem: Some(problem.to_owned()) }
    }
}

pub async fn send(client: &Client, webhook: &WebhookRequest) -> SendResult {
    let deadline = Instant::now() + WEBHOOK_TIMEOUT;
    // Each attempt has its own timestamp: receivers refuse requests that are minutes old.
    let seconds = seconds();
    let signed = signature(&webhook.keys, &webhook.id, seconds, &webhook.body);
    let request = client
        .post(webhook.url.clone())
        .header(CONTENT_TYPE, "application/json")
        .header(USER_AGENT, AGENT)
        .header(ID, &webhook.id)
        .header(TIMESTAMP, seconds)
        .header(SIGNATURE, signed)
        .body(webhook.body.clone());
    match timeout_at(deadline, request.send()).await {
        Ok(Ok(response)) => read_response(response, deadline).await,
        Ok(Err(error)) => failed(&error),
        Err(_) => {
            SendResult::silent(&format!("no response within {} s", WEBHOOK_TIMEOUT.as_secs()))
        }
    }
}

fn failed(error: &reqwest::Error) -> SendResult {
    if let Some(closed) = is_closed(error) {
        return SendResult::closed(&closed);
    }
    tracing::debug!(%error, "webhook request failed");
    SendResult::silent(if error.is_timeout() {
        "connection timed out"
    } else if error.is_connect() {
        "connection failed"
    } else {
        "the connection was lost before a response arrived"
    })
}

/// Reads the response. The status decides; the body is only shown, and may be cut anywhere.
async fn read_response(mut response: Response, deadline: Instant) -> SendResult {
    let status = response.status().as_u16();
    let retry_after = response
        .headers()
        .get(RETRY_AFTER)
        .and_then(|value| value.to_str().ok()?.trim().parse().ok())
        .map(Duration::from_secs);
    let mut body = Vec::new();
    while body.len() < WEBHOOK_ANSWER_MAX_BYTES {
        let Ok(Ok(Some(chunk))) = timeout_at(deadline, response.chunk()).await else { break };
        let room = WEBHOOK_ANSWER_MAX_BYTES.saturating_sub(body.len());
        body.extend(chunk.iter().take(room));
    }
    let problem =
        (!(200..300).contains(&status)).then(|| format!("the endpoint responded with {status}"));
    let excerpt = Some(excerpt(&body)).filter(|text| !text.is_empty());
    SendResult { answer: DeliveryResponse::Status { status, retry_after }, excerpt, problem }
}

/// Returns the wall-clock time in seconds since 1970.
#[expect(
    clippy::disallowed_methods,
    reason = "receivers compare the signature time with wall-clock time, not PostgreSQL's clock"
)]
pub fn seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}
