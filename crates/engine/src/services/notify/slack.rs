//! Slack in both directions. Outgoing: a plain-text message with a link, through the Web API.
//! Incoming: a pressed button, which is only answered with a link to the page where people decide.

use ade_core::ids::TaskId;
use ade_core::limits::{EXPORT_ANSWER_MAX_BYTES, MESSAGE_TIMEOUT, SLACK_TOLERANCE};
use hmac::{Hmac, KeyInit, Mac};
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE};
use reqwest::redirect::Policy;
use reqwest::{Client, Response, Url};
use serde_json::{Value, json};
use sha2::Sha256;
use thiserror::Error;

use super::message::{NotificationMessage, Recipient, Unsent};

/// Slack errors that a retry cannot fix.
const NEVER: [&str; 4] = ["channel_not_found", "user_not_found", "is_archived", "not_in_channel"];
const VERSION: &str = "v0";

#[derive(Debug, Error)]
pub enum SlackError {
    #[error("`{0}` is not a valid URL")]
    Address(String),
    #[error("the HTTP client could not be created: {0}")]
    Client(#[from] reqwest::Error),
}

pub struct Slack {
    client: Client,
    post: Url,
    token: String,
    signing_secret: String,
}

/// Omits both secrets.
impl std::fmt::Debug for Slack {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Slack").field("post", &self.post.as_str()).finish_non_exhaustive()
    }
}

/// A pressed button.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interaction {
    /// The task of the message, if it names one.
    pub task: Option<TaskId>,
}

impl Slack {
    /// Creates a client. `api` is the base URL of the methods, for example `https://slack.com/api`.
    pub fn new(api: &str, token: &str, signing_secret: &str) -> Result<Self, SlackError> {
        let client = Client::builder().redirect(Policy::none()).timeout(MESSAGE_TIMEOUT).build()?;
        let post = format!("{}/chat.postMessage", api.trim_end_matches('/'));
        let post = Url::parse(&post).map_err(|_| SlackError::Address(api.to_owned()))?;
        Ok(Self {
            client,
            post,
            token: token.to_owned(),
            signing_secret: signing_secret.to_owned(),
        })
    }

    pub(super) async fn send(
        &self,
        to: &Recipient,
        notification: &NotificationMessage,
    ) -> Result<(), Unsent> {
        let later = |problem: String| Unsent::Later(problem);
        let request = self
            .client
            .post(self.post.clone())
            .header(AUTHORIZATION, format!("Bearer {}", self.token))
            .header(CONTENT_TYPE, "application/json; charset=utf-8")
            .body(message(&to.address, notification).to_string());
        let answer = request.send().await;
        let answer = answer.map_err(|error| later(error.without_url().to_string()))?;
        judge(answer).await
    }

    /// Verifies the signature and the age of a request; `None` if either is invalid. `now` is
    /// wall-clock time in seconds since 1970.
    pub fn verify(
        &self,
        timestamp: &str,
        signature: &str,
        body: &[u8],
        now: u64,
    ) -> Option<Interaction> {
        let at: u64 = timestamp.parse().ok()?;
        if at.abs_diff(now) > SLACK_TOLERANCE.as_secs() {
            return None;
        }
        let given = hex(signature.strip_prefix("v0=")?)?;
        let mut mac = Hmac::<Sha256>::new_from_slice(self.signing_secret.as_bytes()).ok()?;
        mac.update(format!("{VERSION}:{timestamp}:").as_bytes());
        mac.update(body);
        mac.verify_slice(&given).ok()?;
        Some(Interaction { task: task_in(body) })
    }
}

/// Formats the message as blocks of plain text, which are not interpreted as markup. The fallback
/// text for old clients is escaped.
fn message(channel: &str, notification: &NotificationMessage) -> Value {
    let plain = |text: &str| json!({ "type": "plain_text", "text": text, "emoji": false });
    let mut blocks: Vec<Value> = Vec::new();
    for line in &notification.lines {
        blocks.push(json!({
            "type": "section",
            "text": plain(&line.text),
            "accessory": {
                "type": "button", "text": plain("Open"), "url": line.link, "action_id": "open",
            },
        }));
    }
    if notification.more > 0 {
        let more = format!("and {} more", notification.more);
        blocks.push(json!({ "type": "section", "text": plain(&more) }));
    }
    let escaped =
        notification.subject.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    json!({
        "channel": channel, "text": escaped, "mrkdwn": false, "parse": "none",
        "unfurl_links": false, "unfurl_media": false, "blocks": blocks,
    })
}

async fn judge(mut answer: Response) -> Result<(), Unsent> {
    let status = answer.status();
    if !status.is_success() {
        return Err(Unsent::Later(format!("Slack responded with {}", status.as_u16())));
    }
    let mut body = Vec::new();
    loop {
        let chunk = answer.chunk().await;
        let chunk = chunk.map_err(|error| Unsent::Later(error.without_url().to_string()))?;
        let Some(chunk) = chunk else { break };
        body.extend_from_slice(&chunk);
        if body.len() > EXPORT_ANSWER_MAX_BYTES {
            return Err(Unsent::Later("Slack's response is too long".to_owned()));
        }
    }
    let answer: Value = serde_json::from_slice(&body).unwrap_or_default();
    if answer.get("ok") == Some(&json!(true)) {
        return Ok(());
    }
    let error = answer.get("error").and_then(Value::as_str).unwrap_or("no reason given");
    let problem = format!("Slack responded with the error {error:?}");
    if NEVER.contains(&error) { Err(Unsent::Never(problem)) } else { Err(Unsent::Later(problem)) }
}

/// Finds the task in the pressed button's URL; nothing else in the request is used.
fn task_in(body: &[u8]) -> Option<TaskId> {
    let text = std::str::from_utf8(body).ok()?;
    let at = text.find("task_")?;
    let id: String = text.get(at..)?.chars().take("task_".len() + 26).collect();
    id.parse().ok()
}

fn hex(text: &str) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(2) || !text.is_ascii() {
        return None;
    }
    let pairs = text.as_bytes().chunks(2);
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    pairs.map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::services::notify::MessageLine;

    fn slack() -> Slack {
        Slack::new("https://slack.com/api", "xoxb-1", "8f742231b10e8888abcd99yyyzzz85a5").unwrap()
    }

    /// The example in Slack's documentation of request signing.
    const BODY: &str = "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&\
        channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2F\
        webhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F\
        397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d\
        10d2c447fce8b6703c";
    const SIGNED: &str = "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503";
    const AT: u64 = 1_531_420_618;

    #[test]
    fn slack_signature_is_verified_and_forgeries_are_refused() {
        let at = AT.to_string();
        assert!(slack().verify(&at, SIGNED, BODY.as_bytes(), AT + 10).is_some());
        for (what, at, signature, body, now) in [
            ("another body", at.as_str(), SIGNED, "x", AT),
            ("another time", "1531420619", SIGNED, BODY, AT),
            ("too old", at.as_str(), SIGNED, BODY, AT + 301),
            ("from ahead", at.as_str(), SIGNED, BODY, AT - 301),
            ("no version", at.as_str(), &SIGNED[3..], BODY, AT),
            ("cut", at.as_str(), &SIGNED[..20], BODY, AT),
            ("no hex", at.as_str(), "v0=zz", BODY, AT),
            ("nothing", "", "", BODY, AT),
        ] {
            assert_eq!(slack().verify(at, signature, body.as_bytes(), now), None, "{what}");
        }
    }

    #[test]
    fn slack_title_is_escaped() {
        let letter = NotificationMessage {
            subject: "<!channel> & <https://evil.example|Approve>".to_owned(),
            lines: vec![MessageLine {
                text: "*bold* <@U1>".to_owned(),
                link: "https://a/t".to_owned(),
            }],
            more: 0,
            link: "https://a/t".to_owned(),
        };
        let sent = message("U1", &letter);
        let text = sent["text"].as_str().unwrap();
        assert!(!text.contains('<') && !text.contains('>'), "{text}");
        assert_eq!(sent["blocks"][0]["text"]["type"], "plain_text");
        assert_eq!((&sent["mrkdwn"], &sent["unfurl_links"]), (&json!(false), &json!(false)));
    }

    #[test]
    fn slack_debug_output_hides_secrets() {
        let shown = format!("{:?}", slack());
        assert!(!shown.contains("xoxb") && !shown.contains("8f74"), "{shown}");
    }
}
