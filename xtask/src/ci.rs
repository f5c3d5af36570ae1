//! Everything that a merge needs, in tiers from cheap to expensive. Stops at the first failure, and
//! prints the time of every step and tier in any case.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result};
use serde::Deserialize;

use crate::ledger::{Ledger, Parallel, StepOutcome};
use crate::{check, sbom, schemathesis, shell, soak, test, threats, web};

/// Long enough for every kind of fault to occur at least twice.
const FAILOVER_LASTS: Duration = Duration::from_mins(1);
const FAILOVER_SEED: u64 = 1;

pub fn run(root: &Path) -> Result<()> {
    let mut ledger = Ledger::default();
    let result = tiers(root, &mut ledger);
    println!("{}", ledger.table());
    result
}

fn tiers(root: &Path, ledger: &mut Ledger) -> Result<()> {
    let logs = shell::target_directory(root)?.join("ci-logs");
    check::quick(root, ledger)?;
    if !shell::is_built() {
        // Near its end clippy uses one core, because the topmost crates wait for each other.
        ledger.parallel(
            &logs,
            vec![
                Parallel::new("check", "clippy", || check::clippy(root)),
                Parallel::new("web", "dashboard", || web::check(root)),
            ],
        )?;
    }
    ledger.step("release", "sbom", || sbom::run(root).map(|()| StepOutcome::Passed))?;
    ledger.step("test", "workspace", || test::all(root).map(|()| StepOutcome::Passed))?;
    ledger.step("test", "threats", || {
        threats::run(root, &threats::ThreatsArgs { listed: true }).map(|()| StepOutcome::Passed)
    })?;
    // The browser tests run alone, because they measure response times of pages.
    ledger.step("web", "browser", || web::browser(root))?;
    // The failover soak mostly waits for Redis, and asserts order and counts, not milliseconds.
    ledger.parallel(
        &logs,
        vec![
            Parallel::new("api", "schemathesis", || {
                schemathesis::run(root, &schemathesis::SchemathesisArgs::default())
            }),
            Parallel::new("faults", "failover", || {
                soak::failover_for(root, FAILOVER_SEED, FAILOVER_LASTS, false)
                    .map(|_| StepOutcome::Passed)
            }),
        ],
    )?;
    let benches = benches(root)?;
    if !benches.is_empty() {
        ledger.step("bench", "smoke", || smoke(root, &benches).map(|()| StepOutcome::Passed))?;
    }
    Ok(())
}

/// Runs each bench once without measuring, to show that it still works.
fn smoke(root: &Path, benches: &[String]) -> Result<()> {
    let mut command = shell::cargo(root, &["test", "--workspace", "--locked"]);
    for bench in benches {
        command.args(["--bench", bench]);
    }
    shell::succeed(&mut command)
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    targets: Vec<Target>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
    kind: Vec<String>,
}

fn benches(root: &Path) -> Result<Vec<String>> {
    let args = ["metadata", "--locked", "--no-deps", "--format-version", "1"];
    names_of_benches(&shell::output(&mut shell::cargo(root, &args))?)
}

fn names_of_benches(metadata: &str) -> Result<Vec<String>> {
    let metadata: Metadata =
        serde_json::from_str(metadata).context("cannot read what cargo metadata says")?;
    let targets = metadata.packages.into_iter().flat_map(|package| package.targets);
    Ok(targets
        .filter(|target| target.kind.iter().any(|kind| kind == "bench"))
        .map(|target| target.name)
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bench_smoke_selects_bench_targets_only() {
        let metadata = r#"{"packages": [
            {"targets": [
                {"name": "ade_core", "kind": ["lib"]},
                {"name": "rules", "kind": ["bench"]}
            ]},
            {"targets": [{"name": "xtask", "kind": ["bin"]}]}
        ]}"#;
        assert_eq!(names_of_benches(metadata).unwrap(), ["rules"]);
        assert!(names_of_benches("{}").is_err());
    }
}
