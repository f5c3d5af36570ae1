//! Export of events to a sink. Every event arrives in order, although sinks are unavailable or
//! break the connection and sending processes die, and the ledger has no gap.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use ade_core::limits::GROUP_AWAY_PAUSE;
use ade_engine::services::tenant_binding::TenantBinding;
use ade_engine::workers;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::world::{LockBackend, TestServerOptions, World};

const WORKER: &str = "audit_logger";

async fn world_with(sink: String) -> World {
    let line = LockBackend::Rows(LockBackend::SETTINGS);
    let sink = Some((sink, TenantBinding::Every));
    World::fitted(TestServerOptions { sink, ..line.into() }).await
}

fn place(world: &str) -> PathBuf {
    let name = format!("ade-export-{world}-{}", uuid::Uuid::now_v7());
    std::env::temp_dir().join(name)
}

async fn make_events(world: &World, count: usize) {
    let bob = world.person("Bob", &["author"]).await;
    for number in 0..count {
        world.draft(&bob, &format!("task {number}")).await;
    }
    while world.work("relay").await.has_more {}
}

async fn read(world: &World) {
    while world.work(WORKER).await.has_more {}
}

/// Asserts that the batches follow each other without a gap from the first event on.
async fn assert_ledger(world: &World, end: i64) {
    let gaps = "SELECT count(*) FROM (
                    SELECT first_seq - 1 AS before,
                           coalesce(lag(last_seq) OVER (ORDER BY first_seq), 0) AS last
                      FROM export_batch) AS batch WHERE before <> last";
    assert_eq!(world.database.number(gaps).await, 0);
    let last = "SELECT coalesce(max(last_seq), 0) FROM export_batch";
    assert_eq!(world.database.number(last).await, end);
}

/// Asserts that every number occurs, and that the first occurrences are in order.
fn assert_whole(seqs: &[u64], end: u64) {
    let mut known = BTreeSet::new();
    let first: Vec<u64> = seqs.iter().copied().filter(|seq| known.insert(*seq)).collect();
    assert_eq!(first, (1..=end).collect::<Vec<_>>());
}

fn lines(path: &PathBuf) -> Vec<u64> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let seq = |line: &str| serde_json::from_str::<Value>(line).unwrap()["seq"].as_u64().unwrap();
    text.lines().map(seq).collect()
}

/// Redrives an event that failed while the sink still served the tenant of the world.
async fn redrive_one(world: &World) {
    let died =
        "INSERT INTO dead_event (tenant_id, id, consumer, tenant_seq, event_id, kind, object,
                    at, payload, state, tries, problem, died_at, changed_at)
                SELECT tenant_id, gen_random_uuid(), 'audit-logger', 1, gen_random_uuid(),
                       'task.created', 'task', now(), '{}', 'dead', 1, 'rejected', now(), now()
                  FROM tenant WHERE name <> 'other'";
    world.database.run(died).await;
    let oper = world.person("Oper", &["operator"]).await;
    let redrive = "/v1/event-consumers/dead-events/redrive";
    world.post(&oper.token, redrive, json!({ "consumer": "audit_logger" })).await.expect(202);
    world.work("event_redriver").await;
    let state = "SELECT count(*) FROM dead_event WHERE state = 'dead' AND problem LIKE '%sink%'";
    assert_eq!(world.database.number(state).await, 1);
}

#[tokio::test]
async fn export_contains_only_tenants_of_the_sink() {
    let directory = place("tenants");
    std::fs::create_dir(&directory).unwrap();
    let file = directory.join("events.jsonl");
    let line = LockBackend::Rows(LockBackend::SETTINGS);
    let tenants = TenantBinding::Listed(vec!["other".to_owned()]);
    let sink = Some((format!("file://{}", file.display()), tenants));
    let world = World::fitted(TestServerOptions { sink, ..line.into() }).await;
    let (other, admin) = world.tenant("other").await;
    world.draft(&admin, "exported").await;
    make_events(&world, 3).await;
    read(&world).await;
    redrive_one(&world).await;
    let text = std::fs::read_to_string(&file).unwrap();
    let tenants: BTreeSet<String> = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["tenant_id"].to_string())
        .collect();
    assert_eq!(tenants, BTreeSet::from([format!("\"{other}\"")]), "{text}");
    std::fs::remove_dir_all(&directory).unwrap();
}

#[tokio::test]
async fn export_to_a_file_is_complete_after_an_outage() {
    let directory = place("file");
    let file = directory.join("events.jsonl");
    let world = world_with(format!("file://{}", file.display())).await;
    make_events(&world, 5).await;
    for tries in 0..10 {
        world.pass(GROUP_AWAY_PAUSE * 2 * tries).await;
        read(&world).await;
    }
    let stands = world.get(&world.admin.token, "/v1/event-consumers").await.expect(200);
    let logger = &stands["items"][1];
    assert_eq!((&logger["consumer"], &logger["seq"]), (&json!("audit_logger"), &json!(0)));
    assert!(logger["trouble"]["problem"].as_str().unwrap().contains("file"), "{logger}");
    assert_eq!(logger["dead"], 0, "an unavailable sink loses no event: {logger}");
    std::fs::create_dir(&directory).unwrap();
    world.pass(GROUP_AWAY_PAUSE * 40).await;
    read(&world).await;
    assert_eq!(lines(&file), [1, 2, 3, 4, 5]);
    std::fs::rename(&file, directory.join("rotated")).unwrap();
    make_events(&world, 2).await;
    read(&world).await;
    assert_eq!(lines(&file), [6, 7], "the file may be moved away by a log rotation");
    assert_ledger(&world, 7).await;
    std::fs::remove_dir_all(directory).unwrap();
}

#[tokio::test]
async fn export_by_several_dying_processes_leaves_no_gap() {
    let directory = place("many");
    std::fs::create_dir(&directory).unwrap();
    let file = directory.join("events.jsonl");
    let world = Arc::new(world_with(format!("file://{}", file.display())).await);
    world.database.be_patient().await;
    make_events(&world, 20).await;
    let mut sending = Vec::new();
    for number in 0..12 {
        let app = world.another_app();
        sending.push(tokio::spawn(async move {
            let reading = workers::run_once(&app, WORKER);
            // Some processes die in the middle of their work.
            let patience = std::time::Duration::from_millis(number * 3);
            drop(tokio::time::timeout(patience, reading).await);
        }));
    }
    for one in sending {
        one.await.unwrap();
    }
    read(&world).await;
    assert_whole(&lines(&file), 20);
    assert_ledger(&world, 20).await;
    std::fs::remove_dir_all(directory).unwrap();
}

/// A syslog server with octet counting (RFC 6587) that can break the connection.
struct Syslog {
    address: String,
    /// Breaks a connection after so many bytes.
    breaks_after: Arc<Mutex<Option<usize>>>,
    heard: Arc<Mutex<Vec<u64>>>,
}

impl Syslog {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (breaks_after, heard) = (Arc::new(Mutex::new(None)), Arc::new(Mutex::new(Vec::new())));
        let syslog =
            Self { address, breaks_after: Arc::clone(&breaks_after), heard: Arc::clone(&heard) };
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let limit = *breaks_after.lock().unwrap();
                let read = take(stream, limit).await;
                heard.lock().unwrap().extend(read);
            }
        });
        syslog
    }

    fn heard(&self) -> Vec<u64> {
        self.heard.lock().unwrap().clone()
    }
}

/// Reads a connection and returns the sequence numbers of the complete messages.
async fn take(mut stream: TcpStream, limit: Option<usize>) -> Vec<u64> {
    let mut bytes = Vec::new();
    while stream.read_buf(&mut bytes).await.unwrap() > 0 {
        if limit.is_some_and(|limit| bytes.len() >= limit) {
            // Unread bytes cause a reset. A normal close would look like a success.
            stream.set_zero_linger().unwrap();
            break;
        }
    }
    let mut seqs = Vec::new();
    let mut rest = bytes.as_slice();
    while let Some(at) = rest.iter().position(|byte| *byte == b' ') {
        let length: usize = std::str::from_utf8(&rest[..at]).unwrap().parse().unwrap();
        let Some(message) = rest.get(at + 1..at + 1 + length) else { break };
        let message = std::str::from_utf8(message).unwrap();
        let head: Vec<&str> = message.splitn(8, ' ').collect();
        assert_eq!((head[0], head[2], head[3], head[4], head[6]), ("<109>1", "-", "ade", "-", "-"));
        let body: Value = serde_json::from_str(head[7]).unwrap();
        assert_eq!(body["type"], head[5]);
        seqs.push(body["seq"].as_u64().unwrap());
        rest = &rest[at + 1 + length..];
    }
    seqs
}

#[tokio::test]
async fn export_to_syslog_is_complete_after_a_broken_connection() {
    let syslog = Syslog::start().await;
    let world = world_with(format!("syslog+tcp://{}", syslog.address)).await;
    *syslog.breaks_after.lock().unwrap() = Some(700);
    make_events(&world, 30).await;
    read(&world).await;
    assert!(syslog.heard().len() < 30, "the connection broke");
    assert_eq!(world.database.number("SELECT count(*) FROM export_batch").await, 0);
    *syslog.breaks_after.lock().unwrap() = None;
    world.pass(GROUP_AWAY_PAUSE * 2).await;
    read(&world).await;
    assert_whole(&syslog.heard(), 30);
    assert_ledger(&world, 30).await;
}

/// An OTLP collector that returns the given responses, one per request.
async fn collector(answers: Vec<(u16, &'static str)>) -> (String, Arc<Mutex<Vec<Value>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let heard: Arc<Mutex<Vec<Value>>> = Arc::default();
    let kept = Arc::clone(&heard);
    tokio::spawn(async move {
        for (status, answer) in answers {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut bytes = Vec::new();
            let body = loop {
                assert_ne!(stream.read_buf(&mut bytes).await.unwrap(), 0);
                let text = String::from_utf8_lossy(&bytes).into_owned();
                let Some((heading, body)) = text.split_once("\r\n\r\n") else { continue };
                assert!(heading.starts_with("POST /v1/logs HTTP/1.1"), "{heading}");
                let heading = heading.to_ascii_lowercase();
                let (_, length) = heading.split_once("content-length: ").unwrap();
                let length: usize = length.lines().next().unwrap().parse().unwrap();
                if body.len() >= length {
                    break body.to_owned();
                }
            };
            if (200..300).contains(&status) {
                kept.lock().unwrap().push(serde_json::from_str(&body).unwrap());
            }
            let length = answer.len();
            let heading = format!(
                "HTTP/1.1 {status} x\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n"
            );
            stream.write_all((heading + answer).as_bytes()).await.unwrap();
        }
    });
    (format!("otlp+http://{address}/v1/logs"), heard)
}

#[tokio::test]
async fn export_to_a_collector_is_retried_until_it_accepts() {
    let answers = vec![(503, ""), (429, ""), (200, "{}")];
    let (sink, heard) = collector(answers).await;
    let world = world_with(sink).await;
    make_events(&world, 3).await;
    for tries in 0..3 {
        world.pass(GROUP_AWAY_PAUSE * 2 * tries).await;
        read(&world).await;
    }
    let heard = heard.lock().unwrap().clone();
    assert_eq!(heard.len(), 1);
    let records = &heard[0]["resourceLogs"][0]["scopeLogs"][0]["logRecords"];
    let seqs: Vec<u64> = records.as_array().unwrap().iter().map(seq_of).collect();
    assert_eq!(seqs, [1, 2, 3]);
    assert_eq!(records[0]["eventName"], "task.created");
    assert_ledger(&world, 3).await;
}

fn seq_of(record: &Value) -> u64 {
    let body: Value =
        serde_json::from_str(record["body"]["stringValue"].as_str().unwrap()).unwrap();
    body["seq"].as_u64().unwrap()
}

#[tokio::test]
async fn export_rejected_by_a_collector_becomes_a_dead_letter() {
    let refused = r#"{"partialSuccess":{"rejectedLogRecords":"1","errorMessage":"no"}}"#;
    let (sink, _) = collector(vec![(200, refused); 3]).await;
    let world = world_with(sink).await;
    make_events(&world, 1).await;
    for tries in 0..3 {
        world.pass(std::time::Duration::from_mins(1) * tries).await;
        read(&world).await;
    }
    let dead = "SELECT count(*) FROM dead_event WHERE consumer = 'audit-logger'";
    assert_eq!(world.database.number(dead).await, 1);
    assert_ledger(&world, 0).await;
}
