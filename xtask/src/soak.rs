//! What is too long for CI, bounded in minutes and repeatable by seed. `rules` runs the core's
//! tests again and again, every round with random input that nobody has tried, and writes a
//! report; a failing round names the seed that fails again.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use clap::ValueEnum;

use crate::report::{self, Stamp};
use crate::shell;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Name {
    /// The properties of the core over fresh random input
    Rules,
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
    report::keep(root, "soak-rules", &stamp, &report(&stamp, args, rounds))
}

fn round(root: &Path, seed: u64) -> Result<()> {
    let mut command = shell::cargo(root, &["test", "--quiet", "--package", "ade-core", "--lib"]);
    command.env("PROPTEST_RNG_SEED", seed.to_string());
    shell::output(&mut command).map(drop)
}

fn report(stamp: &Stamp, args: &Args, rounds: u64) -> String {
    let Stamp { day, commit } = stamp;
    format!(
        "# Soak of the rules, {day}\n\n\
         Repeat it on commit `{commit}` with\n\
         `cargo xtask soak rules --seed {} --minutes {}`.\n\n\
         | figure | value |\n|---|---|\n\
         | rounds, each with a seed of its own | {rounds} |\n\
         | failures | 0 |\n",
        args.seed, args.minutes
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_report_tells_how_to_repeat_it() {
        let args = Args { name: Name::Rules, seed: 7, minutes: 3 };
        let stamp = Stamp { day: "2026-01-02".to_owned(), commit: "abc".to_owned() };
        let text = report(&stamp, &args, 12);
        for part in ["# Soak of the rules, 2026-01-02", "`abc`", "--seed 7 --minutes 3", "| 12 |"] {
            assert!(text.contains(part), "{part:?} is not in\n{text}");
        }
    }
}
