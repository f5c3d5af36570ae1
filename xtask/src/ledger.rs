//! The steps of a run: announces each, keeps its time and outcome, and prints one table at the
//! end. The first failure stops the run; what came before it stays in the table. Steps that mostly
//! wait can run in parallel; the output of each is kept in a file and printed when it ends.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::path::Path;
use std::process::Command;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};

use crate::{paint, shell};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StepOutcome {
    Passed,
    /// Allowed on a developer's machine only; contains what was missing.
    Skipped(String),
}

#[derive(Debug)]
struct Row {
    tier: &'static str,
    step: &'static str,
    took: Duration,
    in_parallel: bool,
    /// `None` means failure; the caller prints the error itself.
    outcome: Option<StepOutcome>,
}

#[derive(Debug, Default)]
pub struct Ledger {
    rows: Vec<Row>,
    /// The time that passed, which is less than the sum of the rows if some ran in parallel.
    elapsed: Duration,
}

/// A step that can run next to others.
pub struct Parallel<'a> {
    pub tier: &'static str,
    pub step: &'static str,
    pub work: Box<dyn FnOnce() -> Result<StepOutcome> + Send + 'a>,
}

impl<'a> Parallel<'a> {
    pub fn new(
        tier: &'static str,
        step: &'static str,
        work: impl FnOnce() -> Result<StepOutcome> + Send + 'a,
    ) -> Self {
        Self { tier, step, work: Box::new(work) }
    }

    /// Runs the step with the output of its programs in `logs`.
    fn run(self, logs: &Path) -> Finished {
        let begun = Instant::now();
        let path = logs.join(format!("{}-{}.log", self.tier, self.step));
        let log = File::create(&path).with_context(|| format!("cannot write {}", path.display()));
        let result = log.and_then(|log| shell::logged_to(&log, self.work)).flatten();
        let output = fs::read(&path).unwrap_or_default();
        let row = Row {
            tier: self.tier,
            step: self.step,
            took: begun.elapsed(),
            in_parallel: true,
            outcome: result.as_ref().ok().cloned(),
        };
        Finished { row, output: String::from_utf8_lossy(&output).into_owned(), result }
    }
}

struct Finished {
    row: Row,
    output: String,
    result: Result<StepOutcome>,
}

impl Ledger {
    pub fn step(
        &mut self,
        tier: &'static str,
        step: &'static str,
        work: impl FnOnce() -> Result<StepOutcome>,
    ) -> Result<()> {
        println!("{}", paint::bold(&format!("── {tier}: {step}")));
        let begun = Instant::now();
        let result = work();
        let took = begun.elapsed();
        let outcome = result.as_ref().ok().cloned();
        self.rows.push(Row { tier, step, took, in_parallel: false, outcome });
        self.elapsed += took;
        result.map(drop).with_context(|| format!("{tier}: {step} failed"))
    }

    /// Runs all steps at the same time and waits for all of them. The output of each is printed in
    /// one piece when it ends; the error names every step that failed.
    pub fn parallel(&mut self, logs: &Path, steps: Vec<Parallel<'_>>) -> Result<()> {
        fs::create_dir_all(logs).with_context(|| format!("cannot create {}", logs.display()))?;
        let names: Vec<String> =
            steps.iter().map(|step| format!("{}: {}", step.tier, step.step)).collect();
        println!("{}", paint::bold(&format!("── in parallel: {}", names.join(", "))));
        let begun = Instant::now();
        let mut failures = Vec::new();
        thread::scope(|scope| {
            let (sender, finished) = mpsc::channel();
            for step in steps {
                let sender = sender.clone();
                scope.spawn(move || {
                    // The receiver lives until all senders are dropped.
                    let _ = sender.send(step.run(logs));
                });
            }
            drop(sender);
            for Finished { row, output, result } in finished {
                let name = format!("{}: {}", row.tier, row.step);
                let header = format!("── {name}, ended after {}", seconds(row.took));
                println!("{}\n{}", paint::bold(&header), output.trim_end());
                if let Err(error) = result {
                    println!("{} {error:#}", paint::red("error:"));
                    failures.push(format!("{name} failed: {error:#}"));
                }
                self.rows.push(row);
            }
        });
        self.elapsed += begun.elapsed();
        ensure!(failures.is_empty(), "{}", failures.join("\n"));
        Ok(())
    }

    /// Returns one line per step, then one per tier if there are several.
    pub fn table(&self) -> String {
        let mut out = String::new();
        let _ = writeln!(out, "\n{:<8}{:<12}{:>9}  result", "tier", "step", "time");
        for row in &self.rows {
            let result = match &row.outcome {
                Some(StepOutcome::Passed) => paint::green("ok"),
                Some(StepOutcome::Skipped(why)) => paint::yellow(&format!("skipped: {why}")),
                None => paint::red("FAILED"),
            };
            let took = seconds(row.took);
            let note = if row.in_parallel { " (in parallel)" } else { "" };
            let _ = writeln!(out, "{:<8}{:<12}{took:>9}  {result}{note}", row.tier, row.step);
        }
        for (tier, took) in self.tiers() {
            let _ = writeln!(out, "{tier:<8}{:<12}{:>9}", "total", seconds(took));
        }
        let _ = write!(out, "{:<20}{:>9}", "total", seconds(self.elapsed));
        out
    }

    fn tiers(&self) -> Vec<(&'static str, Duration)> {
        let mut tiers: Vec<(&'static str, Duration)> = Vec::new();
        for row in &self.rows {
            match tiers.iter_mut().find(|(tier, _)| *tier == row.tier) {
                Some((_, took)) => *took += row.took,
                None => tiers.push((row.tier, row.took)),
            }
        }
        if tiers.len() < 2 {
            tiers.clear();
        }
        tiers
    }
}

/// Runs a tool. A developer may not have it; CI installs it, so its absence is a failure there.
pub fn tool(root: &Path, name: &str, args: &[&str]) -> Result<StepOutcome> {
    let Some(program) = shell::find(name) else {
        if shell::in_ci() {
            bail!("{name} is not installed: .ci/run puts it where ADE_TOOLS points");
        }
        return Ok(StepOutcome::Skipped(format!("{name} is not installed")));
    };
    shell::succeed(Command::new(program).args(args).current_dir(root)).map(|()| StepOutcome::Passed)
}

fn seconds(took: Duration) -> String {
    format!("{:.1} s", took.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(tier: &'static str, step: &'static str, millis: u64, passed: bool) -> Row {
        Row {
            tier,
            step,
            took: Duration::from_millis(millis),
            in_parallel: false,
            outcome: passed.then_some(StepOutcome::Passed),
        }
    }

    #[test]
    fn ledger_table_lists_steps_then_tiers_then_the_total() {
        let mut ledger = Ledger::default();
        ledger.rows.push(row("check", "fmt", 1500, true));
        ledger.rows.push(row("check", "tidy", 500, true));
        ledger.rows.push(row("test", "nextest", 60_000, false));
        ledger.elapsed = Duration::from_secs(62);
        let expected = "
tier    step             time  result
check   fmt             1.5 s  ok
check   tidy            0.5 s  ok
test    nextest        60.0 s  FAILED
check   total           2.0 s
test    total          60.0 s
total                  62.0 s";
        assert_eq!(ledger.table(), expected);
    }

    #[test]
    fn ledger_table_of_one_tier_has_no_subtotal() {
        let mut ledger = Ledger::default();
        ledger.rows.push(row("check", "fmt", 100, true));
        assert_eq!(ledger.table().matches("total").count(), 1);
    }

    #[test]
    fn ledger_failed_step_is_named_and_kept() {
        let mut ledger = Ledger::default();
        let error = ledger.step("check", "fmt", || anyhow::bail!("crooked")).unwrap_err();
        assert_eq!(format!("{error:#}"), "check: fmt failed: crooked");
        assert!(ledger.table().contains("FAILED"));
    }

    fn logs(name: &str) -> std::path::PathBuf {
        std::env::temp_dir().join(format!("xtask-ledger-{name}-{}", std::process::id()))
    }

    #[test]
    fn parallel_steps_overlap_and_the_total_is_the_time_that_passed() {
        let mut ledger = Ledger::default();
        // Each step waits for the other, so running them in sequence would never end.
        let meeting = std::sync::Barrier::new(2);
        let meet = || {
            meeting.wait();
            Ok(StepOutcome::Passed)
        };
        let steps = vec![Parallel::new("web", "browser", meet), Parallel::new("api", "fuzz", meet)];
        ledger.parallel(&logs("overlap"), steps).unwrap();
        assert_eq!(ledger.table().matches("ok (in parallel)").count(), 2, "{}", ledger.table());
        assert!(ledger.elapsed >= ledger.rows.iter().map(|row| row.took).max().unwrap());
        fs::remove_dir_all(logs("overlap")).unwrap();
    }

    #[test]
    fn parallel_steps_all_end_and_every_failure_is_named() {
        let mut ledger = Ledger::default();
        let echo = || {
            shell::succeed(Command::new("/bin/echo").arg("a line of its own"))?;
            Ok(StepOutcome::Passed)
        };
        let steps = vec![
            Parallel::new("web", "unit", || anyhow::bail!("crooked")),
            Parallel::new("api", "fuzz", || anyhow::bail!("refused")),
            Parallel::new("faults", "echo", echo),
        ];
        let error = ledger.parallel(&logs("failures"), steps).unwrap_err().to_string();
        for part in ["web: unit failed: crooked", "api: fuzz failed: refused"] {
            assert!(error.contains(part), "{error}");
        }
        assert_eq!(ledger.table().matches("FAILED").count(), 2);
        let kept = fs::read_to_string(logs("failures").join("faults-echo.log")).unwrap();
        assert_eq!(kept, "a line of its own\n");
        fs::remove_dir_all(logs("failures")).unwrap();
    }

    #[test]
    fn ledger_skipped_step_names_what_is_missing() {
        let mut ledger = Ledger::default();
        let skip = || Ok(StepOutcome::Skipped("no typos".to_owned()));
        ledger.step("check", "typos", skip).unwrap();
        assert!(ledger.table().contains("skipped: no typos"));
    }
}
