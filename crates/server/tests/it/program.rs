//! The program as a process: it logs JSON without secrets and stops on signals.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::thread::JoinHandle;

use ade_core::token::Token;
use ade_engine::admin::bootstrap;
use ade_engine::services::secrets::Pepper;
use ade_testkit::Database;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

pub struct Program {
    /// Dropped after the program that uses it.
    pub database: Database,
    child: Child,
    log: Option<BufReader<ChildStderr>>,
    /// Keeps reading, so that the program is not blocked by a full pipe.
    reader: Option<JoinHandle<String>>,
    pub seen: String,
}

impl Program {
    /// Starts the program and returns its address once it listens.
    async fn start() -> (Self, String) {
        Self::logging("info").await
    }

    async fn logging(level: &str) -> (Self, String) {
        Self::serving(level, []).await
    }

    /// Starts the program with a database, a pepper and these additional settings.
    pub async fn serving(
        level: &str,
        more: impl IntoIterator<Item = (String, String)>,
    ) -> (Self, String) {
        let database =
            Database::fresh("server", async |url: String| bootstrap::migrate(&url).await);
        let database = database.await;
        let pepper = std::env::temp_dir().join(format!("{}.pepper", database.name()));
        std::fs::write(&pepper, [7; 32]).unwrap();
        let environment = [
            ("ADE__DATABASE__URL", database.login("app", "ade_app").await),
            ("ADE__DATABASE__WORKER_URL", database.login("work", "ade_app, ade_worker").await),
            ("ADE__AUTH__PEPPER_FILE", pepper.to_str().unwrap().to_owned()),
        ];
        let environment = environment.map(|(name, value)| (name.to_owned(), value));
        let environment: Vec<(String, String)> = environment.into_iter().chain(more).collect();
        let started = Self::spawn("api", level, &environment, database);
        std::fs::remove_file(pepper).unwrap();
        started
    }

    pub fn spawn(
        command: &str,
        level: &str,
        environment: &[(String, String)],
        database: Database,
    ) -> (Self, String) {
        let mut child = Command::new(env!("CARGO_BIN_EXE_ade-server"))
            .arg(command)
            .env_clear()
            .env("ADE__SERVER__LISTEN", "127.0.0.1:0")
            .env("ADE__LOG__LEVEL", level)
            .envs(environment.iter().cloned())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let log = BufReader::new(child.stderr.take().unwrap());
        let log = Some(log);
        let mut program = Self { database, child, log, reader: None, seen: String::new() };
        let line = program.read_until("HTTP server started");
        (program, line["address"].as_str().unwrap().to_owned())
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Reads lines up to the one with this message. Each must be JSON.
    fn read_until(&mut self, message: &str) -> Value {
        loop {
            let mut line = String::new();
            let read = self.log.as_mut().unwrap().read_line(&mut line).unwrap();
            assert_ne!(read, 0, "the log ended before {message:?}");
            self.seen.push_str(&line);
            let value: Value = serde_json::from_str(&line).unwrap();
            if value["message"].as_str().is_some_and(|text| text.starts_with(message)) {
                return value;
            }
        }
    }

    pub fn signal(&self) {
        let pid = Pid::from_raw(self.child.id().try_into().unwrap()).unwrap();
        kill_process(pid, Signal::TERM).unwrap();
    }

    /// Reads the log in the background, for a program that logs a lot.
    pub fn read_on(&mut self) {
        self.reader = self.log.take().map(|log| std::thread::spawn(|| rest_of(log)));
    }

    pub fn end(&mut self) -> ExitStatus {
        let read = self.reader.take().map(|reader| reader.join().unwrap());
        let left = self.log.take().map(rest_of);
        self.seen.extend([read, left].into_iter().flatten());
        self.child.wait().unwrap()
    }
}

fn rest_of(mut log: BufReader<ChildStderr>) -> String {
    let mut rest = String::new();
    let _ = log.read_to_string(&mut rest);
    rest
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        self.end();
        ade_testkit::leak::assert_none("the log", &self.seen);
    }
}

fn get(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    let head = format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[tokio::test]
async fn program_stops_on_one_signal_and_logs_no_secrets() {
    let (mut program, address) = Program::start().await;
    let mut stream = TcpStream::connect(&address).unwrap();
    let planted = "ade_agt_0000000000000000_planted";
    let head = format!("GET /v1/status?token={planted} HTTP/1.1\r\nhost: x\r\n");
    let head = format!("{head}connection: close\r\nauthorization: Bearer {planted}\r\n\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 401"), "{answer}");
    let line = program.read_until("request completed");
    assert_eq!(line["status"], 401, "{line}");
    assert_eq!(line["code"], "unauthenticated", "{line}");
    assert_eq!(line["span"]["route"], "/v1/status", "{line}");
    let id = line["span"]["request_id"].as_str().unwrap();
    assert!(answer.contains(&format!("x-request-id: {id}")), "{id} is not in\n{answer}");
    program.signal();
    assert!(program.end().success(), "{}", program.seen);
    assert!(!program.seen.contains("planted"), "{}", program.seen);
}

#[tokio::test]
async fn program_stops_at_once_on_a_second_signal() {
    let (mut program, address) = Program::start().await;
    // After the first signal, the server waits for this incomplete request.
    let mut half = TcpStream::connect(&address).unwrap();
    half.write_all(b"GET /he").unwrap();
    while !get(&address, "/metrics").contains("\nade_http_connections 2\n") {}
    program.signal();
    program.read_until("shutdown started");
    assert!(program.child.try_wait().unwrap().is_none(), "the first signal was enough");
    program.signal();
    assert!(!program.end().success());
    assert!(program.seen.contains("second signal"), "{}", program.seen);
}

#[tokio::test]
async fn log_at_trace_level_contains_no_token() {
    let (mut program, address) = Program::logging("trace").await;
    let pepper = Pepper::new(vec![7; 32]).unwrap();
    let url = program.database.url();
    let first = bootstrap::bootstrap(&url, &pepper, "acme").await.unwrap().token;
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let asked = client.post(format!("http://{address}/v1/tokens"));
    let asked = asked.bearer_auth(first.reveal()).header("content-type", "application/json");
    let made = asked.body(r#"{"scopes":["read"]}"#).send().await.unwrap();
    assert_eq!(made.status(), 201);
    let made: Value = made.json().await.unwrap();
    let second = Token::parse(made["token"].as_str().unwrap()).unwrap();
    let me = client.get(format!("http://{address}/v1/me")).bearer_auth(second.reveal());
    assert_eq!(me.send().await.unwrap().status(), 200);
    program.signal();
    assert!(program.end().success());
    assert!(program.seen.contains("\"/v1/tokens\""), "the log contains the called routes");
    for token in [&first, &second] {
        assert!(!program.seen.contains(token.secret.reveal()), "{}", token.key_id);
        assert!(!program.seen.contains(&token.reveal()));
    }
}
