//! `cargo xtask redis-keys audit`: what lies in a cluster, held against the catalogue in
//! `ade_coord::keys`: in one that runs, or in a fresh one after everything that uses Redis was done
//! there once. Exits with 0 if all of it is declared, with 1 if something is not, and with 2 if
//! nobody could look.

use std::path::Path;
use std::process::ExitCode;

use ade_coord::Cluster;
use ade_coord::audit::Audit;
use anyhow::{Context as _, Result};
use clap::Subcommand;

use crate::shell;

const CANNOT_LOOK: u8 = 2;
/// Where the workload finds the cluster it is to use.
const VARIABLE: &str = "ADE_WORKLOAD_REDIS";
const WORKLOAD: &str = "every_feature_over_redis";

#[derive(Debug, Subcommand)]
pub enum RedisKeys {
    /// Name each key that is unknown, of another type or of another lifetime
    Audit {
        /// Nodes of a running cluster, comma-separated; else a workload runs over every feature on
        /// a fresh one, and every entry of the catalogue must be found too
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
