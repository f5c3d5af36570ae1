//! Runs the tests of the workspace: with nextest if it is installed, otherwise with cargo's own
//! runner, so that a machine without tools can run them too.

use std::fs;
use std::path::Path;
use std::process::Command;

use ade_testkit::leak;
use anyhow::{Result, bail};

use crate::{junit, shell};

/// The number of slowest tests that CI prints.
const SLOWEST: usize = 25;

#[derive(Debug, clap::Args)]
pub struct TestArgs {
    /// Passed to the runner, for example a filter or `--no-fail-fast`
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    rest: Vec<String>,
}

pub fn run(root: &Path, args: &TestArgs) -> Result<()> {
    shell::succeed(runner(root, &[]).args(&args.rest))
}

/// Runs all tests. The log lists failed and slow tests, not every passed one. The output of the
/// tests must not contain a secret.
pub fn all(root: &Path) -> Result<()> {
    let path = junit::path(root)?;
    let _ = fs::remove_file(&path);
    let result = shell::succeed(&mut runner(root, &["--status-level", "slow"]));
    // Cargo's own runner writes no report.
    if let Ok(text) = fs::read_to_string(path) {
        println!("{}", junit::slowest(&junit::read(&text), SLOWEST));
        if let Some(found) = leak::token_in(&text) {
            bail!("the output of the tests contains a token: {found}");
        }
    }
    result
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
