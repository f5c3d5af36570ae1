//! A target that is changed over HTTP. It stores one value, verifies callers and their permits,
//! accepts every call once, and refuses stale fencing tokens. It misbehaves on request.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ade_receipt::{Expected, Fenced, KeySet, LockMode, Receipt, Signer, Watermark};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use crate::failure::{Failure, or_fail};
use crate::http_message::read_message;

pub const ISSUER: &str = "https://ade.test";
/// The name of the target in receipts.
pub const AUDIENCE: &str = "orders";
pub const RESOURCE: &str = "database:orders";
const FOREVER: Duration = Duration::from_hours(1);

#[derive(Debug)]
pub struct HttpTarget {
    url: String,
    key: Vec<u8>,
    kept: Arc<Mutex<TargetState>>,
    serving: JoinHandle<()>,
}

#[derive(Debug)]
struct TargetState {
    value: String,
    watermark: Watermark,
    nonces: BTreeSet<String>,
    calls: usize,
    refusals: Vec<String>,
}

impl HttpTarget {
    pub async fn start() -> Self {
        let made = async {
            let key = Signer::generate().map_err(|error| Failure::new("make a key", error))?;
            let signer =
                Signer::from_pkcs8(&key).map_err(|error| Failure::new("read a key", error))?;
            let listener = TcpListener::bind("127.0.0.1:0").await;
            let listener = listener.map_err(|error| Failure::new("listen", error))?;
            let address = listener.local_addr().map_err(|error| Failure::new("listen", error))?;
            Ok((key, KeySet::new(vec![signer.public().clone()]), listener, address))
        };
        let (key, keys, listener, address) = or_fail(made.await);
        let url = format!("http://{address}/change");
        let kept = Arc::new(Mutex::new(TargetState {
            value: "one".to_owned(),
            watermark: Watermark::default(),
            nonces: BTreeSet::new(),
            calls: 0,
            refusals: Vec::new(),
        }));
        let serving = tokio::spawn(serve(listener, keys, url.clone(), Arc::clone(&kept)));
        Self { url, key, kept, serving }
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns the private key whose signatures the target trusts, as PKCS#8.
    pub fn key(&self) -> &[u8] {
        &self.key
    }

    pub fn value(&self) -> String {
        lock(&self.kept).value.clone()
    }

    pub fn calls(&self) -> usize {
        lock(&self.kept).calls
    }

    /// Returns the reasons for which calls were refused, oldest first.
    pub fn refusals(&self) -> Vec<String> {
        lock(&self.kept).refusals.clone()
    }

    /// Returns the receipt that a permit would contain for this digest and this fencing token.
    pub fn receipt(&self, digest: &str, fence: u64) -> String {
        let now = now();
        let resource = RESOURCE.to_owned();
        let receipt = Receipt {
            issuer: ISSUER.to_owned(),
            audience: AUDIENCE.to_owned(),
            nonce: format!("permit {fence}"),
            issued_at: now,
            expires_at: now.saturating_add(60),
            task: "task".to_owned(),
            tenant: "tenant".to_owned(),
            revision: 1,
            digest: digest.to_owned(),
            agent: "the server".to_owned(),
            lease: "lease".to_owned(),
            votes: Vec::new(),
            policies: Vec::new(),
            resources: vec![Fenced { resource, mode: LockMode::Exclusive, fence }],
            versions: std::collections::BTreeMap::new(),
        };
        let signed = Signer::from_pkcs8(&self.key).and_then(|signer| signer.sign(&receipt));
        or_fail(signed.map_err(|error| Failure::new("sign", error)))
    }
}

impl Drop for HttpTarget {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

fn lock(kept: &Mutex<TargetState>) -> std::sync::MutexGuard<'_, TargetState> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}

#[expect(clippy::disallowed_methods, reason = "a target has a clock of its own")]
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

async fn serve(listener: TcpListener, keys: KeySet, url: String, kept: Arc<Mutex<TargetState>>) {
    let shared = Arc::new((keys, url, kept));
    while let Ok((stream, _)) = listener.accept().await {
        let shared = Arc::clone(&shared);
        tokio::spawn(async move { drop(answer(stream, &shared).await) });
    }
}

type Shared = (KeySet, String, Arc<Mutex<TargetState>>);

/// Answers one request per connection.
async fn answer(mut stream: TcpStream, (keys, url, kept): &Shared) -> std::io::Result<()> {
    let Some(message) = read_message(&mut stream).await? else { return Ok(()) };
    let judged = judge(keys, url, kept, &message.header("ade-signature"), &message.body);
    let (status, answer) = match judged {
        Ok(request) => match text(&request, "/parameters/behave") {
            Some("hang") => return wait(&mut stream).await,
            Some("cut") => return Ok(()),
            Some("junk") => ("200 OK", "not json".to_owned()),
            Some("flood") => ("200 OK", format!("{{\"x\":\"{}\"}}", "x".repeat(400_000))),
            Some("error") => ("500 Internal Server Error", "{}".to_owned()),
            Some("redirect") => {
                let to = format!("302 Found\r\nLocation: {url}");
                return respond(&mut stream, &to, "").await;
            }
            _ => ("200 OK", act(kept, &request).to_string()),
        },
        Err(why) => {
            lock(kept).refusals.push(why);
            ("403 Forbidden", "{}".to_owned())
        }
    };
    respond(&mut stream, status, &answer).await
}

async fn wait(stream: &mut TcpStream) -> std::io::Result<()> {
    let mut rest = Vec::new();
    let gone = stream.read_to_end(&mut rest);
    let _ = tokio::time::timeout(FOREVER, gone).await;
    Ok(())
}

async fn respond(stream: &mut TcpStream, status: &str, body: &str) -> std::io::Result<()> {
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(body.as_bytes()).await?;
    stream.shutdown().await
}

/// Decides whether a call is accepted: its signature must be valid and new, and a change needs a
/// permit with a fencing token that is not stale.
fn judge(
    keys: &KeySet,
    url: &str,
    kept: &Mutex<TargetState>,
    token: &str,
    body: &[u8],
) -> Result<Value, String> {
    let now = now();
    let expected = Expected { issuer: ISSUER, audience: url, now };
    let signed = keys.verify_request(token, body, expected).map_err(|error| error.to_string())?;
    let request: Value = serde_json::from_slice(body).map_err(|error| error.to_string())?;
    let mut kept = lock(kept);
    kept.calls = kept.calls.saturating_add(1);
    if !kept.nonces.insert(signed.nonce) {
        return Err("this call was here before".to_owned());
    }
    if text(&request, "/verb") != Some(&signed.verb) {
        return Err("another verb is signed".to_owned());
    }
    if signed.verb == "preview" {
        return Ok(request);
    }
    let receipt = text(&request, "/receipt").unwrap_or_default();
    let expected = Expected { issuer: ISSUER, audience: AUDIENCE, now };
    let receipt = keys.verify(receipt, expected).map_err(|error| error.to_string())?;
    if text(&request, "/digest") != Some(&receipt.digest) {
        return Err("another content was agreed to".to_owned());
    }
    let fenced = receipt.of(RESOURCE).ok_or("the permit is for something else")?;
    let fence = request.pointer("/resources/0/fence").and_then(Value::as_u64);
    if fence != Some(fenced.fence) {
        return Err("another fence is signed".to_owned());
    }
    kept.watermark = kept.watermark.admit(fenced).map_err(|error| error.to_string())?;
    Ok(request)
}

fn text<'a>(request: &'a Value, pointer: &str) -> Option<&'a str> {
    request.pointer(pointer).and_then(Value::as_str)
}

fn act(kept: &Mutex<TargetState>, request: &Value) -> Value {
    let mut kept = lock(kept);
    let wanted = text(request, "/parameters/value");
    match (text(request, "/verb"), wanted) {
        (Some("preview"), None) => json!({ "refused": "name a value" }),
        (Some("preview"), Some(wanted)) => json!({
            "changes": [{
                "resource": RESOURCE, "action": "change", "irreversible": false,
                "summary": "set the value", "before": kept.value, "after": wanted,
            }],
            "versions": { RESOURCE: kept.value },
        }),
        (Some("stash"), _) => json!({ "stash": { "kept": kept.value } }),
        (Some("apply"), Some(wanted)) => {
            if text(request, "/parameters/behave") == Some("fail") {
                return json!({ "result": "failure", "error": "no room", "left": "nothing" });
            }
            wanted.clone_into(&mut kept.value);
            json!({ "result": "success", "details": { "set": wanted } })
        }
        (Some("roll_back"), _) => {
            let old = text(request, "/stash/kept").unwrap_or_default();
            old.clone_into(&mut kept.value);
            json!({ "result": "success" })
        }
        _ => json!({ "result": "failure", "error": "what?", "left": "nothing" }),
    }
}
