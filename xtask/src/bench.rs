//! Starts the benches, which are a separate program: they need the optimised crates of the product,
//! and this tool must build without them. Their servers keep their data on disk, because commits to
//! memory would measure nothing.

use std::path::Path;

use anyhow::Result;

use crate::shell;

/// The variable with the directory where the test kit keeps the data of its servers.
const DATA: &str = "ADE_TESTKIT_DIR";

#[derive(Debug, clap::Args)]
pub struct BenchArgs {
    /// The scenario and its options: `transition --quick --json`, `query --tasks 1000000`
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    scenario: Vec<String>,
}

pub fn run(root: &Path, args: &BenchArgs) -> Result<()> {
    let program = ["run", "--release", "--locked", "--quiet", "--package", "ade-bench", "--"];
    let mut command = shell::cargo(root, &program);
    command.args(&args.scenario);
    if std::env::var_os(DATA).is_none() {
        command.env(DATA, std::env::temp_dir().join("ade-bench"));
    }
    shell::succeed(&mut command)
}
