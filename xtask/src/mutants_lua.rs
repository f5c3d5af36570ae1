//! Mutation tests of the lock scripts: every line that can be removed is removed, one at a time,
//! and the tests of the scripts must catch it. The tests do the work; this command allows them the
//! time and writes the report.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};

use crate::report::{self, Stamp};
use crate::shell;

const TEST: &str = "lock::tests::mutants::mutants_without_one_script_line_are_detected";

#[derive(Debug, clap::Args)]
pub struct MutantsLuaArgs {
    /// Fail below this share of caught lines, in per cent
    #[arg(long, default_value_t = 95)]
    at_least: usize,
}

/// One line of a script that was removed.
struct Tried<'a> {
    is_caught: bool,
    place: &'a str,
    line: &'a str,
}

pub fn run(root: &Path, args: &MutantsLuaArgs) -> Result<()> {
    let out = std::env::temp_dir().join(format!("ade-mutants-lua-{}", std::process::id()));
    let mut command = shell::cargo(root, &["test", "--quiet", "--workspace", "--locked"]);
    command.args(["--lib", "--", "--ignored", "--exact", TEST]).env("ADE_MUTANTS_OUT", &out);
    shell::succeed(&mut command)?;
    let output = fs::read_to_string(&out).context("the test wrote no results")?;
    fs::remove_file(&out)?;
    let tried = read(&output)?;
    let share = caught(&tried) * 100 / tried.len().max(1);
    let stamp = Stamp::take(root)?;
    report::keep(root, "mutants-lua", &stamp, &report(&stamp, &tried))?;
    ensure!(share >= args.at_least, "{share} % caught, at least {} % required", args.at_least);
    Ok(())
}

fn read(output: &str) -> Result<Vec<Tried<'_>>> {
    output
        .lines()
        .map(|row| {
            let mut parts = row.splitn(3, ' ');
            let (word, place, line) = (parts.next(), parts.next(), parts.next());
            let place = place.with_context(|| format!("cannot read `{row}`"))?;
            Ok(Tried { is_caught: word == Some("caught"), place, line: line.unwrap_or_default() })
        })
        .collect()
}

fn caught(tried: &[Tried<'_>]) -> usize {
    tried.iter().filter(|tried| tried.is_caught).count()
}

fn report(stamp: &Stamp, tried: &[Tried<'_>]) -> String {
    let Stamp { day, commit } = stamp;
    let (all, caught) = (tried.len(), caught(tried));
    let mut out = format!(
        "# Mutants of the lock scripts, {day}\n\n\
         Every line of `crates/coord/lua/lock` that can be removed without a syntax error was \
         removed once, and the\ntrap tests and 24 random histories were run with the remaining \
         script. Repeat it on commit `{commit}` with\n`cargo xtask mutants-lua`.\n\n\
         | figure | value |\n|---|---|\n| lines removed | {all} |\n| caught | {caught} |\n\
         | share | {} % |\n\n## Missed\n\n",
        caught * 100 / all.max(1),
    );
    if caught == all {
        out.push_str("None.\n");
    }
    for tried in tried.iter().filter(|tried| !tried.is_caught) {
        let _ = writeln!(out, "- {}: `{}`", tried.place, tried.line);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lua_mutant_report_counts_and_names_survivors() {
        let output = "caught a.lua:3 local x = 1\nmissed b.lua:4 return nil\n";
        let tried = read(output).unwrap();
        let stamp = Stamp { day: "2026-01-02".to_owned(), commit: "abc".to_owned() };
        let text = report(&stamp, &tried);
        for part in ["| lines removed | 2 |", "| share | 50 % |", "- b.lua:4: `return nil`"] {
            assert!(text.contains(part), "{part:?} is not in\n{text}");
        }
        assert!(!text.contains("a.lua:3"));
        assert!(read("caught").is_err());
    }
}
