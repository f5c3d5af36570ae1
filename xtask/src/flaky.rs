//! `cargo xtask flaky`: repeats the tests, optionally next to a CPU hog, and reports which of them
//! failed and how often. A test that fails once in many runs depends on timing; this command finds
//! it before CI does. The report of each run is kept, so an interrupted series can be resumed.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};

use crate::junit::{self, Case};
use crate::report::Stamp;
use crate::shell;

const RUNS_MAX: i64 = 1_000;

#[derive(Debug, clap::Args)]
pub struct FlakyArgs {
    /// How often the tests are repeated
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=RUNS_MAX))]
    runs: u32,
    /// Keep every core busy meanwhile
    #[arg(long)]
    load: bool,
    /// Repeat only these tests, as a nextest filter expression: `test(locks)`
    #[arg(long)]
    filter: Option<String>,
    /// The seed of the random input of the first run; each later run takes the next
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Keep the finished runs of the same commit, filter and seed, and make only the missing ones
    #[arg(long)]
    resume: bool,
}

/// One repetition of the tests.
#[derive(Debug)]
struct Run {
    seed: u64,
    cases: Vec<Case>,
}

pub fn run(root: &Path, args: &FlakyArgs) -> Result<()> {
    ensure!(shell::find("cargo-nextest").is_some(), "cargo-nextest is not installed");
    let folder = folder(root, args)?;
    if !args.resume {
        let _ = fs::remove_dir_all(&folder);
    }
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    println!("seed {}, reports in {}", args.seed, folder.display());
    // Build first: the load must slow the tests down, not the compiler.
    shell::succeed(&mut nextest(root, args, &["--no-run"]))?;
    let _hog = args.load.then(Hog::start).transpose()?;
    let mut runs = Vec::new();
    for number in 0..args.runs {
        let seed = args.seed.wrapping_add(u64::from(number));
        let kept = folder.join(format!("run-{}.xml", number + 1));
        if !kept.is_file() {
            repeat(root, args, seed, &kept)?;
        }
        let text =
            fs::read_to_string(&kept).with_context(|| format!("cannot read {}", kept.display()))?;
        runs.push(Run { seed, cases: junit::read(&text) });
        let failed =
            runs.last().map_or(0, |run| run.cases.iter().filter(|case| case.failed).count());
        println!("run {} of {}, seed {seed}: {failed} failed", number + 1, args.runs);
    }
    let (text, failed) = report(&runs);
    println!("{text}");
    ensure!(failed == 0, "{failed} tests failed; their output is in {}", folder.display());
    Ok(())
}

/// Runs the tests once. The report of nextest is moved to `kept` only when the run is complete.
fn repeat(root: &Path, args: &FlakyArgs, seed: u64, kept: &Path) -> Result<()> {
    let written = junit::path(root)?;
    let _ = fs::remove_file(&written);
    let mut command = nextest(root, args, &["--no-fail-fast", "--status-level", "fail"]);
    let began = Instant::now();
    // The command fails if a test failed; the report has the details.
    let outcome = shell::succeed(command.env("PROPTEST_RNG_SEED", seed.to_string()));
    let text = fs::read_to_string(&written);
    let text = text.with_context(|| format!("the tests did not run: {outcome:?}"))?;
    let cases = junit::read(&text);
    ensure!(!cases.is_empty(), "no test matches the filter");
    ensure!(outcome.is_ok() || cases.iter().any(|case| case.failed), "the run was incomplete");
    println!("{} tests in {:.0} s", cases.len(), began.elapsed().as_secs_f64());
    fs::write(kept, text).with_context(|| format!("cannot write {}", kept.display()))
}

fn nextest(root: &Path, args: &FlakyArgs, more: &[&str]) -> std::process::Command {
    let mut command = shell::cargo(root, &["nextest", "run", "--workspace", "--locked"]);
    command.args(more);
    if let Some(filter) = &args.filter {
        command.args(["-E", filter]);
    }
    command
}

/// Returns a directory for this commit, filter, load and seed, so that different runs are not mixed
/// up.
fn folder(root: &Path, args: &FlakyArgs) -> Result<PathBuf> {
    let commit = Stamp::take(root)?.commit;
    let filter = args.filter.as_deref().unwrap_or("all");
    let slug: String =
        filter.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).take(80).collect();
    let load = if args.load { "load" } else { "idle" };
    let name = format!("{commit}-{slug}-{load}-{}", args.seed);
    Ok(shell::target_directory(root)?.join("flaky").join(name))
}

/// Returns the failures by run, and the number of tests that failed at least once.
fn report(runs: &[Run]) -> (String, usize) {
    let mut failures: BTreeMap<(&str, &str), Vec<String>> = BTreeMap::new();
    for (at, run) in runs.iter().enumerate() {
        for case in run.cases.iter().filter(|case| case.failed) {
            let what =
                format!("run {} (seed {}, {:.1} s)", at + 1, run.seed, case.took.as_secs_f64());
            failures.entry((&case.program, &case.name)).or_default().push(what);
        }
    }
    let tests: usize = runs.iter().map(|run| run.cases.len()).sum();
    let mut out = format!("{} runs, {tests} tests in all, {} failed\n", runs.len(), failures.len());
    for ((program, name), failed) in &failures {
        let (times, of) = (failed.len(), runs.len());
        let _ = writeln!(out, "{times} of {of}  {program} {name}: {}", failed.join(", "));
    }
    (out, failures.len())
}

/// One busy thread for each core until it is dropped. Threads end with this process, however it
/// ends, so no hog can outlive the command.
struct Hog {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<u64>>,
}

impl Hog {
    fn start() -> Result<Self> {
        let cores = thread::available_parallelism().context("cannot count the cores")?;
        let stop = Arc::new(AtomicBool::new(false));
        let busy = |_| {
            let stop = Arc::clone(&stop);
            thread::spawn(move || spin(&stop))
        };
        let threads = (0..cores.get()).map(busy).collect();
        println!("{cores} busy threads next to the tests");
        Ok(Self { stop, threads })
    }
}

impl Drop for Hog {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn spin(stop: &AtomicBool) -> u64 {
    let mut state: u64 = 1;
    while !stop.load(Ordering::Relaxed) {
        state = std::hint::black_box(state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
    }
    state
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn case(name: &str, failed: bool) -> Case {
        let took = Duration::from_millis(1_500);
        Case { program: "ade-server::it".to_owned(), name: name.to_owned(), took, failed }
    }

    #[test]
    fn report_counts_failures_by_test_and_names_the_runs() {
        let runs = [
            Run { seed: 7, cases: vec![case("locks::one", true), case("locks::two", false)] },
            Run { seed: 8, cases: vec![case("locks::one", false), case("locks::two", false)] },
            Run { seed: 9, cases: vec![case("locks::one", true), case("locks::two", false)] },
        ];
        let (text, failed) = report(&runs);
        assert_eq!(failed, 1);
        let expected = "3 runs, 6 tests in all, 1 failed\n2 of 3  ade-server::it locks::one: \
                        run 1 (seed 7, 1.5 s), run 3 (seed 9, 1.5 s)\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn report_without_failures_is_one_line() {
        let runs = [Run { seed: 1, cases: vec![case("locks::one", false)] }];
        assert_eq!(report(&runs), ("1 runs, 1 tests in all, 0 failed\n".to_owned(), 0));
    }

    #[test]
    fn hog_uses_the_cpu_and_ends_when_dropped() {
        let hog = Hog::start().unwrap();
        assert!(hog.threads.iter().all(|thread| !thread.is_finished()));
        let stop = Arc::clone(&hog.stop);
        // Dropping joins the threads, so this returns only if they end.
        drop(hog);
        assert!(stop.load(Ordering::Relaxed));
    }
}
