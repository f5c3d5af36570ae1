//! `cargo xtask stack`: one PostgreSQL and one Redis Cluster of three masters and three replicas
//! for development, under `.stack/`. They outlive the command and are identified by pid and start
//! time; `status` asks each server. The machine's own services are not touched.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use ade_testkit::Failure;
use ade_testkit::ledger::Ledger;
use ade_testkit::postgres::{Postgres, PostgresSettings, SUPERUSER};
use ade_testkit::process::Process;
use ade_testkit::redis_cluster::{Cluster, NODE_TIMEOUT_MS_DEFAULT, NODES};
use ade_testkit::redis_node::Node;
use clap::Subcommand;

const POSTGRES: &str = "postgres";
const REDIS: &str = "redis";
const DATABASE: &str = "ade";

#[derive(Debug, Clone, Copy, Subcommand)]
pub enum Stack {
    /// Start what is not running and write `.stack/env`
    Up,
    /// Stop everything and remove its data
    Down {
        /// Keep the data for the next `up`
        #[arg(long)]
        keep: bool,
    },
    /// Show what runs and answers; fails if something does not
    Status,
}

/// Runs the command for the workspace in `root`.
pub fn run(command: Stack, root: &Path) -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let dir = root.join(".stack");
    let outcome =
        runtime.map_err(|error| Failure::new("start the runtime", error)).and_then(|runtime| {
            runtime.block_on(async {
                match command {
                    Stack::Up => up(&dir).await,
                    Stack::Down { keep } => down(&dir, keep).await,
                    Stack::Status => status(&dir).await,
                }
            })
        });
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(failure) => {
            eprintln!("error: {failure}");
            eprintln!("  logs are under {}", shown(&dir));
            eprintln!("  cargo xtask stack down        removes it all for a fresh start");
            ExitCode::FAILURE
        }
    }
}

async fn up(dir: &Path) -> Result<bool, Failure> {
    let began = Instant::now();
    let ledger = Ledger::open(dir)?;
    let _guard = ledger.lock("stack").await?;
    let count_before = running(&ledger);
    let postgres = Postgres::ensure(&ledger, POSTGRES, &PostgresSettings::development()).await?;
    ade_testkit::database::ensure(&postgres, DATABASE).await?;
    let cluster = Cluster::ensure(&ledger, REDIS, NODE_TIMEOUT_MS_DEFAULT).await?;
    let env = dir.join("env");
    let text = format!(
        "export ADE_DATABASE_URL='{}'\nexport ADE_REDIS_URLS='{}'\n\
         export PGHOST=127.0.0.1 PGPORT={} PGUSER={SUPERUSER} PGPASSWORD='{}'\n",
        postgres.url(DATABASE),
        cluster.urls().join(","),
        postgres.port(),
        postgres.password()
    );
    write_private(&env, &text)?;
    let all_ok = show(&ledger).await;
    println!();
    if all_ok {
        if running(&ledger) == count_before {
            println!("It was up already. Next:");
        } else {
            println!("Up after {:.1} s. Next:", began.elapsed().as_secs_f64());
        }
        println!("  . {}", shown(&env));
        println!("  psql \"$ADE_DATABASE_URL\"");
        println!("  cargo xtask stack down        stops it and removes its data");
    } else {
        println!("Not all of it answers; the logs are under {}.", shown(dir));
    }
    Ok(all_ok)
}

async fn down(dir: &Path, keep: bool) -> Result<bool, Failure> {
    if !dir.exists() {
        println!("Nothing to stop: there is no {}.", shown(dir));
        return Ok(true);
    }
    let ledger = Ledger::open(dir)?;
    let guard = ledger.lock("stack").await?;
    let labels = ledger.labels();
    let running = labels.iter().filter(|label| ledger.running(label).is_some());
    let count = running.count();
    ledger.stop_all()?;
    if keep {
        println!("Stopped {count} processes. The data stays in {}.", shown(dir));
        println!("  cargo xtask stack up          starts it again as it was");
    } else {
        ledger.remove()?;
        println!("Stopped {count} processes and removed {}.", shown(dir));
    }
    drop(guard);
    Ok(true)
}

async fn status(dir: &Path) -> Result<bool, Failure> {
    if !dir.exists() {
        println!("The stack is not there.");
        println!("  cargo xtask stack up          starts it");
        return Ok(false);
    }
    let all_ok = show(&Ledger::at(dir)).await;
    println!();
    if all_ok {
        println!("All of it answers. Its addresses are in {}.", shown(&dir.join("env")));
    } else {
        println!("Not all of it answers.");
        println!("  cargo xtask stack up          starts what is down");
    }
    Ok(all_ok)
}

fn running(ledger: &Ledger) -> usize {
    let labels = ledger.labels();
    labels.iter().filter(|label| ledger.running(label).is_some()).count()
}

struct Row {
    name: String,
    pid: Option<i32>,
    health: Result<String, Failure>,
    address: String,
    dir: PathBuf,
}

impl Row {
    fn missing(dir: PathBuf, name: String) -> Self {
        Self {
            name,
            pid: None,
            health: Err(Failure::new("look", "never started")),
            address: "-".to_owned(),
            dir,
        }
    }

    fn cells(&self) -> [String; 6] {
        let (word, detail) = match &self.health {
            Ok(detail) => ("ok", detail.clone()),
            Err(_) => ("down", "-".to_owned()),
        };
        [
            self.name.clone(),
            word.to_owned(),
            self.pid.map_or_else(|| "-".to_owned(), |pid| pid.to_string()),
            detail,
            self.address.clone(),
            shown(&self.dir),
        ]
    }
}

/// Prints the table, and returns whether every row is ok.
async fn show(ledger: &Ledger) -> bool {
    let mut rows = vec![postgres_row(ledger).await];
    let cluster = Cluster::load(ledger, REDIS);
    if let Some(cluster) = &cluster {
        for node in cluster.nodes() {
            rows.push(node_row(node).await);
        }
    } else {
        let names = (0..NODES).map(|index| format!("{REDIS}-{index}"));
        rows.extend(names.map(|name| Row::missing(ledger.folder(&name), name)));
    }
    let titles = ["NAME", "STATE", "PID", "WHAT", "ADDRESS", "DIRECTORY"].map(str::to_owned);
    let lines: Vec<[String; 6]> =
        std::iter::once(titles).chain(rows.iter().map(Row::cells)).collect();
    print!("{}", table(&lines));
    for row in &rows {
        if let (Err(failure), Some(pid)) = (&row.health, row.pid) {
            println!("{} runs as {pid} but does not answer: {failure}", row.name);
        }
    }
    let mut all_ok = rows.iter().all(|row| row.health.is_ok());
    // Six nodes that answer are not necessarily a working cluster.
    if all_ok
        && let Some(cluster) = cluster
        && let Err(failure) = cluster.check().await
    {
        println!("The cluster is not whole: {failure}");
        all_ok = false;
    }
    all_ok
}

async fn postgres_row(ledger: &Ledger) -> Row {
    let Some(server) = Postgres::load(ledger, POSTGRES) else {
        return Row::missing(ledger.folder(POSTGRES), POSTGRES.to_owned());
    };
    let process = server.process();
    Row {
        name: POSTGRES.to_owned(),
        pid: process.map(Process::pid),
        health: match process {
            Some(_) => server.ping().await.map(|version| format!("PostgreSQL {}", first(&version))),
            None => Err(Failure::new("look", "no process")),
        },
        address: format!("127.0.0.1:{}", server.port()),
        dir: server.data_dir(),
    }
}

async fn node_row(node: &Node) -> Row {
    let process = node.process();
    Row {
        name: node.label().to_owned(),
        pid: process.map(Process::pid),
        health: match process {
            Some(_) => node.role().await,
            None => Err(Failure::new("look", "no process")),
        },
        address: format!("127.0.0.1:{}", node.port()),
        dir: node.dir(),
    }
}

/// Formats the rows with columns as wide as their widest cell.
fn table(lines: &[[String; 6]]) -> String {
    let mut widths = [0; 6];
    for line in lines {
        for (width, cell) in widths.iter_mut().zip(line) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut text = String::new();
    for line in lines {
        let padded: Vec<String> =
            line.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        text.push_str(padded.join("  ").trim_end());
        text.push('\n');
    }
    text
}

/// Returns the version without the package name that Debian appends.
fn first(version: &str) -> &str {
    version.split_whitespace().next().unwrap_or(version)
}

/// Returns the path relative to the current directory if it is below it.
fn shown(path: &Path) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    path.strip_prefix(here).unwrap_or(path).display().to_string()
}

fn write_private(path: &Path, text: &str) -> Result<(), Failure> {
    use std::io::Write as _;
    use std::os::unix::fs::OpenOptionsExt as _;
    let write = || {
        let mut options = fs::OpenOptions::new();
        // The file contains a password.
        let mut file = options.create(true).write(true).truncate(true).mode(0o600).open(path)?;
        file.write_all(text.as_bytes())
    };
    write()
        .map_err(|error: std::io::Error| Failure::new(format!("write {}", path.display()), error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_columns_align_without_trailing_spaces() {
        let line = |cells: [&str; 6]| cells.map(str::to_owned);
        let text = table(&[
            line(["NAME", "STATE", "P", "W", "A", "D"]),
            line(["é", "down", "12345", "-", "-", "x"]),
        ]);
        assert_eq!(text, "NAME  STATE  P      W  A  D\né     down   12345  -  -  x\n");
    }

    #[test]
    fn version_is_its_first_word() {
        assert_eq!(first("15.8 (Debian 15.8-0)"), "15.8");
        assert_eq!(first(""), "");
    }
}
