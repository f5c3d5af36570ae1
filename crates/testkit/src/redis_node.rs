//! One `redis-server` process of a cluster. It stores no data on disk, as in production, except its
//! cluster identity (`nodes.conf`), so after a restart it is the same node without data.
//! `redis_cluster.rs` manages the nodes together.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use redis::{AsyncConnectionConfig, Cmd, FromRedisValue};

use crate::failure::Failure;
use crate::install;
use crate::ledger::{Ledger, make_dir, remove_tree, write_whole};
use crate::port::{free_redis_port, is_free};
use crate::process::{Process, Stop};
use crate::signal::poll_until;
use crate::topology::Topology;

const START_TRIES: usize = 5;
const START_DEADLINE: Duration = Duration::from_mins(1);
/// A missing node refuses at once; one that runs may be late on a busy machine.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Debug, Clone)]
pub struct Node {
    ledger: Ledger,
    label: String,
    port: u16,
}

impl Node {
    /// Creates a node that knows no other nodes, on a free port.
    pub(crate) async fn create(
        ledger: &Ledger,
        label: &str,
        timeout_ms: u32,
    ) -> Result<Self, Failure> {
        ledger.stop(label)?;
        let mut node = Self { ledger: ledger.clone(), label: label.to_owned(), port: 0 };
        let mut outcome = Ok(());
        for _ in 0..START_TRIES {
            remove_tree(&node.dir())?;
            make_dir(&node.dir())?;
            node.port = free_redis_port()?;
            outcome = node.start(timeout_ms).await;
            if outcome.is_ok() || is_free(node.port) {
                break;
            }
        }
        outcome?;
        write_whole(&node.dir().join("port"), &node.port.to_string())?;
        Ok(node)
    }

    pub(crate) fn load(ledger: &Ledger, label: &str) -> Option<Self> {
        let port = fs::read_to_string(ledger.folder(label).join("port")).ok()?;
        Some(Self {
            ledger: ledger.clone(),
            label: label.to_owned(),
            port: port.trim_end().parse().ok()?,
        })
    }

    pub(crate) async fn start(&self, timeout_ms: u32) -> Result<(), Failure> {
        let dir = self.dir();
        let mut command = Command::new(install::redis_server()?);
        command
            .args(["--port", &self.port.to_string(), "--bind", "127.0.0.1"])
            .args(["--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf"])
            .args(["--cluster-node-timeout", &timeout_ms.to_string()])
            .args(["--appendonly", "no", "--save", "", "--daemonize", "no"])
            // By default a new replica waits 5 s for others to arrive.
            .args(["--repl-diskless-sync-delay", "0"])
            // `DEBUG SLEEP` is one of the faults.
            .args(["--enable-debug-command", "local"])
            // Otherwise its command line would not show which run it belongs to.
            .args(["--set-proc-title", "no"])
            .args(["--logfile", "log", "--dir"])
            .arg(&dir)
            .current_dir(&dir)
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let process = Process::spawn(&mut command)?;
        self.ledger.record(&self.label, process, Stop::Kill)?;
        let what = format!("start {} on port {}", self.label, self.port);
        let answers = poll_until("redis-server answers", START_DEADLINE, async || {
            if !process.is_alive() {
                return Ok(false);
            }
            self.ask::<String>(&redis::cmd("PING")).await.map(|_| true)
        });
        match answers.await {
            Ok(true) => Ok(()),
            Ok(false) => Err(Failure::new(what, self.last_words())),
            Err(failure) => Err(Failure::new(what, failure)),
        }
    }

    /// Sends a command over a new connection, so that the answer is this node's own.
    pub async fn ask<T: FromRedisValue>(&self, command: &Cmd) -> Result<T, Failure> {
        self.ask_within(command, ANSWER_TIMEOUT).await
    }

    /// Sends a command that may take longer, such as moving many keys at once.
    pub async fn ask_within<T: FromRedisValue>(
        &self,
        command: &Cmd,
        timeout: Duration,
    ) -> Result<T, Failure> {
        let what = format!("ask {} on port {}", self.label, self.port);
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(timeout))
            .set_response_timeout(Some(timeout));
        let ask = async {
            let client = redis::Client::open(self.url())?;
            let mut connection =
                client.get_multiplexed_async_connection_with_config(&config).await?;
            command.query_async(&mut connection).await
        };
        ask.await.map_err(|error: redis::RedisError| Failure::new(what, error))
    }

    /// Returns everything the node holds, as it would be written to disk.
    pub(crate) async fn contents(&self) -> Result<Vec<u8>, Failure> {
        // Without compression, texts stay searchable.
        let plain = redis::cmd("CONFIG").arg("SET").arg("rdbcompression").arg("no").to_owned();
        self.ask::<String>(&plain).await?;
        self.ask_within::<String>(&redis::cmd("SAVE"), START_DEADLINE).await?;
        let written = self.dir().join("dump.rdb");
        fs::read(&written).map_err(|error| Failure::new(written.display(), error))
    }

    pub async fn topology(&self) -> Result<Topology, Failure> {
        let text: String = self.ask(redis::cmd("CLUSTER").arg("NODES")).await?;
        Topology::parse(&text)
    }

    /// Returns the role of the node as it reports it: `master` with its slots, or `replica of …`.
    pub async fn role(&self) -> Result<String, Failure> {
        let topology = self.topology().await?;
        let unknown = || Failure::new(&self.label, "does not know itself");
        let me = topology.member_at(self.port).ok_or_else(unknown)?;
        let slots: Vec<String> =
            me.slots.iter().map(|range| format!("{}-{}", range.start(), range.end())).collect();
        let master = me.master.as_ref();
        let master = master.and_then(|id| topology.members.iter().find(|other| other.id == *id));
        Ok(match master {
            Some(master) => format!("replica of {}", master.port),
            None => format!("master {}", slots.join(" ")),
        })
    }

    /// Returns the value of one `name:value` line of an INFO-like reply.
    pub(crate) async fn fact(&self, command: &Cmd, name: &str) -> Result<String, Failure> {
        let text: String = self.ask(command).await?;
        text.lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
            .map(str::to_owned)
            .ok_or_else(|| Failure::new(format!("ask {}", self.label), format!("no {name}")))
    }

    pub fn process(&self) -> Option<Process> {
        self.ledger.running(&self.label)
    }

    /// Returns whether the node is alive and not paused, so that it can be expected to answer.
    pub fn is_running(&self) -> bool {
        self.process().is_some_and(|process| !process.is_paused())
    }

    pub fn label(&self) -> &str {
        &self.label
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    pub fn dir(&self) -> PathBuf {
        self.ledger.folder(&self.label)
    }

    pub(crate) fn kill(&self) {
        if let Some(process) = self.process() {
            process.stop(Stop::Kill, Duration::ZERO);
        }
    }

    pub(crate) fn remove(&self) {
        let _ = self.ledger.stop(&self.label);
        let _ = remove_tree(&self.dir());
    }

    fn last_words(&self) -> String {
        let log = fs::read_to_string(self.dir().join("log")).unwrap_or_default();
        log.lines().last().unwrap_or("its log is empty").to_owned()
    }
}
