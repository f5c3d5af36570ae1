//! Everything a merge needs, in tiers from cheap to dear. Stops at the first failure; prints
//! the time of every step and tier either way.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result};
use serde::Deserialize;

use crate::ledger::{Ledger, Outcome};
use crate::{check, schemathesis, shell, soak, test, threats, web};

/// Every kind of fault comes at least twice in so much time.
const FAILOVER_LASTS: Duration = Duration::from_mins(1);
const FAILOVER_SEED: u64 = 1;

pub fn run(root: &Path) -> Result<()> {
    let mut ledger = Ledger::default();
    let result = tiers(root, &mut ledger);
    println!("{}", ledger.table());
    result
}

fn tiers(root: &Path, ledger: &mut Ledger) -> Result<()> {
    check::steps(root, ledger)?;
    ledger.step("web", "dashboard", || web::check(root))?;
    ledger.step("test", "workspace", || test::all(root).map(|()| Outcome::Passed))?;
    ledger.step("web", "browser", || web::browser(root))?;
    ledger.step("test", "threats", || {
        threats::run(root, &threats::Args { listed: true }).map(|()| Outcome::Passed)
    })?;
    ledger
        .step("api", "schemathesis", || schemathesis::run(root, &schemathesis::Args::default()))?;
    ledger.step("faults", "failover", || {
        soak::failover_for(root, FAILOVER_SEED, FAILOVER_LASTS, false).map(|_| Outcome::Passed)
    })?;
    let benches = benches(root)?;
    if !benches.is_empty() {
        ledger.step("bench", "smoke", || smoke(root, &benches).map(|()| Outcome::Passed))?;
    }
    Ok(())
}

/// Each bench once and unmeasured: it must still run; its figures are taken elsewhere.
fn smoke(root: &Path, benches: &[String]) -> Result<()> {
    let mut command = shell::cargo(root, &["test", "--workspace", "--all-features", "--locked"]);
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
    fn only_bench_targets_are_smoked() {
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
