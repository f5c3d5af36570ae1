//! Runs the workspace's tests: with nextest where it is installed, else with cargo's own
//! runner, so that a bare machine can still answer.

use std::fs;
use std::path::Path;
use std::process::Command;

use ade_testkit::leak;
use anyhow::{Result, bail};

use crate::shell;

/// Where nextest writes it, as its settings say.
const SAID: &str = "nextest/default/junit.xml";

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Passed to the runner, for example a filter or `--no-fail-fast`
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    rest: Vec<String>,
}

pub fn run(root: &Path, args: &Args) -> Result<()> {
    shell::succeed(runner(root, &[]).args(&args.rest))
}

/// Everything; a log tells of what failed or dawdled, not of each test that passed. No secret may
/// be in what any of them said.
pub fn all(root: &Path) -> Result<()> {
    shell::succeed(&mut runner(root, &["--status-level", "slow"]))?;
    let said = shell::target_directory(root)?.join(SAID);
    // Cargo's own runner keeps nothing.
    if let Ok(text) = fs::read_to_string(said)
        && let Some(found) = leak::token_in(&text)
    {
        bail!("a token is in what the tests said: {found}");
    }
    Ok(())
}

fn runner(root: &Path, for_nextest: &[&str]) -> Command {
    if shell::find("cargo-nextest").is_some() {
        let mut command = shell::cargo(root, &["nextest", "run", "--workspace", "--locked"]);
        command.args(for_nextest);
        command
    } else {
        println!("cargo-nextest is not installed: running `cargo test` instead");
        shell::cargo(root, &["test", "--workspace", "--locked"])
    }
}
