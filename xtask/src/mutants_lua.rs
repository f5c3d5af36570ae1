//! Breaks the lock scripts on purpose: every line that can be left out is, one at a time, and the
//! tests of the scripts must notice. The tests do it; this gives them time and keeps the report.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};

use crate::report::{self, Stamp};
use crate::shell;

const TEST: &str = "lock::tests::mutants::every_line_is_missed_when_it_is_left_out";

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Fail below this share of noticed lines, in per cent
    #[arg(long, default_value_t = 95)]
    at_least: usize,
}

/// One line of a script that was left out.
struct Tried<'a> {
    is_caught: bool,
    place: &'a str,
    line: &'a str,
}

pub fn run(root: &Path, args: &Args) -> Result<()> {
    let out = std::env::temp_dir().join(format!("ade-mutants-lua-{}", std::process::id()));
    let mut command = shell::cargo(root, &["test", "--quiet", "--workspace", "--all-features"]);
    command.args(["--lib", "--", "--ignored", "--exact", TEST]).env("ADE_MUTANTS_OUT", &out);
    shell::succeed(&mut command)?;
    let told = fs::read_to_string(&out).context("the test has told nothing")?;
    fs::remove_file(&out)?;
    let tried = read(&told)?;
    let share = caught(&tried) * 100 / tried.len().max(1);
    let stamp = Stamp::take(root)?;
    report::keep(root, "mutants-lua", &stamp, &report(&stamp, &tried))?;
    ensure!(share >= args.at_least, "{share} % noticed, at least {} % wanted", args.at_least);
    Ok(())
}

fn read(told: &str) -> Result<Vec<Tried<'_>>> {
    told.lines()
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
         Every line of `crates/coord/lua/lock` whose absence still makes a script was left out \
         once, and the traps\nand 24 random lives were run on what was left. Repeat it on commit \
         `{commit}` with `cargo xtask mutants-lua`.\n\n\
         | figure | value |\n|---|---|\n| lines left out | {all} |\n| noticed | {caught} |\n\
         | share | {} % |\n\n## Not noticed\n\n",
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
    fn the_report_counts_and_names_what_nobody_noticed() {
        let told = "caught a.lua:3 local x = 1\nmissed b.lua:4 return nil\n";
        let tried = read(told).unwrap();
        let stamp = Stamp { day: "2026-01-02".to_owned(), commit: "abc".to_owned() };
        let text = report(&stamp, &tried);
        for part in ["| lines left out | 2 |", "| share | 50 % |", "- b.lua:4: `return nil`"] {
            assert!(text.contains(part), "{part:?} is not in\n{text}");
        }
        assert!(!text.contains("a.lua:3"));
        assert!(read("caught").is_err());
    }
}
