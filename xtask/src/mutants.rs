//! Mutation tests of the core: a seeded sample of mutants over the modules that make decisions, run
//! with cargo-mutants, and a report of what the tests caught. The seed makes a run repeatable.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};
use serde::Deserialize;

use crate::report::{self, Stamp};
use crate::shell;

const PACKAGE: &str = "ade-core";
/// The modules where a wrong result lets a change through.
const MODULES: &[&str] = &["task", "approval", "policy", "lock"];
/// A mutant with an endless loop is caught by the timeout.
const TEST_TIMEOUT_SECONDS: &str = "120";

#[derive(Debug, clap::Args)]
pub struct MutantsArgs {
    /// The same seed on the same commit draws the same mutants
    #[arg(long)]
    seed: u64,
    /// How many mutants to draw
    #[arg(long, default_value_t = 150)]
    count: usize,
    /// Fail below this share of caught mutants, in per cent
    #[arg(long, default_value_t = 90)]
    at_least: usize,
    /// Modules of the core to draw from
    #[arg(long, value_delimiter = ',', default_values = MODULES)]
    modules: Vec<String>,
}

#[derive(Deserialize)]
struct Mutant {
    name: String,
}

pub fn run(root: &Path, args: &MutantsArgs) -> Result<()> {
    ensure!(shell::find("cargo-mutants").is_some(), "cargo-mutants is not installed");
    let all = list(root, &args.modules)?;
    ensure!(!all.is_empty(), "no mutants in {}", args.modules.join(", "));
    let drawn = draw(all.clone(), args.seed, args.count);
    println!("{} of {} mutants, seed {}", drawn.len(), all.len(), args.seed);
    let scratch = scratch(root);
    let figures = test(root, &scratch, &drawn, &args.modules)?;
    // A filter that matches too little would look like a perfect score. More than drawn is fine:
    // cargo-mutants adds deleted struct fields to every selection.
    ensure!(
        figures.tested() >= drawn.len(),
        "{} mutants drawn but only {} tested",
        drawn.len(),
        figures.tested()
    );
    println!("{}", figures.line());
    let stamp = Stamp::take(root)?;
    report::keep(root, "mutants", &stamp, &report(&stamp, all.len(), args, &figures))?;
    ensure!(
        figures.percent() >= args.at_least,
        "{} % caught, at least {} % wanted",
        figures.percent(),
        args.at_least
    );
    Ok(())
}

fn scratch(root: &Path) -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    target.unwrap_or_else(|| root.join("target")).join("mutants")
}

fn select(modules: &[String]) -> Vec<String> {
    let mut args = vec!["--package".to_owned(), PACKAGE.to_owned()];
    for module in modules {
        for shape in ["/**", ".rs"] {
            args.extend(["--file".to_owned(), format!("crates/core/src/{module}{shape}")]);
        }
    }
    args
}

fn list(root: &Path, modules: &[String]) -> Result<Vec<String>> {
    let mut command = shell::cargo(root, &["mutants", "--list", "--json"]);
    let listed = shell::output(command.args(select(modules)))?;
    let mutants: Vec<Mutant> =
        serde_json::from_str(&listed).context("cannot read the list of mutants")?;
    Ok(mutants.into_iter().map(|mutant| mutant.name).collect())
}

/// Draws `count` mutants, with every set equally likely, in the order of the source.
fn draw(mut mutants: Vec<String>, seed: u64, count: usize) -> Vec<String> {
    let mut state = seed;
    let mut keyed: BTreeMap<(u64, usize), String> = BTreeMap::new();
    for (place, mutant) in mutants.drain(..).enumerate() {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        keyed.insert((mix(state), place), mutant);
    }
    let drawn = keyed.into_iter().take(count);
    let ordered: BTreeMap<usize, String> =
        drawn.map(|((_, place), mutant)| (place, mutant)).collect();
    ordered.into_values().collect()
}

/// The finalizer of `SplitMix64`, so that similar seeds give different samples.
fn mix(state: u64) -> u64 {
    let state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    state ^ (state >> 31)
}

fn test(root: &Path, scratch: &Path, drawn: &[String], modules: &[String]) -> Result<Figures> {
    fs::create_dir_all(scratch)?;
    let has_nextest = shell::find("cargo-nextest").is_some();
    let runner = if has_nextest { "nextest" } else { "cargo" };
    let mut command = shell::cargo(root, &["mutants"]);
    command
        .args(select(modules))
        .args(["--test-tool", runner, "--timeout", TEST_TIMEOUT_SECONDS])
        .args(["--cap-lints", "true", "--no-times"])
        .arg("--output")
        .arg(scratch)
        // The copy must not share artifacts with the checkout it is a broken version of.
        .env_remove("CARGO_TARGET_DIR")
        // A case on which one mutant failed must not help to catch the next.
        .env("PROPTEST_DISABLE_FAILURE_PERSISTENCE", "1");
    for mutant in drawn {
        command.arg("--re").arg(format!("^{}$", escape(mutant)));
    }
    let status = command.status().context("cannot start cargo mutants")?;
    // 2 means that some were missed and 3 that some timed out; any other code means that the run
    // failed.
    if !matches!(status.code(), Some(0 | 2 | 3)) {
        bail!("cargo mutants ended with {status}: do the tests pass without mutants?");
    }
    let lines = |name: &str| -> Result<Vec<String>> {
        let path = scratch.join("mutants.out").join(name);
        let text =
            fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        Ok(text.lines().map(str::to_owned).collect())
    };
    Ok(Figures {
        caught: lines("caught.txt")?.len(),
        unviable: lines("unviable.txt")?.len(),
        missed: lines("missed.txt")?,
        timeout: lines("timeout.txt")?,
    })
}

fn escape(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars() {
        // Only these characters are escaped, because `\\<` and others have a meaning in this
        // dialect.
        if r".+*?()|[]{}^$#&-~\".contains(c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

#[derive(Debug)]
struct Figures {
    caught: usize,
    unviable: usize,
    missed: Vec<String>,
    timeout: Vec<String>,
}

impl Figures {
    fn viable(&self) -> usize {
        self.caught + self.missed.len() + self.timeout.len()
    }

    fn tested(&self) -> usize {
        self.viable() + self.unviable
    }

    /// Returns the share of caught mutants, rounded down so that a goal is never met by rounding;
    /// 100 if there are none.
    fn percent(&self) -> usize {
        (self.caught * 100).checked_div(self.viable()).unwrap_or(100)
    }

    fn line(&self) -> String {
        format!(
            "{} caught, {} missed, {} timed out, {} unviable: {} % of viable mutants caught",
            self.caught,
            self.missed.len(),
            self.timeout.len(),
            self.unviable,
            self.percent()
        )
    }
}

fn report(stamp: &Stamp, all: usize, args: &MutantsArgs, figures: &Figures) -> String {
    let Stamp { day, commit } = stamp;
    let mut out = format!("# Mutants of the core, {day}\n\n");
    let modules = args.modules.join(",");
    let _ = writeln!(
        out,
        "Repeat it on commit `{commit}` with\n\
         `cargo xtask mutants --seed {} --count {} --modules {modules}`.\n",
        args.seed, args.count
    );
    out.push_str("| figure | mutants |\n|---|---|\n");
    let rows = [
        ("in these modules", all),
        ("tested", figures.tested()),
        ("unviable (do not compile)", figures.unviable),
        ("caught by a test", figures.caught),
        ("timed out", figures.timeout.len()),
        ("missed", figures.missed.len()),
    ];
    for (name, figure) in rows {
        let _ = writeln!(out, "| {name} | {figure} |");
    }
    let _ = writeln!(out, "| **caught of viable** | **{} %** |", figures.percent());
    for (title, survivors) in [("Missed", &figures.missed), ("Timed out", &figures.timeout)] {
        let _ = write!(out, "\n## {title}\n\n");
        if survivors.is_empty() {
            out.push_str("None.\n");
        }
        for survivor in survivors {
            let _ = writeln!(out, "- `{survivor}`");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(count: usize) -> Vec<String> {
        (0..count).map(|n| format!("m{n:03}")).collect()
    }

    #[test]
    fn mutant_sample_depends_on_the_seed_only() {
        let first = draw(names(200), 7, 20);
        assert_eq!(first, draw(names(200), 7, 20));
        assert_ne!(first, draw(names(200), 8, 20));
        assert_eq!(first.len(), 20);
        assert!(first.is_sorted(), "{first:?}");
    }

    #[test]
    fn mutant_sample_covers_all_and_is_bounded() {
        let mut seen: Vec<String> = (0..200).flat_map(|seed| draw(names(30), seed, 3)).collect();
        seen.sort();
        seen.dedup();
        assert_eq!(seen, names(30));
        assert_eq!(draw(names(5), 1, 150), names(5));
    }

    #[test]
    fn mutant_name_is_escaped_as_a_pattern() {
        assert_eq!(
            escape("a.rs:1:2: replace f -> Vec<u8> with vec![]"),
            "a\\.rs:1:2: replace f \\-> Vec<u8> with vec!\\[\\]"
        );
    }

    #[test]
    fn mutant_score_counts_viable_ones_and_rounds_down() {
        let figures = Figures { caught: 899, unviable: 50, missed: names(100), timeout: names(1) };
        assert_eq!(figures.percent(), 89);
        let none = Figures { caught: 0, unviable: 3, missed: names(0), timeout: names(0) };
        assert_eq!(none.percent(), 100);
    }

    #[test]
    fn mutant_report_names_the_seed_and_the_survivors() {
        let args =
            MutantsArgs { seed: 42, count: 9, at_least: 90, modules: vec!["lock".to_owned()] };
        let figures = Figures {
            caught: 7,
            unviable: 1,
            missed: vec!["x.rs:1:2: replace a".to_owned()],
            timeout: Vec::new(),
        };
        let stamp = Stamp { day: "2026-01-02".to_owned(), commit: "abc".to_owned() };
        let text = report(&stamp, 500, &args, &figures);
        for part in [
            "# Mutants of the core, 2026-01-02\n",
            "`abc`",
            "--seed 42 --count 9",
            "| in these modules | 500 |",
            "| tested | 9 |",
            "| **caught of viable** | **87 %** |",
            "## Missed\n\n- `x.rs:1:2: replace a`\n",
            "## Timed out\n\nNone.\n",
        ] {
            assert!(text.contains(part), "{part:?} is not in\n{text}");
        }
    }
}
