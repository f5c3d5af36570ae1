//! `cargo xtask web`: the dashboard's packages as they are locked, and its own checks: types,
//! lint, tests, build and size. The browser tests need a server and are run from `web/`.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::ledger::Outcome;
use crate::shell;

/// What the build of the dashboard needs.
const NODE: [u32; 2] = [20, 19];

/// Without a node that is new enough nothing of it can be said.
pub fn run(root: &Path) -> Result<Outcome> {
    let told = shell::find("node").map(|node| shell::output(Command::new(node).arg("--version")));
    if !told.transpose()?.is_some_and(|version| is_enough(&version)) {
        let [major, minor] = NODE;
        return Ok(Outcome::Skipped(format!("node {major}.{minor} or newer is not installed")));
    }
    for args in [["ci", "--no-audit", "--no-fund"].as_slice(), &["run", "check"]] {
        shell::succeed(Command::new("npm").args(args).current_dir(root.join("web")))?;
    }
    Ok(Outcome::Passed)
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
}
