//! Tests that are too long for CI, bounded in minutes and repeatable by seed. `rules` repeats the
//! core's tests with new random input in every round; `locks` compares the scripts in Redis with
//! the core's model; `fence` tests the holds in PostgreSQL with holders that are too late;
//! `deadlocks` has agents block each other; `failover` breaks the servers below them. A success
//! writes a report.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use clap::ValueEnum;

use crate::report::{self, Stamp};
use crate::shell;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Name {
    /// The properties of the core with new random input
    Rules,
    /// The lock scripts compared with the model, on a real cluster with virtual time
    Locks,
    /// Holders of locks that commit, pause and are fenced, on a real PostgreSQL
    Fence,
    /// Agents that deadlock, three at a time, on a real cluster in real time
    Deadlocks,
    /// Holders in separate processes while masters are killed, flushed and moved
    Failover,
}

#[derive(Debug, clap::Args)]
pub struct SoakArgs {
    name: Name,
    /// The seed of the first round; each later round takes the next
    #[arg(long)]
    seed: u64,
    /// No round begins after this
    #[arg(long, required_unless_present = "seconds", default_value_t = 0)]
    minutes: u64,
    /// Used instead of minutes, where a minute is too long
    #[arg(long, conflicts_with = "minutes")]
    seconds: Option<u64>,
    /// For `locks`: the number of seeds, if time allows
    #[arg(long, default_value_t = u64::MAX)]
    rounds: u64,
    /// For `failover`: run the control that must be caught, and write no report
    #[arg(long)]
    control: bool,
}

impl SoakArgs {
    fn lasts(&self) -> Duration {
        Duration::from_secs(self.seconds.unwrap_or(self.minutes * 60))
    }
}

pub fn run(root: &Path, args: &SoakArgs) -> Result<()> {
    match args.name {
        Name::Rules => rules(root, args),
        Name::Locks => locks(root, args),
        Name::Fence => fence(root, args),
        Name::Deadlocks => deadlocks(root, args),
        Name::Failover => failover(root, args),
    }
}

fn rules(root: &Path, args: &SoakArgs) -> Result<()> {
    let end = Instant::now() + args.lasts();
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
    let figures = [("rounds, each with its own seed", rounds.to_string())];
    report::keep(root, "soak-rules", &stamp, &report(&stamp, "the rules", "rules", args, &figures))
}

fn locks(root: &Path, args: &SoakArgs) -> Result<()> {
    let figures = figures_of(root, args, &["--lib"], "lock::tests::conformance::soak", "seeds ")?;
    let figures = [
        ("seeds, each in its own namespace", figure(&figures, 1)?),
        ("steps, each compared by answer, events and all tables", figure(&figures, 3)?),
    ];
    let stamp = Stamp::take(root)?;
    let text = report(&stamp, "the lock scripts against the model", "locks", args, &figures);
    report::keep(root, "soak-locks", &stamp, &text)
}

fn fence(root: &Path, args: &SoakArgs) -> Result<()> {
    let figures = figures_of(root, args, &["--test", "it"], "locks_fence::soak", "commits ")?;
    let figures = [
        ("commits under a registered hold", figure(&figures, 1)?),
        ("transactions that were fenced", figure(&figures, 3)?),
        ("registrations with a stale token", figure(&figures, 5)?),
        ("stale commits that a check without a lock allowed", figure(&figures, 7)?),
        ("commits in that control", figure(&figures, 9)?),
    ];
    let stamp = Stamp::take(root)?;
    let text = report(&stamp, "fences in PostgreSQL", "fence", args, &figures);
    report::keep(root, "soak-fence", &stamp, &text)
}

fn deadlocks(root: &Path, args: &SoakArgs) -> Result<()> {
    let figures = figures_of(root, args, &["--lib"], "lock::tests::deadlocks::soak", "deadlocks ")?;
    let figures = [
        ("deadlocks of three, of 99 agents at once", figure(&figures, 1)?),
        ("until the slowest of them was free or notified, in ms", figure(&figures, 3)?),
        ("victims that were not the youngest, or in no deadlock", "0".to_owned()),
    ];
    let stamp = Stamp::take(root)?;
    let text = report(&stamp, "deadlocks", "deadlocks", args, &figures);
    report::keep(root, "soak-deadlocks", &stamp, &text)
}

fn failover(root: &Path, args: &SoakArgs) -> Result<()> {
    let printed = failover_for(root, args.seed, args.lasts(), args.control)?;
    if args.control {
        println!("{printed}");
        return Ok(());
    }
    let words: Vec<String> = printed.split(' ').map(str::to_owned).collect();
    let (_, gaps) = printed.split_once(" gaps ").context("the soak printed no gaps")?;
    let mut rows = vec![
        ("leases granted", figure(&words, 1)?),
        ("holds registered", figure(&words, 3)?),
        ("commits under a registered hold", figure(&words, 5)?),
        ("transactions that were fenced", figure(&words, 7)?),
        ("grants by Redis next to a live hold, refused by PostgreSQL", figure(&words, 9)?),
        ("stale commits", figure(&words, 11)?),
        ("registered holds lost before their deadline", figure(&words, 13)?),
        ("waiters without an answer", figure(&words, 15)?),
        ("waiters that were overtaken", figure(&words, 17)?),
    ];
    let worst = worst_gaps(gaps);
    rows.extend(worst.iter().map(|(name, text)| (name.as_str(), text.clone())));
    let stamp = Stamp::take(root)?;
    let text = report(&stamp, "locks while servers fail", "failover", args, &rows);
    report::keep(root, "soak-failover", &stamp, &text)
}

/// Runs the scenario and returns its line of figures, or an error if a guarantee was violated.
pub fn failover_for(root: &Path, seed: u64, lasts: Duration, control: bool) -> Result<String> {
    let mut command = Command::new(shell::programs(root)?.join("ade-bench"));
    command.arg("failover").current_dir(root);
    command.args(["--seed", &seed.to_string(), "--seconds", &lasts.as_secs().to_string()]);
    if control {
        command.arg("--plain");
    }
    let printed = shell::output(&mut command)?;
    let line = printed.lines().rev().find(|line| line.starts_with("grants "));
    Ok(line.context("the soak printed nothing")?.to_owned())
}

/// Parses `kill:4012ms flush:80ms …` and returns, for each fault, how often it occurred and how
/// long it took until leases were granted again: the 99th percentile and the maximum.
fn worst_gaps(gaps: &str) -> BTreeMap<String, String> {
    let mut all: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    for gap in gaps.split_whitespace() {
        let parts = gap.strip_suffix("ms").and_then(|gap| gap.split_once(':'));
        if let Some((name, Ok(ms))) = parts.map(|(name, ms)| (name, ms.parse())) {
            all.entry(name).or_default().push(ms);
        }
    }
    // Without a master no lease can be granted, and the time that Redis takes to elect one is not
    // ours.
    let ours = all.iter().filter(|(name, _)| **name != "kill");
    let ours: Vec<u64> = ours.flat_map(|(_, times)| times).copied().collect();
    let all = all.into_iter().map(|(name, times)| (format!("`{name}`"), times));
    let rows = all.chain([("all but `kill`".to_owned(), ours)]).map(|(name, mut times)| {
        times.sort_unstable();
        let nearly_all = (times.len() * 99).div_ceil(100).saturating_sub(1);
        let late = times.get(nearly_all).copied().unwrap_or_default();
        let worst = times.last().copied().unwrap_or_default();
        let count = times.len();
        let name = format!("{name}, {count} times: ms until leases were granted again");
        (name, format!("p99 {late}, at most {worst}"))
    });
    rows.collect()
}

/// Returns the words of the last line with this beginning, out of the output of an ignored test.
fn figures_of(
    root: &Path,
    args: &SoakArgs,
    target: &[&str],
    test: &str,
    beginning: &str,
) -> Result<Vec<String>> {
    let mut command = shell::cargo(root, &["test", "--quiet", "--workspace", "--locked"]);
    command
        .args(target)
        .args(["--", "--ignored", "--exact", "--nocapture", test])
        .env("ADE_SOAK_SEED", args.seed.to_string())
        .env("ADE_SOAK_ROUNDS", args.rounds.to_string())
        .env("ADE_SOAK_SECONDS", args.lasts().as_secs().to_string());
    let printed = shell::output(&mut command)?;
    let last = printed.lines().rev().find(|line| line.starts_with(beginning));
    Ok(last.context("the soak printed nothing")?.split(' ').map(str::to_owned).collect())
}

fn figure(words: &[String], at: usize) -> Result<String> {
    words.get(at).cloned().context("the soak printed too few figures")
}

fn round(root: &Path, seed: u64) -> Result<()> {
    let mut command = shell::cargo(root, &["test", "--quiet", "--package", "ade-core", "--lib"]);
    command.env("PROPTEST_RNG_SEED", seed.to_string());
    shell::output(&mut command).map(drop)
}

fn report(
    stamp: &Stamp,
    of: &str,
    name: &str,
    args: &SoakArgs,
    figures: &[(&str, String)],
) -> String {
    let Stamp { day, commit } = stamp;
    let lasts = match args.seconds {
        Some(seconds) => format!("--seconds {seconds}"),
        None => format!("--minutes {}", args.minutes),
    };
    let rows: Vec<String> =
        figures.iter().map(|(figure, value)| format!("| {figure} | {value} |")).collect();
    format!(
        "# Soak of {of}, {day}\n\n\
         Repeat it on commit `{commit}` with\n\
         `cargo xtask soak {name} --seed {} {lasts}`.\n\n\
         | figure | value |\n|---|---|\n{}\n\
         | failures | 0 |\n",
        args.seed,
        rows.join("\n"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn soak_report_has_the_longest_gap_of_each_fault() {
        let worst = worst_gaps("kill:4012ms flush:80ms kill:3900ms flush:90ms");
        let rows: Vec<String> = worst.iter().map(|(name, ms)| format!("{name} {ms}")).collect();
        let expected = [("`flush`, 2 times", "at most 90"), ("`kill`, 2 times", "at most 4012")];
        for (row, (begins, ends)) in rows.iter().zip(expected) {
            assert!(row.starts_with(begins) && row.ends_with(ends), "{row}");
        }
        assert!(rows[2].starts_with("all but `kill`, 2 times"), "{rows:?}");
    }

    #[test]
    fn soak_report_names_the_command_to_repeat_it() {
        let args = SoakArgs {
            name: Name::Rules,
            seed: 7,
            minutes: 3,
            seconds: None,
            rounds: u64::MAX,
            control: false,
        };
        let stamp = Stamp { day: "2026-01-02".to_owned(), commit: "abc".to_owned() };
        let text = report(&stamp, "the rules", "rules", &args, &[("rounds", "12".to_owned())]);
        for part in ["# Soak of the rules, 2026-01-02", "`abc`", "--seed 7 --minutes 3", "| 12 |"] {
            assert!(text.contains(part), "{part:?} is not in\n{text}");
        }
    }
}
