//! `cargo xtask redis-keys audit`: what lies in a running cluster, held against the catalogue in
//! `ade_coord::keys`. Exits with 0 if all of it is declared, with 1 if something is not, and with 2
//! if nobody could look.

use std::process::ExitCode;

use ade_coord::Cluster;
use ade_coord::audit::Audit;
use clap::Subcommand;

const CANNOT_LOOK: u8 = 2;
const VARIABLE: &str = "ADE_REDIS_URLS";

#[derive(Debug, Subcommand)]
pub enum RedisKeys {
    /// Scan every master and name each key that is unknown, of another type or of another lifetime
    Audit {
        /// Nodes of the cluster, comma-separated; else those of `ADE_REDIS_URLS`, as `.stack/env`
        /// sets it
        #[arg(long)]
        urls: Option<String>,
    },
}

pub fn run(command: &RedisKeys) -> ExitCode {
    let RedisKeys::Audit { urls } = command;
    let urls = urls.clone().or_else(|| std::env::var(VARIABLE).ok()).unwrap_or_default();
    let urls: Vec<String> = urls.split(',').map(str::to_owned).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let outcome = runtime
        .map_err(|error| error.to_string())
        .and_then(|runtime| runtime.block_on(look(&urls)).map_err(|error| error.to_string()));
    match outcome {
        Ok(audit) => tell(&audit),
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::from(CANNOT_LOOK)
        }
    }
}

async fn look(urls: &[String]) -> Result<Audit, ade_coord::Error> {
    Cluster::open(urls)?.audit().await
}

fn tell(audit: &Audit) -> ExitCode {
    for finding in &audit.findings {
        println!("{} {}", finding.key, finding.problem);
    }
    println!("{} keys, {} not as declared", audit.keys, audit.findings.len());
    if audit.findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
