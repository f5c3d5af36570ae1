//! Relays and servers are killed during thousands of transitions. Each listener receives every
//! sequence number once and in order, whichever server it reconnects to, and all listeners receive
//! the same events. `ADE_ROUNDS=5000` makes a hundred thousand transitions with two hundred
//! listeners.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ade_testkit::{Database, leak};
use futures_util::StreamExt as _;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;

use crate::meetings::{Office, SOON, rounds};
use crate::world::{LockBackend, Person, World, plan};

const SERVERS: usize = 2;
const RELAYS: usize = 2;
const WRITERS: usize = 4;
/// The listeners are spread over several people, because the sockets of one person are limited.
const PEOPLE: usize = 8;
/// The time between two kills, long enough for the others to take over sometimes.
const LIFE: Duration = Duration::from_millis(700);
/// The time between two attempts of a listener that was refused.
const PAUSE: Duration = Duration::from_millis(20);

fn transitions() -> usize {
    rounds() * 20 / WRITERS * WRITERS
}

fn listeners() -> usize {
    (rounds() / 5).clamp(16, 200)
}

/// A process of the server binary that uses the database of the test.
pub struct Program {
    pub child: Child,
    address: String,
    log: Option<leak::Reader>,
}

pub struct Settings {
    pepper: PathBuf,
    urls: [String; 2],
    redis: String,
    /// The workers that a `worker` process runs.
    workers: &'static str,
    /// Additional environment variables.
    pub others: Vec<(&'static str, String)>,
}

impl Settings {
    pub fn over(
        database: &Database,
        pepper: PathBuf,
        redis: &[String],
        workers: &'static str,
    ) -> Self {
        let urls = ["app", "work"].map(|login| database.url_as(login));
        Self { pepper, urls, redis: redis.join(","), workers, others: Vec::new() }
    }

    pub fn start(&self, what: &str) -> Program {
        let mut child = Command::new(env!("CARGO_BIN_EXE_ade-server"))
            .arg(what)
            .env_clear()
            .env("ADE__SERVER__LISTEN", "127.0.0.1:0")
            .env("ADE__DATABASE__URL", &self.urls[0])
            .env("ADE__DATABASE__WORKER_URL", &self.urls[1])
            .env("ADE__AUTH__PEPPER_FILE", &self.pepper)
            .env("ADE__REDIS__URLS", &self.redis)
            .env("ADE__WORKERS__RUN", self.workers)
            .envs(ade_testkit::rates::unlimited())
            .envs(self.others.iter().map(|(name, value)| (*name, value)))
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut log = BufReader::new(child.stderr.take().unwrap());
        let mut address = String::new();
        loop {
            let mut line = String::new();
            assert_ne!(log.read_line(&mut line).unwrap(), 0, "{what} ended");
            let line: Value = serde_json::from_str(&line).unwrap_or_default();
            match line["message"].as_str() {
                Some("HTTP server started") => {
                    line["address"].as_str().unwrap().clone_into(&mut address);
                    break;
                }
                Some("workers started") => break,
                _ => {}
            }
        }
        Program { child, address, log: Some(leak::Reader::of(log)) }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if let Some(log) = self.log.take() {
            log.end();
        }
    }
}

#[derive(Default)]
struct Heard {
    /// The event id of each sequence number, from the listener that received it first.
    ids: Mutex<BTreeMap<u64, String>>,
    breaks: AtomicU64,
    resets: AtomicU64,
    is_over: AtomicBool,
    /// The last sequence number, set once all transitions are made.
    end: AtomicU64,
}

struct Listener {
    token: String,
    seq: u64,
    heard: Arc<Heard>,
    world: Arc<Office>,
    addresses: Arc<Mutex<Vec<String>>>,
    number: usize,
}

impl Listener {
    fn is_done(&self) -> bool {
        self.heard.is_over.load(Ordering::Relaxed)
            && self.seq >= self.heard.end.load(Ordering::Relaxed)
    }

    async fn listen(mut self) -> u64 {
        let mut tries = self.number;
        while !self.is_done() {
            tries += 1;
            let address = {
                let known = self.addresses.lock().unwrap();
                known[tries % known.len()].clone()
            };
            if self.follow(&address, tries).await.is_none() {
                tokio::time::sleep(PAUSE).await;
            }
            self.heard.breaks.fetch_add(1, Ordering::Relaxed);
        }
        self.seq
    }

    /// Listens until the socket breaks, by chance or because a process was killed.
    async fn follow(&mut self, address: &str, tries: usize) -> Option<()> {
        let world = &self.world.world;
        let made = world.rig.post("/v1/ws/tickets").bearer_auth(&self.token).send().await.ok()?;
        let made: Value = made.json().await.ok()?;
        let (ticket, seq) = (made["ticket"].as_str()?, self.seq);
        let url = format!("ws://{address}/v1/ws?ticket={ticket}&after={seq}");
        let stream = TcpStream::connect(address).await.ok()?;
        let request = url.into_client_request().unwrap();
        let (mut socket, _) = tokio_tungstenite::client_async(request, stream).await.ok()?;
        let patience = 20 + (tries * 37) % 200;
        for _ in 0..patience {
            let next = tokio::time::timeout(Duration::from_secs(2), socket.next()).await;
            match next {
                Ok(Some(Ok(Message::Text(text)))) => self.hear(&text),
                Ok(Some(Ok(Message::Close(_)) | Err(_)) | None) => return None,
                // A ping or a timeout: `is_done` below decides whether to stop.
                Ok(Some(Ok(_))) | Err(_) => {}
            }
            if self.is_done() {
                break;
            }
        }
        Some(())
    }

    fn hear(&mut self, text: &str) {
        let frame: Value = serde_json::from_str(text).unwrap();
        let seq = frame["seq"].as_u64().unwrap();
        match frame["frame"].as_str() {
            Some("ready") => assert_eq!(seq, self.seq, "the socket resumes where it stopped"),
            Some("reset") => {
                self.heard.resets.fetch_add(1, Ordering::Relaxed);
            }
            Some(other) => panic!("unexpected frame: {other}"),
            None => {
                assert_eq!(seq, self.seq + 1, "listener {}", self.number);
                let id = frame["id"].as_str().unwrap().to_owned();
                let first = self.heard.ids.lock().unwrap().entry(seq).or_insert(id.clone()).clone();
                assert_eq!(first, id, "{seq} names two events");
            }
        }
        self.seq = seq;
    }
}

async fn write(office: &Office, bob: &Person, count: usize) {
    for number in 0..count {
        let body = plan(&format!("task {number}"));
        office.world.post(&bob.token, "/v1/tasks", body).await.expect(201);
    }
}

/// Kills and replaces one process after the other. A new server has a new address.
async fn kill(
    settings: Arc<Settings>,
    mut programs: Vec<Program>,
    addresses: Arc<Mutex<Vec<String>>>,
    heard: Arc<Heard>,
) -> (usize, Vec<Program>) {
    let mut kills = 0;
    while !heard.is_over.load(Ordering::Relaxed) {
        tokio::time::sleep(LIFE).await;
        let one = kills * 5 % programs.len();
        let what = if one < SERVERS { "api" } else { "worker" };
        programs[one].child.kill().unwrap();
        let settings = Arc::clone(&settings);
        let next = tokio::task::spawn_blocking(move || settings.start(what)).await.unwrap();
        if one < SERVERS {
            addresses.lock().unwrap()[one].clone_from(&next.address);
        }
        programs[one] = next;
        kills += 1;
    }
    (kills, programs)
}

pub fn pepper(at: &Path) {
    std::fs::write(at, [7; 32]).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn listener_gets_each_event_once_when_processes_are_killed() {
    let line = LockBackend::redis(LockBackend::SETTINGS).await;
    let LockBackend::Redis(redis, _) = line.clone() else { panic!("the queue is not in Redis") };
    let office = Arc::new(Office::in_world(World::locking(line).await, 1).await);
    office.world.database.be_patient().await;
    let database = &office.world.database;
    let file = std::env::temp_dir().join(format!("{}.pepper", database.name()));
    pepper(&file);
    let settings = Arc::new(Settings::over(database, file.clone(), &redis, "relay"));
    let mut programs = Vec::new();
    for what in std::iter::repeat_n("api", SERVERS).chain(std::iter::repeat_n("worker", RELAYS)) {
        let settings = Arc::clone(&settings);
        programs.push(tokio::task::spawn_blocking(move || settings.start(what)).await.unwrap());
    }
    let addresses: Vec<String> =
        programs.iter().take(SERVERS).map(|program| program.address.clone()).collect();
    let addresses = Arc::new(Mutex::new(addresses));
    let heard = Arc::new(Heard::default());
    let mut people = Vec::new();
    for number in 0..PEOPLE {
        people.push(office.world.person(&format!("Listener {number}"), &[]).await);
    }
    let listening: Vec<_> = (0..listeners())
        .map(|number| {
            tokio::spawn(
                Listener {
                    token: people[number % PEOPLE].token.clone(),
                    seq: 0,
                    heard: Arc::clone(&heard),
                    world: Arc::clone(&office),
                    addresses: Arc::clone(&addresses),
                    number,
                }
                .listen(),
            )
        })
        .collect();
    let killing =
        tokio::spawn(kill(settings, programs, Arc::clone(&addresses), Arc::clone(&heard)));
    let each = transitions() / WRITERS;
    let writing = (0..WRITERS).map(|_| {
        let office = Arc::clone(&office);
        tokio::spawn(async move { write(&office, &office.bob, each).await })
    });
    for writer in writing.collect::<Vec<_>>() {
        writer.await.unwrap();
    }
    let count = "SELECT count(*) FROM outbox o JOIN tenant t USING (tenant_id)
                  WHERE t.name = 'acme'";
    let end = u64::try_from(database.number(count).await).unwrap();
    heard.end.store(end, Ordering::Relaxed);
    heard.is_over.store(true, Ordering::Relaxed);
    // The remaining processes run until every listener has received everything.
    let (kills, programs) = killing.await.unwrap();
    for listener in listening {
        let seq = tokio::time::timeout(SOON, listener).await.expect("a listener missed events");
        assert_eq!(seq.unwrap(), end);
    }
    drop(programs);
    std::fs::remove_file(file).unwrap();
    let ids = heard.ids.lock().unwrap();
    let breaks = heard.breaks.load(Ordering::Relaxed);
    println!("{end} events, {} listeners, {kills} kills, {breaks} breaks", listeners());
    assert_eq!(ids.keys().copied().collect::<Vec<_>>(), (1..=end).collect::<Vec<_>>());
    let mut all: Vec<&String> = ids.values().collect();
    all.sort();
    all.dedup();
    assert_eq!(all.len() as u64, end, "an id names one event");
    assert_eq!(heard.resets.load(Ordering::Relaxed), 0);
    assert!(kills > 0 && breaks > 0);
}
