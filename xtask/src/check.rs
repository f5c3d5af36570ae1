//! The checks that must pass before a change is shown to anyone. The quick ones come first, so that
//! a badly formatted file is reported within a second and not after a build.

use std::path::Path;

use anyhow::Result;

use crate::ledger::{Ledger, StepOutcome, tool};
use crate::shell;
use crate::tree::Tree;
use crate::{advisories, deny, generate, migrations, tidy, web};

const TIER: &str = "check";

pub fn run(root: &Path) -> Result<()> {
    let mut ledger = Ledger::default();
    let result =
        quick(root, &mut ledger).and_then(|()| ledger.step(TIER, "clippy", || clippy(root)));
    println!("{}", ledger.table());
    result
}

/// Runs the checks that compile nothing.
pub fn quick(root: &Path, ledger: &mut Ledger) -> Result<()> {
    ledger.step(TIER, "fmt", || {
        shell::succeed(&mut shell::cargo(root, &["fmt", "--all", "--check"])).map(passed)
    })?;
    ledger.step(TIER, "tidy", || tidy::run(root, &tidy::TidyArgs::default()).map(passed))?;
    ledger.step(TIER, "gen", || generate::compare(root).map(passed))?;
    ledger.step(TIER, "deny", || deny::run(root).map(passed))?;
    ledger.step(TIER, "advisories", || {
        advisories::run(root, &advisories::AdvisoriesArgs::default()).map(passed)
    })?;
    ledger.step(TIER, "npm-hashes", || web::hashes(root))?;
    ledger.step(TIER, "typos", || tool(root, "typos", &["--color", "never"]))?;
    ledger.step(TIER, "shellcheck", || {
        let tree = Tree::read(root)?;
        tool(root, "shellcheck", &shell_scripts(&tree))
    })?;
    ledger.step(TIER, "squawk", || migrations::check(root))
}

/// Runs clippy, which neither produces nor uses the artifacts of a build.
pub fn clippy(root: &Path) -> Result<StepOutcome> {
    let args = ["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"];
    shell::succeed(&mut shell::cargo(root, &args)).map(passed)
}

fn passed((): ()) -> StepOutcome {
    StepOutcome::Passed
}

fn shell_scripts(tree: &Tree) -> Vec<&str> {
    let is_script = |text: &str| {
        let first = text.lines().next().unwrap_or_default();
        first.starts_with("#!") && (first.ends_with("bash") || first.ends_with("/sh"))
    };
    tree.texts().filter(|(_, text)| is_script(text)).map(|(path, _)| path).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shell_scripts_are_found_by_their_first_line() {
        let tree = Tree::of(&[
            (".ci/run", "#!/usr/bin/env bash\nset -e\n"),
            ("a.sh", "#!/bin/sh\n"),
            ("b.lua", "#!lua\n"),
            ("c.md", "run bash\n"),
        ]);
        assert_eq!(shell_scripts(&tree), [".ci/run", "a.sh"]);
    }
}
