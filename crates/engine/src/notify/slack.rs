//! Slack, both ways. Out: a message with a link, as plain text, through its Web API. In: somebody
//! pressed something in a message; all that follows is a link to the page where people decide.

use ade_core::ids::TaskId;
use ade_core::limits::{EXPORT_ANSWER_MAX_BYTES, MESSAGE_TIMEOUT, SLACK_TOLERANCE};
use hmac::{Hmac, KeyInit, Mac};
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE};
use reqwest::redirect::Policy;
use reqwest::{Client, Response, Url};
use serde_json::{Value, json};
use sha2::Sha256;
use thiserror::Error;

use super::{Letter, Recipient, Unsent};

/// What Slack will say the same of however often it is asked.
const NEVER: [&str; 4] = ["channel_not_found", "user_not_found", "is_archived", "not_in_channel"];
const VERSION: &str = "v0";

#[derive(Debug, Error)]
pub enum SlackError {
    #[error("`{0}` is no address")]
    Address(String),
    #[error("no client can be made for it: {0}")]
    Client(#[from] reqwest::Error),
}

pub struct Slack {
    client: Client,
    post: Url,
    token: String,
    signing_secret: String,
}

/// Both secrets stay out of logs.
impl std::fmt::Debug for Slack {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Slack").field("post", &self.post.as_str()).finish_non_exhaustive()
    }
}

/// Somebody pressed something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interaction {
    /// What the message was about, if it names a task.
    pub task: Option<TaskId>,
}

impl Slack {
    /// `api` is where its methods are, for example `https://slack.com/api`.
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

    pub(super) async fn send(&self, to: &Recipient, letter: &Letter) -> Result<(), Unsent> {
        let later = |problem: String| Unsent::Later(problem);
        let request = self
            .client
            .post(self.post.clone())
            .header(AUTHORIZATION, format!("Bearer {}", self.token))
            .header(CONTENT_TYPE, "application/json; charset=utf-8")
            .body(message(&to.address, letter).to_string());
        let answer = request.send().await;
        let answer = answer.map_err(|error| later(error.without_url().to_string()))?;
        judge(answer).await
    }

    /// Nothing unless Slack has signed it, at most so long ago. `now` is the time of the world, in
    /// seconds since 1970.
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

/// Text in blocks of plain text is not read as markup; what stands beside them for old clients is
/// escaped as Slack wants it.
fn message(channel: &str, letter: &Letter) -> Value {
    let plain = |text: &str| json!({ "type": "plain_text", "text": text, "emoji": false });
    let mut blocks: Vec<Value> = Vec::new();
    for line in &letter.lines {
        blocks.push(json!({
            "type": "section",
            "text": plain(&line.text),
            "accessory": {
                "type": "button", "text": plain("Open"), "url": line.link, "action_id": "open",
            },
        }));
    }
    if letter.more > 0 {
        let more = format!("and {} more", letter.more);
        blocks.push(json!({ "type": "section", "text": plain(&more) }));
    }
    let escaped = letter.subject.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    json!({
        "channel": channel, "text": escaped, "mrkdwn": false, "parse": "none",
        "unfurl_links": false, "unfurl_media": false, "blocks": blocks,
    })
}

async fn judge(mut answer: Response) -> Result<(), Unsent> {
    let status = answer.status();
    if !status.is_success() {
        return Err(Unsent::Later(format!("Slack answered with {}", status.as_u16())));
    }
    let mut body = Vec::new();
    loop {
        let chunk = answer.chunk().await;
        let chunk = chunk.map_err(|error| Unsent::Later(error.without_url().to_string()))?;
        let Some(chunk) = chunk else { break };
        body.extend_from_slice(&chunk);
        if body.len() > EXPORT_ANSWER_MAX_BYTES {
            return Err(Unsent::Later("Slack says more than anybody reads".to_owned()));
        }
    }
    let answer: Value = serde_json::from_slice(&body).unwrap_or_default();
    if answer.get("ok") == Some(&json!(true)) {
        return Ok(());
    }
    let error = answer.get("error").and_then(Value::as_str).unwrap_or("no reason");
    let problem = format!("Slack says {error:?}");
    if NEVER.contains(&error) { Err(Unsent::Never(problem)) } else { Err(Unsent::Later(problem)) }
}

/// The address that was pressed ends with the task; nothing else of what was sent is used.
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
    use crate::notify::Line;

    fn slack() -> Slack {
        Slack::new("https://slack.com/api", "xoxb-1", "8f742231b10e8888abcd99yyyzzz85a5").unwrap()
    }

    /// The example of Slack's own documentation of request signing.
    const BODY: &str = "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&\
        channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2F\
        webhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F\
        397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d\
        10d2c447fce8b6703c";
    const SIGNED: &str = "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503";
    const AT: u64 = 1_531_420_618;

    #[test]
    fn what_slack_signs_is_known_and_nothing_else() {
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
    fn a_title_is_no_markup() {
        let letter = Letter {
            subject: "<!channel> & <https://evil.example|Approve>".to_owned(),
            lines: vec![Line { text: "*bold* <@U1>".to_owned(), link: "https://a/t".to_owned() }],
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
    fn secrets_are_not_printed() {
        let shown = format!("{:?}", slack());
        assert!(!shown.contains("xoxb") && !shown.contains("8f74"), "{shown}");
    }
}
