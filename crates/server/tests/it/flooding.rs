//! Hostile requests, each sent hundreds of times. Every one of them is refused as documented, and
//! the memory of the server does not grow with the data sent to it.

use std::fs;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use ade_core::limits::{BODY_MAX_BYTES, HEAD_MAX_BYTES, LIVE_FRAME_MAX_BYTES};
use ade_engine::admin::bootstrap;
use ade_engine::services::secrets::Pepper;
use reqwest::Client;
use serde_json::Value;

use crate::program::Program;

/// Rounds before the measurement, in which threads, pools and caches are created.
const WARM_UP: usize = 30;
const TIMES: usize = 300;
/// More than an allocator keeps in reserve, and a tenth of what the bodies alone add up to.
const GROWTH_MAX: usize = 32 * 1024 * 1024;
/// Long enough for a busy machine, and shorter than the idle timeout of a socket.
const PATIENCE: Duration = Duration::from_secs(30);

/// The server process and a token for it.
struct Target {
    program: Program,
    address: String,
    client: Client,
    token: String,
}

/// A hostile request, with the status and, if there is one, the code of its refusal.
struct Hostile {
    status: u16,
    code: &'static str,
    request: String,
}

impl Target {
    async fn start() -> Self {
        // With rate limits, most requests would get 429.
        let rates = ade_testkit::rates::unlimited().map(|(name, rate)| (name, rate.to_owned()));
        let (mut program, address) = Program::serving("info", rates).await;
        program.read_on();
        let pepper = Pepper::new(vec![7; 32]).unwrap();
        let first =
            bootstrap::bootstrap(&program.database.url(), &pepper, "acme").await.unwrap().token;
        // No connection is reused, because the server might close it at that moment.
        let client = Client::builder().no_proxy().pool_max_idle_per_host(0).build().unwrap();
        let mut target = Self { program, address, client, token: first.reveal() };
        // The bootstrap token can be used once.
        let made = target.made("/v1/tokens", r#"{"scopes":["read","propose"]}"#).await;
        made["token"].as_str().unwrap().clone_into(&mut target.token);
        target
    }

    async fn made(&self, path: &str, body: &'static str) -> Value {
        let asked = self.client.post(format!("http://{}{path}", self.address));
        let asked = asked.bearer_auth(&self.token).header("content-type", "application/json");
        let made = asked.body(body).send().await.unwrap();
        assert_eq!(made.status(), 201, "{path}");
        made.json().await.unwrap()
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// Asserts the refusal. Returns how many bytes were sent before it.
    fn refuses(&self, hostile: &Hostile) -> usize {
        let Hostile { status, code, request } = hostile;
        let mut stream = self.connect();
        let sent = push(&mut stream, request.as_bytes());
        let answer = rest_of(&mut stream);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{status}: {answer}");
        assert!(answer.contains(code), "{code}: {answer}");
        sent
    }

    /// Asserts that a socket refuses a frame because of its announced length, before its data
    /// arrives. Returns how many bytes were sent.
    async fn shuts_a_socket(&self) -> usize {
        let made = self.made("/v1/ws/tickets", "").await;
        let ticket = made["ticket"].as_str().unwrap();
        let mut stream = self.connect();
        let head = format!("GET /v1/ws?ticket={ticket} HTTP/1.1\r\nhost: x\r\n");
        let head = format!("{head}connection: upgrade\r\nupgrade: websocket\r\n");
        let head = format!("{head}sec-websocket-version: 13\r\n");
        let head = format!("{head}sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n");
        stream.write_all(head.as_bytes()).unwrap();
        let mut status = [0; 12];
        stream.read_exact(&mut status).unwrap();
        assert_eq!(&status, b"HTTP/1.1 101");
        let sent = push(&mut stream, &frame());
        rest_of(&mut stream);
        head.len() + sent
    }

    /// The resident memory of the server.
    fn resident(&self) -> usize {
        let status = fs::read_to_string(format!("/proc/{}/status", self.program.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        let kibibytes: usize = line.trim().trim_end_matches(" kB").parse().unwrap();
        kibibytes * 1024
    }

    /// Sends everything so many times. Returns how many bytes were sent.
    async fn flood(&self, times: usize) -> usize {
        let all = hostile(&self.token);
        let mut sent = 0;
        for _ in 0..times {
            sent += all.iter().map(|hostile| self.refuses(hostile)).sum::<usize>();
            sent += self.shuts_a_socket().await;
        }
        sent
    }
}

/// Sends as much as the peer accepts. It may refuse and close before all of it is sent.
fn push(stream: &mut TcpStream, bytes: &[u8]) -> usize {
    let mut sent = 0;
    while sent < bytes.len() {
        match stream.write(&bytes[sent..]) {
            Ok(more) => sent += more,
            Err(error) => {
                assert_ne!(error.kind(), ErrorKind::WouldBlock, "neither read nor refused");
                break;
            }
        }
    }
    sent
}

/// Reads until the peer closes the connection, even if the peer left data unread.
fn rest_of(stream: &mut TcpStream) -> String {
    let mut answer = Vec::new();
    if let Err(error) = stream.read_to_end(&mut answer) {
        assert_ne!(error.kind(), ErrorKind::WouldBlock, "neither a response nor a close");
    }
    String::from_utf8_lossy(&answer).into_owned()
}

fn hostile(token: &str) -> Vec<Hostile> {
    let long = "x".repeat(64 * HEAD_MAX_BYTES);
    let head = |path: &str, headers: &str| Hostile {
        status: 431,
        code: "",
        request: format!("GET /{path} HTTP/1.1\r\nhost: x\r\n{headers}\r\n"),
    };
    let post = |status, code, length: &str, body: &str| {
        let head = "POST /v1/tasks HTTP/1.1\r\nhost: x\r\nconnection: close\r\n";
        let head = format!("{head}authorization: Bearer {token}\r\n{length}\r\n");
        let request = format!("{head}content-type: application/json\r\n\r\n{body}");
        Hostile { status, code, request }
    };
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let length = format!("content-length: {}", deep.len());
    let large = format!("\"{}\"", "x".repeat(BODY_MAX_BYTES));
    let announced = format!("content-length: {}", 1_u64 << 40);
    let chunk = format!("{:x}\r\n{large}\r\n0\r\n\r\n", large.len());
    vec![
        head("healthz", &"x-one: 1\r\n".repeat(10_000)),
        head("healthz", &format!("x-long: {long}\r\n")),
        head(&long, ""),
        post(400, "\"malformed_body\"", &length, &deep),
        post(413, "\"body_too_large\"", &announced, &large),
        post(413, "\"body_too_large\"", "transfer-encoding: chunked", &chunk),
    ]
}

/// The beginning of a masked binary frame that announces far more data than follows.
fn frame() -> Vec<u8> {
    let mut frame = vec![0x82, 0xff];
    frame.extend((1_u64 << 40).to_be_bytes());
    frame.extend([0; 4]);
    frame.resize(frame.len() + 4 * LIVE_FRAME_MAX_BYTES, 0);
    frame
}

#[tokio::test]
async fn hostile_requests_are_refused_and_take_no_memory() {
    let target = Target::start().await;
    target.flood(WARM_UP).await;
    let before = target.resident();
    let sent = target.flood(TIMES).await;
    let after = target.resident();
    println!("{sent} bytes sent; memory was {before} before and {after} after");
    assert!(sent > 8 * GROWTH_MAX, "{sent} bytes are too few for a flood");
    assert!(after.saturating_sub(before) < GROWTH_MAX, "{before} grew to {after}");
    let well = target.client.get(format!("http://{}/healthz", target.address));
    assert_eq!(well.send().await.unwrap().status(), 200);
}
