//! `cargo xtask redis-keys audit`: compares the contents of a cluster with the catalogue in
//! `ade_coord::keys`. The cluster is either a running one, or a fresh one on which every feature
//! that uses Redis has run. Exits with 0 if every key is declared, with 1 if one is not, and with 2
//! if the cluster could not be read.

use std::path::Path;
use std::process::ExitCode;

use ade_coord::Cluster;
use ade_coord::audit::Audit;
use anyhow::{Context as _, Result};
use clap::Subcommand;

use crate::shell;

const CANNOT_LOOK: u8 = 2;
/// The variable that names the cluster for the workload.
const VARIABLE: &str = "ADE_WORKLOAD_REDIS";
const WORKLOAD: &str = "redis_workload_uses_each_feature";

#[derive(Debug, Subcommand)]
pub enum RedisKeys {
    /// List each key that is unknown, of another type or of another lifetime
    Audit {
        /// Nodes of a running cluster, comma-separated; without them a workload runs every feature
        /// on a fresh one, and every entry of the catalogue must be found
        #[arg(long)]
        urls: Option<String>,
    },
}

pub fn run(root: &Path, command: &RedisKeys) -> ExitCode {
    let RedisKeys::Audit { urls } = command;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let outcome = runtime.context("no runtime").and_then(|runtime| match urls {
        Some(urls) => runtime.block_on(look(urls.split(',').map(str::to_owned).collect())),
        None => runtime.block_on(look_after_workload(root)),
    });
    match outcome {
        Ok(audit) => tell(&audit, urls.is_none()),
        Err(why) => {
            eprintln!("error: {why:#}");
            ExitCode::from(CANNOT_LOOK)
        }
    }
}

async fn look(urls: Vec<String>) -> Result<Audit> {
    Ok(Cluster::open(&urls.into())?.audit().await?)
}

async fn look_after_workload(root: &Path) -> Result<Audit> {
    let servers = ade_testkit::Cluster::owned().await;
    let filter = ["test", "-p", "ade-server", "--test", "it", "--", WORKLOAD];
    let mut workload = shell::cargo(root, &filter);
    shell::succeed(workload.env(VARIABLE, servers.urls().join(",")))?;
    look(servers.urls()).await
}

fn tell(audit: &Audit, is_whole: bool) -> ExitCode {
    for finding in &audit.findings {
        println!("{} {}", finding.key, finding.problem);
    }
    let unseen = if is_whole { audit.unseen() } else { Vec::new() };
    for pattern in &unseen {
        println!("{pattern} is declared, and nothing in the workload makes it");
    }
    let kinds = audit.seen.len();
    println!("{} keys of {kinds} kinds, {} not as declared", audit.keys, audit.findings.len());
    if audit.findings.is_empty() && unseen.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
