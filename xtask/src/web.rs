//! `cargo xtask web`: installs the locked packages of the dashboard, and runs its checks: types,
//! lint, tests, build and size. A lockfile with an entry without a hash is not installed. With
//! `--browser` it also tests the built pages and the built server in a real Chromium.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::ledger::{StepOutcome, tool};
use crate::{npm, shell};

/// The version that the build of the dashboard needs.
const NODE: [u32; 2] = [20, 19];
/// The programs of Debian's packages; the one without a window is enough.
const CHROMIUM: [&str; 2] = ["chromium-headless-shell", "chromium"];

#[derive(Debug, clap::Args)]
pub struct WebArgs {
    /// Also run the browser tests
    #[arg(long)]
    browser: bool,
}

pub fn run(root: &Path, args: &WebArgs) -> Result<StepOutcome> {
    let outcome = check(root)?;
    if args.browser && outcome == StepOutcome::Passed { browser(root) } else { Ok(outcome) }
}

/// Runs every check that needs no server.
pub fn check(root: &Path) -> Result<StepOutcome> {
    let Some(node) = node()? else { return missing(&format!("node {}", least())) };
    hashes(root)?;
    for args in [["ci", "--no-audit", "--no-fund"].as_slice(), &["run", "check"]] {
        shell::succeed(npm(root, &node)?.args(args))?;
    }
    Ok(StepOutcome::Passed)
}

/// Checks that the lockfile contains the hash of every package. `.ci/run` runs the same script
/// before the first installation, which is before this program is built.
pub fn hashes(root: &Path) -> Result<StepOutcome> {
    tool(root, "python3", &[".ci/npm_hashes.py", npm::LOCKFILE])
}

/// Runs the browser tests after `check`, which has built the pages; a debug server reads them from
/// there.
pub fn browser(root: &Path) -> Result<StepOutcome> {
    let Some(node) = node()? else { return missing(&format!("node {}", least())) };
    if env::var_os("CHROMIUM").is_none() && CHROMIUM.into_iter().find_map(shell::find).is_none() {
        return missing("chromium");
    }
    shell::programs(root)?;
    shell::succeed(npm(root, &node)?.args(["run", "e2e"]))?;
    Ok(StepOutcome::Passed)
}

/// Reports a missing tool. A developer may not have it; CI installs it, so its absence is a failure
/// there.
fn missing(what: &str) -> Result<StepOutcome> {
    if shell::in_ci() {
        bail!("{what} is not installed: .ci/run sees to it");
    }
    Ok(StepOutcome::Skipped(format!("{what} is not installed")))
}

/// Returns the required version of node as text.
pub fn least() -> String {
    let [major, minor] = NODE;
    format!("{major}.{minor} or newer")
}

/// Returns the directory of a node that is new enough, if there is one.
pub fn node() -> Result<Option<PathBuf>> {
    let Some(node) = shell::find("node") else { return Ok(None) };
    let version = shell::output(Command::new(&node).arg("--version"))?;
    Ok(is_enough(&version).then(|| node.parent().map(Path::to_owned)).flatten())
}

/// Returns an npm command with this node first on the path, because packages look it up by name.
pub fn npm(root: &Path, node: &Path) -> Result<Command> {
    let mut command = Command::new(node.join("npm"));
    command.current_dir(root.join("web")).env("PATH", path_from(node)?);
    Ok(command)
}

fn path_from(first: &Path) -> Result<OsString> {
    let rest = env::var_os("PATH").unwrap_or_default();
    let all = std::iter::once(first.to_owned()).chain(env::split_paths(&rest));
    env::join_paths(all).context("the directory of node cannot be on a path")
}

/// Parses a version like `v20.19.3`, and returns whether it is new enough.
fn is_enough(version: &str) -> bool {
    let mut numbers = version.trim().trim_start_matches('v').split('.').map(str::parse::<u32>);
    let (Some(Ok(major)), Some(Ok(minor))) = (numbers.next(), numbers.next()) else {
        return false;
    };
    [major, minor] >= NODE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn node_version_that_is_old_or_malformed_is_refused() {
        for (version, wanted) in
            [("v20.19.0\n", true), ("v22.1.0", true), ("v20.18.9", false), ("v18.20.4", false)]
        {
            assert_eq!(is_enough(version), wanted, "{version}");
        }
        assert!(!is_enough("node?"));
    }

    #[test]
    fn node_that_was_found_is_first_on_the_path() {
        let path = path_from(Path::new("/own/bin")).unwrap();
        assert_eq!(env::split_paths(&path).next(), Some("/own/bin".into()));
        assert!(path_from(Path::new("/a:b")).is_err());
    }
}
