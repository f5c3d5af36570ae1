//! What must hold before a change is shown to anyone. The quick checks come first, so that a
//! crooked file is told in a second and not after a build.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};

use crate::ledger::{Ledger, Outcome};
use crate::shell;
use crate::tree::Tree;
use crate::{deny, generate, tidy};

const TIER: &str = "check";

pub fn run(root: &Path) -> Result<()> {
    let mut ledger = Ledger::default();
    let result = steps(root, &mut ledger);
    println!("{}", ledger.table());
    result
}

pub fn steps(root: &Path, ledger: &mut Ledger) -> Result<()> {
    let cargo = |args: &[&str]| shell::succeed(&mut shell::cargo(root, args)).map(passed);
    ledger.step(TIER, "fmt", || cargo(&["fmt", "--all", "--check"]))?;
    ledger.step(TIER, "tidy", || tidy::run(root).map(passed))?;
    ledger.step(TIER, "gen", || generate::compare(root).map(passed))?;
    ledger.step(TIER, "deny", || deny::run(root).map(passed))?;
    ledger.step(TIER, "typos", || tool(root, "typos", &["--color", "never"]))?;
    ledger.step(TIER, "shellcheck", || {
        let tree = Tree::read(root)?;
        tool(root, "shellcheck", &shell_scripts(&tree))
    })?;
    ledger.step(TIER, "clippy", || {
        cargo(&["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"])
    })
}

fn passed((): ()) -> Outcome {
    Outcome::Passed
}

/// A developer may lack a tool; CI installs it, so there its absence is a failure.
fn tool(root: &Path, name: &str, args: &[&str]) -> Result<Outcome> {
    let Some(program) = shell::find(name) else {
        if shell::in_ci() {
            bail!("{name} is not installed: .ci/run puts it where ADE_TOOLS points");
        }
        return Ok(Outcome::Skipped(format!("{name} is not installed")));
    };
    shell::succeed(Command::new(program).args(args).current_dir(root)).map(passed)
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
    fn scripts_are_known_by_their_first_line() {
        let tree = Tree::of(&[
            (".ci/run", "#!/usr/bin/env bash\nset -e\n"),
            ("a.sh", "#!/bin/sh\n"),
            ("b.lua", "#!lua\n"),
            ("c.md", "run bash\n"),
        ]);
        assert_eq!(shell_scripts(&tree), [".ci/run", "a.sh"]);
    }
}
