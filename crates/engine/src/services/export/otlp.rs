//! Exports log records over OTLP/HTTP, as JSON. Requests to a busy or unavailable collector are
//! retried; rejected records are reported from its response.

use ade_core::limits::{EXPORT_ANSWER_MAX_BYTES, EXPORT_CONNECT_TIMEOUT, EXPORT_TIMEOUT};
use ade_store::events::Numbered;
use reqwest::header::CONTENT_TYPE;
use reqwest::redirect::Policy;
use reqwest::{Client, Response, StatusCode, Url};
use serde_json::{Value, json};

use super::Trouble;
use crate::services::event_hub::written;

/// The severity INFO in OpenTelemetry.
const SEVERITY: u8 = 9;
const NANOS_PER_MICRO: i128 = 1_000;

#[derive(Debug)]
pub struct Collector {
    client: Client,
    url: Url,
}

impl Collector {
    pub fn new(url: Url) -> reqwest::Result<Self> {
        let client = Client::builder()
            .redirect(Policy::none())
            .connect_timeout(EXPORT_CONNECT_TIMEOUT)
            .timeout(EXPORT_TIMEOUT)
            .build()?;
        Ok(Self { client, url })
    }

    pub async fn send(&self, events: &[Numbered]) -> Result<Vec<u8>, Trouble> {
        let records: Vec<Value> = events.iter().map(record).collect();
        let name = json!({ "key": "service.name", "value": { "stringValue": "ade" } });
        let body = json!({ "resourceLogs": [{
            "resource": { "attributes": [name] },
            "scopeLogs": [{ "scope": { "name": "ade.events" }, "logRecords": records }],
        }] });
        let bytes = body.to_string().into_bytes();
        let request = self
            .client
            .post(self.url.clone())
            .header(CONTENT_TYPE, "application/json")
            .body(bytes.clone());
        // The address may contain a credential, so it is removed from the error.
        let answer = request.send().await.map_err(|error| away(&error.without_url()))?;
        judge(answer).await.map(|()| bytes)
    }
}

fn away(error: &reqwest::Error) -> Trouble {
    Trouble::away(format!("the collector is unreachable: {error}"))
}

fn record(event: &Numbered) -> Value {
    let text = |key: &str, value: &str| json!({ "key": key, "value": { "stringValue": value } });
    json!({
        "timeUnixNano": (i128::from(event.at.micros()) * NANOS_PER_MICRO).to_string(),
        "severityNumber": SEVERITY,
        "severityText": "INFO",
        "eventName": event.kind,
        "body": { "stringValue": written(event) },
        "attributes": [
            text("ade.event.id", &event.id.to_string()),
            text("ade.tenant", &event.tenant.to_string()),
            text("ade.object", &event.object),
            { "key": "ade.seq", "value": { "intValue": event.seq.to_string() } },
        ],
    })
}

/// Interprets the response. Only the status 400 is about the sent records; any other error would
/// affect all events.
async fn judge(mut answer: Response) -> Result<(), Trouble> {
    let status = answer.status();
    if status == StatusCode::BAD_REQUEST {
        return Err(Trouble::of_event("the collector rejected the events with status 400"));
    }
    if !status.is_success() {
        return Err(Trouble::away(format!("the collector responded with {}", status.as_u16())));
    }
    let mut body = Vec::new();
    while let Some(chunk) = answer.chunk().await.map_err(|error| away(&error.without_url()))? {
        body.extend_from_slice(&chunk);
        if body.len() > EXPORT_ANSWER_MAX_BYTES {
            return Err(Trouble::away("the collector's response is too long"));
        }
    }
    let answer: Value = serde_json::from_slice(&body).unwrap_or_default();
    let rejected = answer.pointer("/partialSuccess/rejectedLogRecords");
    let rejected = rejected.and_then(|rejected| match rejected {
        // The format requires a string; some collectors send a number.
        Value::String(text) => text.parse().ok(),
        number => number.as_i64(),
    });
    match rejected.unwrap_or_default() {
        0 => Ok(()),
        count => Err(Trouble::of_event(format!("the collector rejected {count} events"))),
    }
}
