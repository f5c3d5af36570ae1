//! A PostgreSQL server for this run, as durable as in production, and the product's server as a
//! separate process, so that the costs of both can be distinguished.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use ade_engine::admin::bootstrap;
use ade_engine::services::receipts::Signer;
use ade_engine::services::secrets::Pepper;
use ade_testkit::OwnedPostgres;
use ade_testkit::postgres::{PostgresSettings, SUPERUSER};
use ade_testkit::signal::poll_until;
use anyhow::{Context as _, Result};
use serde_json::Value;
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};

pub const DATABASE: &str = "bench";
const START_DEADLINE: Duration = Duration::from_secs(20);
/// The unit of the times in `/proc`, the same on every supported Linux.
const TICKS_PER_SECOND: f64 = 100.0;
const PEPPER: [u8; 32] = [7; 32];

#[derive(Debug)]
pub struct Installation {
    pub postgres: OwnedPostgres,
    pub app_url: String,
    pub worker_url: String,
}

impl Installation {
    pub async fn start() -> Result<Self> {
        let mut settings = PostgresSettings::test();
        let sizes = [
            ("shared_buffers", "512MB"),
            ("max_wal_size", "4GB"),
            ("checkpoint_timeout", "30min"),
            ("fsync", "on"),
            ("synchronous_commit", "on"),
        ];
        for (name, value) in sizes {
            settings.options.retain(|(known, _)| known != name);
            settings.options.push((name.to_owned(), value.to_owned()));
        }
        settings.options.extend(extra_options());
        let postgres = OwnedPostgres::start(settings).await;
        ade_testkit::database::ensure(&postgres, DATABASE).await?;
        bootstrap::migrate(&postgres.url(DATABASE)).await?;
        let mut owner = PgConnection::connect(&postgres.url(DATABASE)).await?;
        let roles = "CREATE ROLE bench_app LOGIN PASSWORD 'x' IN ROLE ade_app;
            CREATE ROLE bench_work LOGIN PASSWORD 'x' IN ROLE ade_app, ade_worker";
        run(&mut owner, roles).await?;
        let port = postgres.port();
        let url = |login: &str| {
            format!("postgres://{login}:x@127.0.0.1:{port}/{DATABASE}?sslmode=disable")
        };
        Ok(Self { app_url: url("bench_app"), worker_url: url("bench_work"), postgres })
    }

    /// Connects as the owner, to whom row security does not apply.
    pub async fn owner(&self) -> Result<PgConnection> {
        let connection = PgConnection::connect(&self.postgres.url(DATABASE)).await;
        connection.with_context(|| format!("connect as {SUPERUSER}"))
    }

    pub fn pepper() -> Result<Pepper> {
        Ok(Pepper::new(PEPPER.to_vec())?)
    }

    /// Returns the CPU seconds that PostgreSQL's processes have used so far.
    pub fn cpu_seconds(&self) -> f64 {
        let Some(process) = self.postgres.process() else { return 0.0 };
        let parent = process.pid().to_string();
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        let stats = ids.filter_map(stat);
        let living = stats.filter(|fields| fields.get(1) == Some(&parent));
        let postmaster = u32::try_from(process.pid()).ok().and_then(stat);
        let ended = postmaster.map_or(0.0, |fields| ticks(&fields, &[13, 14]));
        living.map(|fields| ticks(&fields, &[11, 12])).sum::<f64>() + ended
    }
}

/// Reads extra options as `name=value`, separated by commas, for inspecting PostgreSQL during a
/// measurement.
fn extra_options() -> Vec<(String, String)> {
    let text = std::env::var("ADE_BENCH_POSTGRES").unwrap_or_default();
    let pairs = text.split(',').filter_map(|pair| pair.split_once('='));
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

pub async fn run(connection: &mut PgConnection, sql: &str) -> Result<()> {
    sqlx::raw_sql(AssertSqlSafe(sql.to_owned())).execute(connection).await?;
    Ok(())
}

/// The server as a separate process, which ends when it is dropped.
#[derive(Debug)]
pub struct Server {
    child: Child,
    pub address: String,
    folder: PathBuf,
}

impl Server {
    /// Starts the server with this PostgreSQL, or with a proxy that listens on `port` in front of
    /// it.
    pub async fn start(at: &Installation, port: u16, has_workers: bool) -> Result<Self> {
        Self::start_with(at, port, has_workers, &[]).await
    }

    /// Starts the server with extra settings, given as environment variables. It can issue permits,
    /// and uses the locks in PostgreSQL unless the settings say otherwise.
    pub async fn start_with(
        at: &Installation,
        port: u16,
        has_workers: bool,
        more: &[(&str, String)],
    ) -> Result<Self> {
        let folder = std::env::temp_dir().join(format!("ade-bench-{}", uuid::Uuid::now_v7()));
        fs::create_dir_all(&folder)?;
        let (pepper, log) = (folder.join("pepper"), folder.join("log"));
        fs::write(&pepper, PEPPER)?;
        let key = folder.join("receipts.pem");
        fs::write(&key, pem::encode(&pem::Pem::new("PRIVATE KEY", Signer::generate()?)))?;
        let through = |url: &str| url.replace(&at.postgres.port().to_string(), &port.to_string());
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("serve").env_clear();
        if has_workers {
            command.arg("--workers");
        }
        let child = command
            .env("ADE__SERVER__LISTEN", "127.0.0.1:0")
            .env("ADE__DATABASE__URL", through(&at.app_url))
            .env("ADE__DATABASE__WORKER_URL", through(&at.worker_url))
            .env("ADE__AUTH__PEPPER_FILE", &pepper)
            .env("ADE__RECEIPTS__KEY_FILES", &key)
            .env("ADE__LOCKS__BACKEND", "postgres")
            .envs(ade_testkit::rates::unlimited())
            .envs(more.iter().map(|(name, value)| (*name, value)))
            .stdin(Stdio::null())
            .stderr(File::create(&log)?)
            .spawn()
            .context("cannot start the server")?;
        let mut server = Self { child, address: String::new(), folder };
        server.address = poll_until("the server listens", START_DEADLINE, async || {
            let text = fs::read_to_string(&log).map_err(|error| error.to_string())?;
            let mut lines = text.lines().filter_map(|line| serde_json::from_str(line).ok());
            let started = lines.find(|line: &Value| line["message"] == "HTTP server started");
            started.and_then(|line| Some(line.get("address")?.as_str()?.to_owned())).ok_or(text)
        })
        .await?;
        Ok(server)
    }

    /// Returns the memory that the server uses now, in bytes.
    pub fn memory_bytes(&self) -> f64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()));
        let status = status.unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
        kib.unwrap_or_default() * 1024.0
    }

    /// Returns the CPU seconds used so far.
    pub fn cpu_seconds(&self) -> f64 {
        stat(self.child.id()).map_or(0.0, |fields| ticks(&fields, &[11, 12]))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Returns the fields after the process name in `stat`: state, parent, …
fn stat(pid: u32) -> Option<Vec<String>> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, after) = text.rsplit_once(')')?;
    Some(after.split_whitespace().map(str::to_owned).collect())
}

/// Adds up the user and system time of a process (11, 12), or of its children that have ended and
/// were waited for (13, 14).
fn ticks(fields: &[String], places: &[usize]) -> f64 {
    let of = |place: &usize| fields.get(*place).and_then(|field| field.parse::<f64>().ok());
    places.iter().filter_map(of).sum::<f64>() / TICKS_PER_SECOND
}
