//! A private PostgreSQL server from the installed binaries, on loopback, with its own password. It
//! is as durable as in production (`fsync` and `synchronous_commit` stay on), and tests are fast
//! because the data directory is in memory. `database.rs` creates the databases.

mod replica;

use std::fs::{self, File};
use std::os::unix::fs::{OpenOptionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use sqlx::{AssertSqlSafe, Connection, PgConnection};

use crate::failure::{Failure, or_fail};
use crate::install;
use crate::ledger::{Ledger, make_dir, remove_tree, write_whole};
use crate::port::{free_postgres_port, is_free, random_u128};
use crate::process::{Process, Stop};
use crate::run::Run;
use crate::signal::poll_until;

/// The role that created the server. Tests connect as this role and create their own roles.
pub const SUPERUSER: &str = "ade";
const START_TRIES: usize = 5;
/// A start includes the recovery after a kill.
const START_DEADLINE: Duration = Duration::from_mins(1);
static OWNED: AtomicUsize = AtomicUsize::new(0);

/// Part of PostgreSQL's message when processes of an earlier server still hold its shared memory.
const STILL_IN_USE: &str = "is still in use";

#[derive(Debug, Clone)]
pub struct PostgresSettings {
    pub stop: Stop,
    /// Passed as `-c name=value`.
    pub options: Vec<(String, String)>,
}

impl PostgresSettings {
    /// Returns settings with many connections, little memory, and a small write-ahead log for a
    /// small memory disk.
    pub fn test() -> Self {
        let options = [
            ("max_connections", "400"),
            ("shared_buffers", "64MB"),
            ("max_wal_size", "256MB"),
            ("min_wal_size", "32MB"),
            // Shared memory is in the data directory, and is removed with it even after a kill.
            ("dynamic_shared_memory_type", "mmap"),
        ];
        Self { stop: Stop::Quit, options: owned_pairs(&options) }
    }

    pub fn development() -> Self {
        Self { stop: Stop::Interrupt, options: owned_pairs(&[("shared_buffers", "128MB")]) }
    }
}

fn owned_pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    pairs.iter().map(own).collect()
}

#[derive(Debug, Clone)]
pub struct Postgres {
    ledger: Ledger,
    label: String,
    port: u16,
    password: String,
}

impl Postgres {
    /// Returns the server that this test run shares; the first test that calls this starts it.
    pub async fn shared() -> Self {
        let start = async {
            let run = Run::shared()?;
            let _guard = run.ledger().lock("postgres").await?;
            Self::ensure(run.ledger(), "postgres", &PostgresSettings::test()).await
        };
        or_fail(start.await)
    }

    /// Starts the server unless it runs, with its existing data and on its old port if there are
    /// any.
    pub async fn ensure(
        ledger: &Ledger,
        label: &str,
        settings: &PostgresSettings,
    ) -> Result<Self, Failure> {
        match Self::load(ledger, label) {
            Some(server) => {
                if server.process().is_none() {
                    server.start(settings).await?;
                }
                Ok(server)
            }
            None => Self::create(ledger, label, settings).await,
        }
    }

    /// Loads what an earlier `ensure` recorded; the server may be down.
    pub fn load(ledger: &Ledger, label: &str) -> Option<Self> {
        let text = fs::read_to_string(ledger.folder(label).join("access")).ok()?;
        let (port, password) = text.trim_end().split_once(' ')?;
        Some(Self {
            ledger: ledger.clone(),
            label: label.to_owned(),
            port: port.parse().ok()?,
            password: password.to_owned(),
        })
    }

    async fn create(
        ledger: &Ledger,
        label: &str,
        settings: &PostgresSettings,
    ) -> Result<Self, Failure> {
        let folder = ledger.folder(label);
        ledger.stop(label)?;
        remove_tree(&folder)?;
        make_dir(&folder)?;
        let mut server = Self {
            ledger: ledger.clone(),
            label: label.to_owned(),
            port: 0,
            password: format!("{:032x}", random_u128()?),
        };
        server.initialize().await?;
        server.start_anywhere(settings).await?;
        // This file is written last, so that its presence means that the server has been ready.
        let access = format!("{} {}\n", server.port, server.password);
        write_whole(&folder.join("access"), &access)?;
        Ok(server)
    }

    async fn initialize(&self) -> Result<(), Failure> {
        let what = format!("initialize {}", self.data_dir().display());
        let failed = |error: std::io::Error| Failure::new(&what, error);
        let password_file = self.folder().join("password");
        write_whole(&password_file, &self.password)?;
        make_dir(&self.data_dir())?;
        let mut command = Command::new(install::postgres_bin()?.join("initdb"));
        if let Some((user, group)) = install::unprivileged()? {
            chown(self.data_dir(), Some(user), Some(group)).map_err(failed)?;
            chown(&password_file, Some(user), Some(group)).map_err(failed)?;
            command.uid(user).gid(group);
        }
        command
            .arg("--pgdata")
            .arg(self.data_dir())
            .arg("--pwfile")
            .arg(&password_file)
            .args(["--username", SUPERUSER, "--encoding", "UTF8", "--locale", "C"])
            .arg("--data-checksums")
            // The password travels over loopback only; hashing it for each of a test's many
            // connections would cost more than the test.
            .args(["--auth", "password", "--no-sync"])
            .current_dir("/")
            .stdin(Stdio::null());
        let output = tokio::task::spawn_blocking(move || command.output())
            .await
            .map_err(|error| Failure::new(&what, error))?
            .map_err(failed)?;
        let _ = fs::remove_file(&password_file);
        if output.status.success() {
            return Ok(());
        }
        let hint = install::reach_hint(&self.data_dir());
        let errors = String::from_utf8_lossy(&output.stderr);
        Err(Failure::new(&what, format!("{}{hint}", errors.trim_end())))
    }

    /// Starts the server on a free port, and on another one if that port was taken in between.
    async fn start_anywhere(&mut self, settings: &PostgresSettings) -> Result<(), Failure> {
        let mut outcome = Ok(());
        for _ in 0..START_TRIES {
            self.port = free_postgres_port()?;
            outcome = self.start(settings).await;
            if outcome.is_ok() || is_free(self.port) {
                break;
            }
        }
        outcome
    }

    async fn start(&self, settings: &PostgresSettings) -> Result<(), Failure> {
        let what = format!("start PostgreSQL in {}", self.data_dir().display());
        let log = log_file(&self.log_path()).map_err(|error| Failure::new(&what, error))?;
        let errors = log.try_clone().map_err(|error| Failure::new(&what, error))?;
        let mut command = Command::new(install::postgres_bin()?.join("postgres"));
        command
            .arg("-D")
            .arg(self.data_dir())
            .args(["-p", &self.port.to_string(), "-h", "127.0.0.1", "-k", ""])
            .current_dir("/")
            .stdout(log)
            .stderr(errors);
        for (name, value) in &settings.options {
            command.args(["-c", &format!("{name}={value}")]);
        }
        if let Some((user, group)) = install::unprivileged()? {
            command.uid(user).gid(group);
        }
        let process = Process::spawn(&mut command)?;
        self.ledger.record(&self.label, process, settings.stop)?;
        let ready = poll_until("PostgreSQL is ready", START_DEADLINE, async || {
            if !process.is_alive() {
                return Ok(false);
            }
            match self.ping().await {
                Ok(_) => Ok(true),
                Err(failure) => Err(failure),
            }
        });
        match ready.await {
            Ok(true) => Ok(()),
            Ok(false) => Err(Failure::new(what, self.last_words())),
            Err(failure) => Err(Failure::new(what, failure)),
        }
    }

    /// Returns the version, read over a new connection.
    pub async fn ping(&self) -> Result<String, Failure> {
        self.text("SHOW server_version").await
    }

    /// Runs a statement as the superuser that does not belong to a database.
    pub async fn run(&self, sql: &str) {
        let run = async {
            let mut connection = PgConnection::connect(&self.url("postgres")).await?;
            sqlx::raw_sql(AssertSqlSafe(sql.to_owned())).execute(&mut connection).await?;
            connection.close().await
        };
        or_fail(run.await.map_err(|error| Failure::new(sql, error)));
    }

    /// Runs a query and returns its only text.
    async fn text(&self, question: &str) -> Result<String, Failure> {
        let what = format!("ask PostgreSQL on port {}", self.port);
        let ask = async {
            let mut connection = PgConnection::connect(&self.url("postgres")).await?;
            let asked = sqlx::query_scalar(AssertSqlSafe(question.to_owned()));
            let answer = asked.fetch_one(&mut connection).await?;
            connection.close().await?;
            Ok::<String, sqlx::Error>(answer)
        };
        tokio::time::timeout(Duration::from_secs(5), ask)
            .await
            .map_err(|_| Failure::new(&what, "no answer within 5 s"))?
            .map_err(|error| Failure::new(&what, error))
    }

    pub fn process(&self) -> Option<Process> {
        self.ledger.running(&self.label)
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns the password of the superuser, for programs that read `PGPASSWORD`.
    pub fn password(&self) -> &str {
        &self.password
    }

    pub fn url(&self, database: &str) -> String {
        self.url_through(self.port, database)
    }

    /// Returns the URL of the same server and role through another port, such as that of a proxy.
    pub fn url_through(&self, port: u16, database: &str) -> String {
        let password = &self.password;
        format!("postgres://{SUPERUSER}:{password}@127.0.0.1:{port}/{database}?sslmode=disable")
    }

    fn folder(&self) -> PathBuf {
        self.ledger.folder(&self.label)
    }

    pub fn data_dir(&self) -> PathBuf {
        self.folder().join("data")
    }

    pub fn log_path(&self) -> PathBuf {
        self.folder().join("log")
    }

    /// Frees the small System V segment that a killed postmaster leaves and that only its next
    /// start would free, because the system has few of them. The seventh line of the pid file is
    /// `key id`.
    fn free_segment(&self) {
        let text = fs::read_to_string(self.data_dir().join("postmaster.pid")).unwrap_or_default();
        let id = text.lines().nth(6).and_then(|line| line.split_whitespace().nth(1));
        if let Some(id) = id {
            let _ = Command::new("ipcrm").args(["-m", id]).output();
        }
    }

    fn last_words(&self) -> String {
        let log = fs::read_to_string(self.log_path()).unwrap_or_default();
        let lines: Vec<&str> = log.lines().rev().take(5).collect();
        lines.into_iter().rev().collect::<Vec<_>>().join("\n")
    }
}

fn log_file(path: &Path) -> std::io::Result<File> {
    fs::OpenOptions::new().create(true).append(true).mode(0o600).open(path)
}

/// A server of one test, to be broken; its processes and data are removed when it is dropped.
#[derive(Debug)]
pub struct OwnedPostgres {
    server: Postgres,
    settings: PostgresSettings,
}

impl OwnedPostgres {
    pub async fn start(settings: PostgresSettings) -> Self {
        let label = format!("postgres-{}", OWNED.fetch_add(1, Ordering::Relaxed));
        let start = async {
            let run = Run::own()?;
            let server = Postgres::ensure(run.ledger(), &label, &settings).await?;
            Ok(Self { server, settings })
        };
        or_fail(start.await)
    }

    /// Kills the server as a power failure would: clients are not notified, and the next start
    /// recovers. Backends are killed too, because they would keep serving for a moment.
    pub fn kill(&self) {
        let Some(process) = self.server.process() else { return };
        let backends = process.children();
        process.stop(Stop::Kill, Duration::ZERO);
        for backend in backends {
            backend.stop(Stop::Kill, Duration::ZERO);
        }
    }

    /// Starts the server with the same data on the same port. Backends of a killed server notice
    /// its end after a moment; until then they hold its memory, and a new server cannot start.
    pub async fn restart(&self) {
        self.kill();
        let started = poll_until("the old server is gone", START_DEADLINE, async || {
            match self.server.start(&self.settings).await {
                Err(failure) if failure.to_string().contains(STILL_IN_USE) => Err(failure),
                outcome => Ok(outcome),
            }
        });
        or_fail(started.await.and_then(|outcome| outcome));
    }
}

impl std::ops::Deref for OwnedPostgres {
    type Target = Postgres;

    fn deref(&self) -> &Postgres {
        &self.server
    }
}

impl Drop for OwnedPostgres {
    fn drop(&mut self) {
        let server = &self.server;
        if server.process().is_none() {
            server.free_segment();
        }
        let _ = server.ledger.stop(&server.label);
        let _ = remove_tree(&server.folder());
    }
}
