//! What is too long for CI, bounded in minutes and repeatable by seed. `rules` runs the core's
//! tests again and again, every round with random input that nobody has tried; `locks` holds the
//! scripts in Redis against the core's model, `fence` the holds in PostgreSQL against holders that
//! come too late, `deadlocks` has agents lock each other up. A success writes a report.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use clap::ValueEnum;

use crate::report::{self, Stamp};
use crate::shell;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Name {
    /// The properties of the core over fresh random input
    Rules,
    /// The lock scripts against the model, on a real cluster with virtual time
    Locks,
    /// Holders of locks that commit, pause and are fenced, on a real PostgreSQL
    Fence,
    /// Agents that lock each other up, three at a time, on a real cluster in real time
    Deadlocks,
}

#[derive(Debug, clap::Args)]
pub struct Args {
    name: Name,
    /// The first round's seed; each later round takes the next
    #[arg(long)]
    seed: u64,
    /// No round begins after this
    #[arg(long)]
    minutes: u64,
}

pub fn run(root: &Path, args: &Args) -> Result<()> {
    match args.name {
        Name::Rules => rules(root, args),
        Name::Locks => locks(root, args),
        Name::Fence => fence(root, args),
        Name::Deadlocks => deadlocks(root, args),
    }
}

fn rules(root: &Path, args: &Args) -> Result<()> {
    let end = Instant::now() + Duration::from_secs(args.minutes * 60);
    let mut rounds = 0;
    while Instant::now() < end {
        let seed = args.seed.wrapping_add(rounds);
        let outcome = round(root, seed);
        if let Err(error) = outcome {
            bail!("round {rounds} failed, repeat it with PROPTEST_RNG_SEED={seed}\n{error:#}");
        }
        rounds += 1;
        println!("round {rounds} passed, seed {seed}");
    }
    let stamp = Stamp::take(root)?;
    let figures = [("rounds, each with a seed of its own", rounds.to_string())];
    report::keep(root, "soak-rules", &stamp, &report(&stamp, "the rules", "rules", args, &figures))
}

fn locks(root: &Path, args: &Args) -> Result<()> {
    let figures = tell(root, args, &["--lib"], "lock::tests::conformance::soak", "seeds ")?;
    let figures = [
        ("seeds, each a space of its own", figure(&figures, 1)?),
        ("steps, each compared in answer, events and all tables", figure(&figures, 3)?),
    ];
    let stamp = Stamp::take(root)?;
    let text = report(&stamp, "the lock scripts against the model", "locks", args, &figures);
    report::keep(root, "soak-locks", &stamp, &text)
}

fn fence(root: &Path, args: &Args) -> Result<()> {
    let figures = tell(root, args, &["--test", "it"], "locks_fence::soak", "commits ")?;
    let figures = [
        ("commits under a registered hold", figure(&figures, 1)?),
        ("transactions that found themselves fenced", figure(&figures, 3)?),
        ("registrations with a token that had fallen", figure(&figures, 5)?),
        ("stale commits that a look without a lock let through", figure(&figures, 7)?),
        ("of commits in that control", figure(&figures, 9)?),
    ];
    let stamp = Stamp::take(root)?;
    let text = report(&stamp, "fences in PostgreSQL", "fence", args, &figures);
    report::keep(root, "soak-fence", &stamp, &text)
}

fn deadlocks(root: &Path, args: &Args) -> Result<()> {
    let figures = tell(root, args, &["--lib"], "lock::tests::deadlocks::soak", "deadlocks ")?;
    let figures = [
        ("deadlocks of three, of 99 agents at once", figure(&figures, 1)?),
        ("until the slowest of them was free or told, in ms", figure(&figures, 3)?),
        ("victims that were not the youngest, or in no deadlock", "0".to_owned()),
    ];
    let stamp = Stamp::take(root)?;
    let text = report(&stamp, "deadlocks", "deadlocks", args, &figures);
    report::keep(root, "soak-deadlocks", &stamp, &text)
}

/// The words of the last line that begins so, of all that an ignored test has printed.
fn tell(
    root: &Path,
    args: &Args,
    target: &[&str],
    test: &str,
    beginning: &str,
) -> Result<Vec<String>> {
    let mut command = shell::cargo(root, &["test", "--quiet", "--workspace", "--all-features"]);
    command
        .args(target)
        .args(["--", "--ignored", "--exact", "--nocapture", test])
        .env("ADE_SOAK_SEED", args.seed.to_string())
        .env("ADE_SOAK_MINUTES", args.minutes.to_string());
    let printed = shell::output(&mut command)?;
    let last = printed.lines().rev().find(|line| line.starts_with(beginning));
    Ok(last.context("the soak told nothing")?.split(' ').map(str::to_owned).collect())
}

fn figure(words: &[String], at: usize) -> Result<String> {
    words.get(at).cloned().context("the soak told too few figures")
}

fn round(root: &Path, seed: u64) -> Result<()> {
    let mut command = shell::cargo(root, &["test", "--quiet", "--package", "ade-core", "--lib"]);
    command.env("PROPTEST_RNG_SEED", seed.to_string());
    shell::output(&mut command).map(drop)
}

fn report(stamp: &Stamp, of: &str, name: &str, args: &Args, figures: &[(&str, String)]) -> String {
    let Stamp { day, commit } = stamp;
    let rows: Vec<String> =
        figures.iter().map(|(figure, value)| format!("| {figure} | {value} |")).collect();
    format!(
        "# Soak of {of}, {day}\n\n\
         Repeat it on commit `{commit}` with\n\
         `cargo xtask soak {name} --seed {} --minutes {}`.\n\n\
         | figure | value |\n|---|---|\n{}\n\
         | failures | 0 |\n",
        args.seed,
        args.minutes,
        rows.join("\n"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_report_tells_how_to_repeat_it() {
        let args = Args { name: Name::Rules, seed: 7, minutes: 3 };
        let stamp = Stamp { day: "2026-01-02".to_owned(), commit: "abc".to_owned() };
        let text = report(&stamp, "the rules", "rules", &args, &[("rounds", "12".to_owned())]);
        for part in ["# Soak of the rules, 2026-01-02", "`abc`", "--seed 7 --minutes 3", "| 12 |"] {
            assert!(text.contains(part), "{part:?} is not in\n{text}");
        }
    }
}
