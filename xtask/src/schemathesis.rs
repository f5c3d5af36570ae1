//! `cargo xtask schemathesis`: the built server over a PostgreSQL of its own, and every request
//! that its description allows or forbids, made up by schemathesis. The rest is `.ci/schemathesis`.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;

use ade_testkit::OwnedPostgres;
use ade_testkit::postgres::{SUPERUSER, Settings};
use anyhow::{Context as _, Result, bail};

use crate::ledger::Outcome;
use crate::shell;

const TOOL: &str = "schemathesis";

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Fewer cases than this are a failure
    #[arg(long, default_value_t = 1_000)]
    cases: u32,
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

impl Default for Args {
    fn default() -> Self {
        Self { cases: 1_000, seed: 1 }
    }
}

/// A developer may lack the tool; CI installs it, so there its absence is a failure.
pub fn run(root: &Path, args: &Args) -> Result<Outcome> {
    if shell::find(TOOL).is_none() {
        if shell::in_ci() {
            bail!("{TOOL} is not installed: .ci/run puts it where ADE_TOOLS points");
        }
        return Ok(Outcome::Skipped(format!("{TOOL} is not installed")));
    }
    shell::succeed(&mut shell::cargo(root, &["build", "--workspace", "--bins", "--locked"]))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let server = OwnedPostgres::start(Settings::test()).await;
        try_requests(root, args, &server).map(|()| Outcome::Passed)
    })
}

fn try_requests(root: &Path, args: &Args, server: &OwnedPostgres) -> Result<()> {
    let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let target = shell::target_directory(root)?;
    let (programs, folder) = (target.join("debug"), target.join(TOOL));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder)?;
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = Command::new("bash");
    command
        .arg(root.join(".ci").join(TOOL))
        .args([args.cases.to_string(), args.seed.to_string()])
        .current_dir(&folder)
        .env("ADE_ROOT", root)
        .env("ADE_URL", format!("http://127.0.0.1:{port}"))
        .env("PATH", format!("{}:{path}", programs.display()))
        .env("ADE__LOCKS__BACKEND", "postgres")
        // It comes as a few callers in place of many.
        .envs(ade_testkit::rates::unlimited())
        .env("PGHOST", "127.0.0.1")
        .env("PGPORT", server.port().to_string())
        .env("PGUSER", SUPERUSER)
        .env("PGPASSWORD", server.password());
    shell::succeed(&mut command)
        .with_context(|| format!("what was tried and answered is in {}", folder.display()))
}
