//! `cargo xtask web`: the dashboard's packages as they are locked, and its own checks: types,
//! lint, tests, build and size. With `--browser`, also what a real Chromium makes of the built
//! pages and the built server.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::ledger::Outcome;
use crate::shell;

/// What the build of the dashboard needs.
const NODE: [u32; 2] = [20, 19];
/// Debian's packages; the one without a window will do.
const CHROMIUM: [&str; 2] = ["chromium-headless-shell", "chromium"];

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Also run the browser tests
    #[arg(long)]
    browser: bool,
}

pub fn run(root: &Path, args: &Args) -> Result<Outcome> {
    let outcome = check(root)?;
    if args.browser && outcome == Outcome::Passed { browser(root) } else { Ok(outcome) }
}

/// Everything that needs no server.
pub fn check(root: &Path) -> Result<Outcome> {
    let Some(node) = node()? else { return missing(&format!("node {}", least())) };
    for args in [["ci", "--no-audit", "--no-fund"].as_slice(), &["run", "check"]] {
        shell::succeed(npm(root, &node)?.args(args))?;
    }
    Ok(Outcome::Passed)
}

/// After `check`, which has built the pages; a debug server reads them where they were built.
pub fn browser(root: &Path) -> Result<Outcome> {
    let Some(node) = node()? else { return missing(&format!("node {}", least())) };
    if env::var_os("CHROMIUM").is_none() && CHROMIUM.into_iter().find_map(shell::find).is_none() {
        return missing("chromium");
    }
    shell::succeed(&mut shell::cargo(root, &["build", "--workspace", "--bins", "--locked"]))?;
    shell::succeed(npm(root, &node)?.args(["run", "e2e"]))?;
    Ok(Outcome::Passed)
}

/// A developer may lack it; CI installs it, so there its absence is a failure.
fn missing(what: &str) -> Result<Outcome> {
    if shell::in_ci() {
        bail!("{what} is not installed: .ci/run sees to it");
    }
    Ok(Outcome::Skipped(format!("{what} is not installed")))
}

/// Of node, in words.
pub fn least() -> String {
    let [major, minor] = NODE;
    format!("{major}.{minor} or newer")
}

/// The directory of a node that is new enough, if there is one.
pub fn node() -> Result<Option<PathBuf>> {
    let Some(node) = shell::find("node") else { return Ok(None) };
    let version = shell::output(Command::new(&node).arg("--version"))?;
    Ok(is_enough(&version).then(|| node.parent().map(Path::to_owned)).flatten())
}

/// With this node before any other: programs of packages ask for it by name alone.
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

/// Of a text like `v20.19.3`.
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
    fn an_old_node_and_a_text_that_is_none_are_not_enough() {
        for (version, wanted) in
            [("v20.19.0\n", true), ("v22.1.0", true), ("v20.18.9", false), ("v18.20.4", false)]
        {
            assert_eq!(is_enough(version), wanted, "{version}");
        }
        assert!(!is_enough("node?"));
    }

    #[test]
    fn the_node_that_was_found_comes_before_any_other() {
        let path = path_from(Path::new("/own/bin")).unwrap();
        assert_eq!(env::split_paths(&path).next(), Some("/own/bin".into()));
        assert!(path_from(Path::new("/a:b")).is_err());
    }
}
