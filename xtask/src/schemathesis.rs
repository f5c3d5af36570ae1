//! `cargo xtask schemathesis`: runs the built server on its own PostgreSQL, and sends generated
//! requests, valid and invalid, for its OpenAPI document. The rest is in `.ci/schemathesis`.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;

use ade_testkit::OwnedPostgres;
use ade_testkit::postgres::{PostgresSettings, SUPERUSER};
use anyhow::{Context as _, Result, bail};

use crate::ledger::StepOutcome;
use crate::shell;

const TOOL: &str = "schemathesis";

#[derive(Debug, clap::Args)]
pub struct SchemathesisArgs {
    /// Fail with fewer cases than this
    #[arg(long, default_value_t = 1_000)]
    cases: u32,
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

impl Default for SchemathesisArgs {
    fn default() -> Self {
        Self { cases: 1_000, seed: 1 }
    }
}

/// Runs the tool. A developer may not have it; CI installs it, so its absence is a failure there.
pub fn run(root: &Path, args: &SchemathesisArgs) -> Result<StepOutcome> {
    if shell::find(TOOL).is_none() {
        if shell::in_ci() {
            bail!("{TOOL} is not installed: .ci/run puts it where ADE_TOOLS points");
        }
        return Ok(StepOutcome::Skipped(format!("{TOOL} is not installed")));
    }
    let programs = shell::programs(root)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let server = OwnedPostgres::start(PostgresSettings::test()).await;
        try_requests(root, args, &programs, &server).map(|()| StepOutcome::Passed)
    })
}

fn try_requests(
    root: &Path,
    args: &SchemathesisArgs,
    programs: &Path,
    server: &OwnedPostgres,
) -> Result<()> {
    let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let folder = shell::target_directory(root)?.join(TOOL);
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
        // A few callers send the requests of many, so rate limits are off.
        .envs(ade_testkit::rates::unlimited())
        .env("PGHOST", "127.0.0.1")
        .env("PGPORT", server.port().to_string())
        .env("PGUSER", SUPERUSER)
        .env("PGPASSWORD", server.password());
    shell::succeed(&mut command)
        .with_context(|| format!("what was tried and answered is in {}", folder.display()))
}
