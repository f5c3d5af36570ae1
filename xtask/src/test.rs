//! Runs the workspace's tests: with nextest where it is installed, else with cargo's own
//! runner, so that a bare machine can still answer.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::shell;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Passed to the runner, for example a filter or `--no-fail-fast`
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    rest: Vec<String>,
}

pub fn run(root: &Path, args: &Args) -> Result<()> {
    shell::succeed(runner(root, &[]).args(&args.rest))
}

/// Everything; a log tells of what failed or dawdled, not of each test that passed.
pub fn all(root: &Path) -> Result<()> {
    shell::succeed(&mut runner(root, &["--status-level", "slow"]))
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
