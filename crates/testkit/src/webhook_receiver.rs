//! Somebody who is told of events over HTTP, and keeps to the other side of the contract: takes
//! only what is signed by a key it trusts and is fresh, and knows what it has heard before. It
//! answers as the test tells it to, and remembers the order in which everything came.

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

/// What is older or newer is refused, by the standard.
const TOLERANCE_S: u64 = 300;
const FOREVER: Duration = Duration::from_hours(1);

/// How it answers a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Behaviour {
    Status(u16),
    /// With this head after the status line, for example `Retry-After: 7`.
    Head(u16, String),
    Body(u16, Vec<u8>),
    /// Takes the request and says nothing.
    Hang,
    /// Takes the request and closes.
    Close,
    /// Answers a byte at a time, for ever.
    Drip,
    /// A status, and then a body that does not end.
    Endless,
    /// Closes in the middle of the head.
    Cut,
    Redirect(String),
}

/// One call as it came.
#[derive(Debug, Clone, PartialEq)]
pub struct Heard {
    pub id: String,
    pub timestamp: String,
    pub signature: String,
    pub body: Value,
    /// Word for word, as it was signed.
    pub text: String,
    pub path: String,
}

#[derive(Debug)]
pub struct WebhookReceiver {
    url: String,
    kept: Arc<Mutex<Kept>>,
    calls: watch::Receiver<usize>,
    serving: JoinHandle<()>,
}

#[derive(Debug, Default)]
struct Kept {
    secrets: Vec<String>,
    behaviour: Option<Behaviour>,
    /// Before the lasting one, each for one call.
    next: VecDeque<Behaviour>,
    heard: Vec<Heard>,
    /// Those that were taken, each once.
    taken: Vec<Heard>,
    known: BTreeSet<String>,
    refusals: Vec<String>,
}

impl WebhookReceiver {
    /// Takes everything with 204 once it knows a secret.
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await;
        let listener = or_fail(listener.map_err(|error| Failure::new("listen", error)));
        let address = listener.local_addr().map_err(|error| Failure::new("listen", error));
        let url = format!("http://{}/hook", or_fail(address));
        let kept = Arc::new(Mutex::new(Kept::default()));
        let (told, calls) = watch::channel(0);
        let serving = tokio::spawn(serve(listener, Arc::clone(&kept), told));
        Self { url, kept, calls, serving }
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    /// `whsec_…` or `whpk_…`.
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

    /// Every call, taken or not, in the order in which they came.
    pub fn heard(&self) -> Vec<Heard> {
        self.kept().heard.clone()
    }

    /// What it acted on: each event once, in the order in which it took them.
    pub fn taken(&self) -> Vec<Heard> {
        self.kept().taken.clone()
    }

    pub fn refusals(&self) -> Vec<String> {
        self.kept().refusals.clone()
    }

    pub fn calls(&self) -> usize {
        *self.calls.borrow()
    }

    /// Returns once so many calls have come in all.
    pub async fn called(&self, times: usize, deadline: Duration) {
        let mut calls = self.calls.clone();
        let enough = timeout(deadline, calls.wait_for(|calls| *calls >= times)).await;
        if enough.is_err() {
            let what = format!("wait {deadline:?} for call {times}");
            or_fail::<()>(Err(Failure::new(what, format!("there were {}", self.calls()))));
        }
    }

    fn kept(&self) -> std::sync::MutexGuard<'_, Kept> {
        lock(&self.kept)
    }
}

impl Drop for WebhookReceiver {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

fn lock(kept: &Mutex<Kept>) -> std::sync::MutexGuard<'_, Kept> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn serve(listener: TcpListener, kept: Arc<Mutex<Kept>>, told: watch::Sender<usize>) {
    while let Ok((stream, _)) = listener.accept().await {
        let (kept, told) = (Arc::clone(&kept), told.clone());
        tokio::spawn(async move { drop(answer(stream, &kept, &told).await) });
    }
}

/// One request for each connection.
async fn answer(
    mut stream: TcpStream,
    kept: &Mutex<Kept>,
    told: &watch::Sender<usize>,
) -> std::io::Result<()> {
    let Some(message) = read_message(&mut stream).await? else { return Ok(()) };
    let behaviour = take(kept, &message);
    told.send_modify(|calls| *calls = calls.saturating_add(1));
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
        "HTTP/1.1 {status} Told\r\n{head}Content-Length: {length}\r\nConnection: close\r\n\r\n"
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

/// Judges a call by the contract, remembers it, and says how it is answered.
fn take(kept: &Mutex<Kept>, message: &Message) -> Behaviour {
    let mut kept = lock(kept);
    let text = String::from_utf8_lossy(&message.body).into_owned();
    let heard = Heard {
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
        // It has heard it, and acts on it, whatever becomes of its answer.
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

fn judge(secrets: &[String], heard: &Heard) -> Result<(), String> {
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
