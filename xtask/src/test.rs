//! Runs the workspace's tests: with nextest where it is installed, else with cargo's own
//! runner, so that a bare machine can still answer.

use std::path::Path;

use anyhow::Result;

use crate::shell;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Passed to the runner, for example a filter or `--no-fail-fast`
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    rest: Vec<String>,
}

pub fn run(root: &Path, args: &Args) -> Result<()> {
    let runner: &[&str] = if shell::find("cargo-nextest").is_some() {
        &["nextest", "run", "--workspace", "--locked"]
    } else {
        println!("cargo-nextest is not installed: running `cargo test` instead");
        &["test", "--workspace", "--locked"]
    };
    shell::succeed(shell::cargo(root, runner).args(&args.rest))
}

pub fn all(root: &Path) -> Result<()> {
    run(root, &Args { rest: Vec::new() })
}
