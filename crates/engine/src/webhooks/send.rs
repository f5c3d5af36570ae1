//! One call to one endpoint: bounded in time and in what is read of its answer. Whatever happens,
//! it ends with something that can be recorded.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ade_core::limits::{WEBHOOK_ANSWER_MAX_BYTES, WEBHOOK_TIMEOUT};
use ade_core::webhook::{Answer, excerpt};
use reqwest::header::{CONTENT_TYPE, HeaderName, RETRY_AFTER, USER_AGENT};
use reqwest::{Client, Response, Url};
use tokio::time::{Instant, timeout_at};

use super::sign::{Key, signature};
use crate::outbound::is_closed;

const ID: HeaderName = HeaderName::from_static("webhook-id");
const TIMESTAMP: HeaderName = HeaderName::from_static("webhook-timestamp");
const SIGNATURE: HeaderName = HeaderName::from_static("webhook-signature");
const AGENT: &str = concat!("community-ade/", env!("CARGO_PKG_VERSION"));

#[derive(Debug)]
pub struct Letter {
    pub url: Url,
    /// The same in every try.
    pub id: String,
    pub body: String,
    pub keys: Vec<Key>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    pub answer: Answer,
    pub excerpt: Option<String>,
    /// In words for an admin; nothing after a yes.
    pub problem: Option<String>,
}

impl Told {
    pub fn closed(problem: &impl ToString) -> Self {
        Self { answer: Answer::Closed, excerpt: None, problem: Some(problem.to_string()) }
    }

    fn silent(problem: &str) -> Self {
        Self { answer: Answer::None, excerpt: None, problem: Some(problem.to_owned()) }
    }
}

pub async fn send(client: &Client, letter: &Letter) -> Told {
    let deadline = Instant::now() + WEBHOOK_TIMEOUT;
    // A try has a time of its own: the endpoint refuses what is older than minutes.
    let seconds = seconds();
    let signed = signature(&letter.keys, &letter.id, seconds, &letter.body);
    let request = client
        .post(letter.url.clone())
        .header(CONTENT_TYPE, "application/json")
        .header(USER_AGENT, AGENT)
        .header(ID, &letter.id)
        .header(TIMESTAMP, seconds)
        .header(SIGNATURE, signed)
        .body(letter.body.clone());
    match timeout_at(deadline, request.send()).await {
        Ok(Ok(response)) => told(response, deadline).await,
        Ok(Err(error)) => failed(&error),
        Err(_) => Told::silent(&format!("no answer within {} s", WEBHOOK_TIMEOUT.as_secs())),
    }
}

fn failed(error: &reqwest::Error) -> Told {
    if let Some(closed) = is_closed(error) {
        return Told::closed(&closed);
    }
    tracing::debug!(%error, "an endpoint cannot be told");
    Told::silent(if error.is_timeout() {
        "no connection in time"
    } else if error.is_connect() {
        "no connection"
    } else {
        "the connection broke off before an answer came"
    })
}

/// The status is the answer; what follows is only shown, and may be cut anywhere.
async fn told(mut response: Response, deadline: Instant) -> Told {
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
    let problem = (!(200..300).contains(&status)).then(|| format!("it answered with {status}"));
    let excerpt = Some(excerpt(&body)).filter(|text| !text.is_empty());
    Told { answer: Answer::Status { status, retry_after }, excerpt, problem }
}

/// Since 1970, by the clock of the world.
#[expect(
    clippy::disallowed_methods,
    reason = "whoever verifies it compares it with the time of the world, not with PostgreSQL's"
)]
pub fn seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}
