//! The steps of a run: announces each, keeps its time and outcome, and prints one table at the
//! end. The first failure stops the run; what came before it stays in the table.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};

use crate::paint;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    Passed,
    /// Allowed on a developer's machine only; says what was missing.
    Skipped(String),
}

#[derive(Debug)]
struct Row {
    tier: &'static str,
    step: &'static str,
    took: Duration,
    /// `None` is a failure; the error itself is printed by the caller.
    outcome: Option<Outcome>,
}

#[derive(Debug, Default)]
pub struct Ledger {
    rows: Vec<Row>,
}

impl Ledger {
    pub fn step(
        &mut self,
        tier: &'static str,
        step: &'static str,
        work: impl FnOnce() -> Result<Outcome>,
    ) -> Result<()> {
        println!("{}", paint::bold(&format!("── {tier}: {step}")));
        let begun = Instant::now();
        let result = work();
        self.rows.push(Row {
            tier,
            step,
            took: begun.elapsed(),
            outcome: result.as_ref().ok().cloned(),
        });
        result.map(drop).with_context(|| format!("{tier}: {step} failed"))
    }

    /// One line per step, then one per tier if there are several.
    pub fn table(&self) -> String {
        let mut out = String::new();
        let _ = writeln!(out, "\n{:<8}{:<12}{:>9}  result", "tier", "step", "time");
        for row in &self.rows {
            let result = match &row.outcome {
                Some(Outcome::Passed) => paint::green("ok"),
                Some(Outcome::Skipped(why)) => paint::yellow(&format!("skipped: {why}")),
                None => paint::red("FAILED"),
            };
            let took = seconds(row.took);
            let _ = writeln!(out, "{:<8}{:<12}{took:>9}  {result}", row.tier, row.step);
        }
        for (tier, took) in self.tiers() {
            let _ = writeln!(out, "{tier:<8}{:<12}{:>9}", "total", seconds(took));
        }
        let all = self.rows.iter().map(|row| row.took).sum();
        let _ = write!(out, "{:<20}{:>9}", "total", seconds(all));
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
            outcome: passed.then_some(Outcome::Passed),
        }
    }

    #[test]
    fn the_table_lists_steps_then_tiers_then_the_whole() {
        let mut ledger = Ledger::default();
        ledger.rows.push(row("check", "fmt", 1500, true));
        ledger.rows.push(row("check", "tidy", 500, true));
        ledger.rows.push(row("test", "nextest", 60_000, false));
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
    fn one_tier_needs_no_sum_of_its_own() {
        let mut ledger = Ledger::default();
        ledger.rows.push(row("check", "fmt", 100, true));
        assert_eq!(ledger.table().matches("total").count(), 1);
    }

    #[test]
    fn a_failed_step_is_named_and_kept() {
        let mut ledger = Ledger::default();
        let error = ledger.step("check", "fmt", || anyhow::bail!("crooked")).unwrap_err();
        assert_eq!(format!("{error:#}"), "check: fmt failed: crooked");
        assert!(ledger.table().contains("FAILED"));
    }

    #[test]
    fn a_skipped_step_says_what_is_missing() {
        let mut ledger = Ledger::default();
        let skip = || Ok(Outcome::Skipped("no typos".to_owned()));
        ledger.step("check", "typos", skip).unwrap();
        assert!(ledger.table().contains("skipped: no typos"));
    }
}
