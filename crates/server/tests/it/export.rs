//! Events that leave the installation: every one of them arrives, in order, through sinks that are
//! away, break off and come back, and whoever sends dies; the ledger has no gap.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use ade_core::limits::GROUP_AWAY_PAUSE;
use ade_engine::work;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::world::{Fittings, Line, World};

const WORKER: &str = "audit_logger";

async fn world_with(sink: String) -> World {
    let line = Line::Rows(Line::SETTINGS);
    World::fitted(Fittings { sink: Some(sink), ..line.into() }).await
}

fn place(world: &str) -> PathBuf {
    let name = format!("ade-export-{world}-{}", uuid::Uuid::now_v7());
    std::env::temp_dir().join(name)
}

async fn happen(world: &World, count: usize) {
    let bob = world.person("Bob", &["author"]).await;
    for number in 0..count {
        world.draft(&bob, &format!("task {number}")).await;
    }
    while world.work("relay").await.has_more {}
}

async fn read(world: &World) {
    while world.work(WORKER).await.has_more {}
}

/// Batches follow each other without a gap, from the first event on.
async fn assert_ledger(world: &World, end: i64) {
    let gaps = "SELECT count(*) FROM (
                    SELECT first_seq - 1 AS before,
                           coalesce(lag(last_seq) OVER (ORDER BY first_seq), 0) AS last
                      FROM export_batch) AS batch WHERE before <> last";
    assert_eq!(world.database.number(gaps).await, 0);
    let last = "SELECT coalesce(max(last_seq), 0) FROM export_batch";
    assert_eq!(world.database.number(last).await, end);
}

/// Each number, once or more, and in order where it comes first.
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

#[tokio::test]
async fn a_file_gets_every_event_in_order_however_long_it_was_away() {
    let directory = place("file");
    let file = directory.join("events.jsonl");
    let world = world_with(format!("file://{}", file.display())).await;
    happen(&world, 5).await;
    for tries in 0..10 {
        world.pass(GROUP_AWAY_PAUSE * 2 * tries).await;
        read(&world).await;
    }
    let stands = world.get(&world.admin.token, "/v1/groups").await.expect(200);
    let logger = &stands["items"][1];
    assert_eq!((&logger["group"], &logger["seq"]), (&json!("audit-logger"), &json!(0)));
    assert!(logger["trouble"]["problem"].as_str().unwrap().contains("file"), "{logger}");
    assert_eq!(logger["dead"], 0, "what is away costs no event: {logger}");
    std::fs::create_dir(&directory).unwrap();
    world.pass(GROUP_AWAY_PAUSE * 40).await;
    read(&world).await;
    assert_eq!(lines(&file), [1, 2, 3, 4, 5]);
    std::fs::rename(&file, directory.join("rotated")).unwrap();
    happen(&world, 2).await;
    read(&world).await;
    assert_eq!(lines(&file), [6, 7], "whoever rotates it may move it away");
    assert_ledger(&world, 7).await;
    std::fs::remove_dir_all(directory).unwrap();
}

#[tokio::test]
async fn several_processes_and_one_that_dies_leave_no_gap() {
    let directory = place("many");
    std::fs::create_dir(&directory).unwrap();
    let file = directory.join("events.jsonl");
    let world = Arc::new(world_with(format!("file://{}", file.display())).await);
    world.database.be_patient().await;
    happen(&world, 20).await;
    let mut sending = Vec::new();
    for number in 0..12 {
        let app = world.another_app();
        sending.push(tokio::spawn(async move {
            let reading = work::run_once(&app, WORKER);
            // Some die at any moment of their work.
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

/// Takes messages by their length, as RFC 6587 has it, and breaks off when it is told to.
struct Syslog {
    address: String,
    /// Breaks off once it has read so many bytes of a connection.
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

/// What of it was whole.
async fn take(mut stream: TcpStream, limit: Option<usize>) -> Vec<u64> {
    let mut bytes = Vec::new();
    while stream.read_buf(&mut bytes).await.unwrap() > 0 {
        if limit.is_some_and(|limit| bytes.len() >= limit) {
            // With bytes unread it ends in a reset; closing without would look like a yes.
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
async fn syslog_gets_every_event_though_it_breaks_off() {
    let syslog = Syslog::start().await;
    let world = world_with(format!("syslog+tcp://{}", syslog.address)).await;
    *syslog.breaks_after.lock().unwrap() = Some(700);
    happen(&world, 30).await;
    read(&world).await;
    assert!(syslog.heard().len() < 30, "it broke off");
    assert_eq!(world.database.number("SELECT count(*) FROM export_batch").await, 0);
    *syslog.breaks_after.lock().unwrap() = None;
    world.pass(GROUP_AWAY_PAUSE * 2).await;
    read(&world).await;
    assert_whole(&syslog.heard(), 30);
    assert_ledger(&world, 30).await;
}

/// A collector that answers with what it is told, one request after the other.
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
async fn a_collector_gets_log_records_once_it_takes_them() {
    let answers = vec![(503, ""), (429, ""), (200, "{}")];
    let (sink, heard) = collector(answers).await;
    let world = world_with(sink).await;
    happen(&world, 3).await;
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
async fn what_a_collector_will_not_have_is_a_dead_letter() {
    let refused = r#"{"partialSuccess":{"rejectedLogRecords":"1","errorMessage":"no"}}"#;
    let (sink, _) = collector(vec![(200, refused); 3]).await;
    let world = world_with(sink).await;
    happen(&world, 1).await;
    for tries in 0..3 {
        world.pass(std::time::Duration::from_mins(1) * tries).await;
        read(&world).await;
    }
    let dead = "SELECT count(*) FROM dead_event WHERE consumer = 'audit-logger'";
    assert_eq!(world.database.number(dead).await, 1);
    assert_ledger(&world, 0).await;
}
