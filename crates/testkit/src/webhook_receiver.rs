//! A receiver of webhooks that follows the contract: it accepts only fresh events with a trusted
//! signature, and recognizes events that it has received before. It answers as the test sets it up,
//! and records the order of everything that arrives.

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use aws_lc_rs::signature::{ED25519, UnparsedPublicKey};
use aws_lc_rs::{constant_time, hmac};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::failure::{Failure, or_fail};
use crate::http_message::{Message, read_message};

/// Older and newer timestamps are refused, as the standard requires.
const TOLERANCE_S: u64 = 300;
const FOREVER: Duration = Duration::from_hours(1);

/// How the receiver answers a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Behaviour {
    Status(u16),
    /// A status with this header line, for example `Retry-After: 7`.
    Head(u16, String),
    Body(u16, Vec<u8>),
    /// Reads the request and never answers.
    Hang,
    /// Reads the request and closes the connection.
    Close,
    /// Answers one byte at a time, without end.
    Drip,
    /// A status and then a body that does not end.
    Endless,
    /// Closes the connection in the middle of the response header.
    Cut,
    Redirect(String),
}

/// One call as it was received.
#[derive(Debug, Clone, PartialEq)]
pub struct ReceivedCall {
    pub id: String,
    pub timestamp: String,
    pub signature: String,
    pub body: Value,
    /// The exact text that was signed.
    pub text: String,
    pub path: String,
}

#[derive(Debug)]
pub struct WebhookReceiver {
    url: String,
    kept: Arc<Mutex<ReceiverState>>,
    calls: watch::Receiver<usize>,
    serving: JoinHandle<()>,
}

#[derive(Debug, Default)]
struct ReceiverState {
    secrets: Vec<String>,
    behaviour: Option<Behaviour>,
    /// Behaviours that come before the lasting one, each for one call.
    next: VecDeque<Behaviour>,
    heard: Vec<ReceivedCall>,
    /// The accepted events, each once.
    taken: Vec<ReceivedCall>,
    known: BTreeSet<String>,
    refusals: Vec<String>,
}

impl WebhookReceiver {
    /// Starts a receiver that answers 204 to everything once it knows a secret.
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await;
        let listener = or_fail(listener.map_err(|error| Failure::new("listen", error)));
        let address = listener.local_addr().map_err(|error| Failure::new("listen", error));
        let url = format!("http://{}/hook", or_fail(address));
        let kept = Arc::new(Mutex::new(ReceiverState::default()));
        let (received, calls) = watch::channel(0);
        let serving = tokio::spawn(serve(listener, Arc::clone(&kept), received));
        Self { url, kept, calls, serving }
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    /// Trusts a secret of the form `whsec_…` or `whpk_…`.
    pub fn trust(&self, secret: &str) {
        self.kept().secrets.push(secret.to_owned());
    }

    pub fn distrust_all(&self) {
        self.kept().secrets.clear();
    }

    pub fn behave(&self, behaviour: Behaviour) {
        self.kept().behaviour = Some(behaviour);
    }

    pub fn behave_once(&self, behaviour: Behaviour) {
        self.kept().next.push_back(behaviour);
    }

    /// Returns every call, accepted or not, in the order in which they arrived.
    pub fn heard(&self) -> Vec<ReceivedCall> {
        self.kept().heard.clone()
    }

    /// Returns the accepted events, each once, in the order in which they were accepted.
    pub fn taken(&self) -> Vec<ReceivedCall> {
        self.kept().taken.clone()
    }

    pub fn refusals(&self) -> Vec<String> {
        self.kept().refusals.clone()
    }

    pub fn calls(&self) -> usize {
        *self.calls.borrow()
    }

    /// Returns once this many calls have arrived in total.
    pub async fn called(&self, times: usize, deadline: Duration) {
        let mut calls = self.calls.clone();
        let enough = timeout(deadline, calls.wait_for(|calls| *calls >= times)).await;
        if enough.is_err() {
            let what = format!("wait {deadline:?} for call {times}");
            or_fail::<()>(Err(Failure::new(what, format!("there were {}", self.calls()))));
        }
    }

    fn kept(&self) -> std::sync::MutexGuard<'_, ReceiverState> {
        lock(&self.kept)
    }
}

impl Drop for WebhookReceiver {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

fn lock(kept: &Mutex<ReceiverState>) -> std::sync::MutexGuard<'_, ReceiverState> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn serve(
    listener: TcpListener,
    kept: Arc<Mutex<ReceiverState>>,
    received: watch::Sender<usize>,
) {
    while let Ok((stream, _)) = listener.accept().await {
        let (kept, received) = (Arc::clone(&kept), received.clone());
        tokio::spawn(async move { drop(answer(stream, &kept, &received).await) });
    }
}

/// Answers one request per connection.
async fn answer(
    mut stream: TcpStream,
    kept: &Mutex<ReceiverState>,
    received: &watch::Sender<usize>,
) -> std::io::Result<()> {
    let Some(message) = read_message(&mut stream).await? else { return Ok(()) };
    let behaviour = take(kept, &message);
    received.send_modify(|calls| *calls = calls.saturating_add(1));
    let (status, head, body) = match behaviour {
        Behaviour::Status(status) => (status, String::new(), Vec::new()),
        Behaviour::Head(status, head) => (status, head + "\r\n", Vec::new()),
        Behaviour::Body(status, body) => (status, String::new(), body),
        Behaviour::Redirect(to) => (307, format!("Location: {to}\r\n"), Vec::new()),
        Behaviour::Close => return Ok(()),
        Behaviour::Cut => return stream.write_all(b"HTTP/1.1 204 No Con").await,
        Behaviour::Hang => return wait(&mut stream).await,
        Behaviour::Drip => return drip(&mut stream, b"HTTP/1.1 204 No Content\r\nx: ").await,
        Behaviour::Endless => return endless(&mut stream).await,
    };
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status} Reply\r\n{head}Content-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(&body).await?;
    stream.shutdown().await
}

async fn wait(stream: &mut TcpStream) -> std::io::Result<()> {
    let mut rest = Vec::new();
    let _ = timeout(FOREVER, stream.read_to_end(&mut rest)).await;
    Ok(())
}

async fn drip(stream: &mut TcpStream, begin: &[u8]) -> std::io::Result<()> {
    stream.write_all(begin).await?;
    loop {
        stream.write_all(b"x").await?;
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

async fn endless(stream: &mut TcpStream) -> std::io::Result<()> {
    stream.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n").await?;
    let chunk = [b'x'; 4096];
    loop {
        stream.write_all(&chunk).await?;
    }
}

/// Checks a call against the contract, records it, and returns how to answer it.
fn take(kept: &Mutex<ReceiverState>, message: &Message) -> Behaviour {
    let mut kept = lock(kept);
    let text = String::from_utf8_lossy(&message.body).into_owned();
    let heard = ReceivedCall {
        id: message.header("webhook-id"),
        timestamp: message.header("webhook-timestamp"),
        signature: message.header("webhook-signature"),
        body: serde_json::from_str(&text).unwrap_or_default(),
        text,
        path: message.path.clone(),
    };
    kept.heard.push(heard.clone());
    if let Err(why) = judge(&kept.secrets, &heard) {
        kept.refusals.push(why);
        return Behaviour::Status(401);
    }
    let lasting = kept.behaviour.clone().unwrap_or(Behaviour::Status(204));
    let behaviour = kept.next.pop_front().unwrap_or(lasting);
    let is_yes = match behaviour {
        Behaviour::Status(status) | Behaviour::Head(status, _) | Behaviour::Body(status, _) => {
            (200..300).contains(&status)
        }
        // The event counts as received, whatever happens to the answer.
        Behaviour::Hang
        | Behaviour::Close
        | Behaviour::Cut
        | Behaviour::Drip
        | Behaviour::Endless => true,
        Behaviour::Redirect(_) => false,
    };
    if is_yes && kept.known.insert(heard.id.clone()) {
        kept.taken.push(heard);
    }
    behaviour
}

fn judge(secrets: &[String], heard: &ReceivedCall) -> Result<(), String> {
    if heard.id.is_empty() || heard.signature.is_empty() {
        return Err("it is not signed".to_owned());
    }
    let sent: u64 = heard.timestamp.parse().map_err(|_| "it has no time".to_owned())?;
    if now().abs_diff(sent) > TOLERANCE_S {
        return Err("it is not of now".to_owned());
    }
    let text = format!("{}.{}.{}", heard.id, heard.timestamp, heard.text);
    let is_by = |secret: &String| {
        heard.signature.split(' ').any(|signature| verifies(secret, signature, text.as_bytes()))
    };
    if secrets.iter().any(is_by) { Ok(()) } else { Err("no key I trust has signed it".to_owned()) }
}

fn verifies(secret: &str, signature: &str, text: &[u8]) -> bool {
    let decode = |text: &str| STANDARD.decode(text).unwrap_or_default();
    match (secret.split_once('_'), signature.split_once(',')) {
        (Some(("whsec", key)), Some(("v1", given))) => {
            let key = hmac::Key::new(hmac::HMAC_SHA256, &decode(key));
            let made = hmac::sign(&key, text);
            constant_time::verify_slices_are_equal(made.as_ref(), &decode(given)).is_ok()
        }
        (Some(("whpk", key)), Some(("v1a", given))) => {
            UnparsedPublicKey::new(&ED25519, decode(key)).verify(text, &decode(given)).is_ok()
        }
        _ => false,
    }
}

#[expect(clippy::disallowed_methods, reason = "a receiver has a clock of its own")]
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}
