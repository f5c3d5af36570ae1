//! `cargo xtask threats`: known attacks, and the tests that prove that they fail.
//! `xtask/threats.toml` lists them; this command finds and runs the tests. A threat without a test
//! is an error, except for the few that a later part of the product covers.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context as _, Result, bail, ensure};
use serde::Deserialize;

use crate::{paint, shell};

const SOURCE: &str = include_str!("../threats.toml");
/// Threats are numbered from 1 without a gap.
const COUNT: u32 = 42;
/// Browser tests of the dashboard cover the first, and the verifiable audit will cover the other.
const MAY_WAIT: [u32; 2] = [31, 34];

#[derive(Debug, clap::Args)]
pub struct ThreatsArgs {
    /// Only check that the named tests exist
    #[arg(long)]
    pub listed: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    threat: Vec<Threat>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Threat {
    pub id: u32,
    pub attack: String,
    /// The ends of test paths; one may match several tests.
    #[serde(default)]
    pub proved_by: Vec<String>,
    pub pending: Option<String>,
}

pub fn all() -> Result<Vec<Threat>> {
    read(SOURCE)
}

fn read(text: &str) -> Result<Vec<Threat>> {
    let threats = toml::from_str::<File>(text).context("cannot read the threats")?.threat;
    let ids: Vec<u32> = threats.iter().map(|threat| threat.id).collect();
    ensure!(ids.iter().copied().eq(1..=COUNT), "not T1 to T{COUNT} in their order: {ids:?}");
    for Threat { id, proved_by, pending, .. } in &threats {
        ensure!(
            pending.is_none() || MAY_WAIT.contains(id) && proved_by.is_empty(),
            "T{id} may not wait"
        );
    }
    Ok(threats)
}

pub fn run(root: &Path, args: &ThreatsArgs) -> Result<()> {
    let threats = all()?;
    let known = known_tests(root)?;
    let found = find(&threats, &known)?;
    let failed = if args.listed { BTreeSet::new() } else { run_all(root, &found)? };
    let mut unproven = 0;
    for threat in &threats {
        let tests = found.get(&threat.id).map(Vec::as_slice).unwrap_or_default();
        let broken = tests.iter().filter(|test| failed.contains(*test)).count();
        let word = match (&threat.pending, tests.len(), broken) {
            (Some(why), ..) => format!("pending: {why}"),
            (None, 0, _) => paint::red("no test"),
            (None, count, 0) if args.listed => format!("{count} tests"),
            (None, count, 0) => format!("{count} tests passed"),
            (None, count, broken) => paint::red(&format!("{broken} of {count} tests failed")),
        };
        unproven += usize::from(threat.pending.is_none() && (tests.is_empty() || broken > 0));
        println!("T{:<3} {:<62} {word}", threat.id, threat.attack);
    }
    if unproven > 0 && !args.listed {
        bail!("{unproven} threats are not proven to be answered");
    }
    Ok(())
}

/// Returns the tests of each threat, by their full paths.
fn find(threats: &[Threat], known: &BTreeSet<String>) -> Result<BTreeMap<u32, Vec<String>>> {
    let mut found = BTreeMap::new();
    for threat in threats {
        let mut tests = Vec::new();
        for name in &threat.proved_by {
            let end = format!("::{name}");
            let before = tests.len();
            tests
                .extend(known.iter().filter(|test| *test == name || test.ends_with(&end)).cloned());
            ensure!(tests.len() > before, "T{}: there is no test `{name}`", threat.id);
        }
        found.insert(threat.id, tests);
    }
    Ok(found)
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Listed {
    rust_suites: BTreeMap<String, Suite>,
}

#[derive(Deserialize)]
struct Suite {
    testcases: BTreeMap<String, serde_json::Value>,
}

fn known_tests(root: &Path) -> Result<BTreeSet<String>> {
    let args = ["nextest", "list", "--workspace", "--locked"];
    let mut command = shell::cargo(root, &args);
    command.args(["--message-format", "json"]);
    let listed: Listed = serde_json::from_str(&shell::output(&mut command)?)
        .context("cannot read the list of tests")?;
    Ok(listed.rust_suites.into_values().flat_map(|suite| suite.testcases.into_keys()).collect())
}

/// Runs all tests, and returns those that failed.
fn run_all(root: &Path, found: &BTreeMap<u32, Vec<String>>) -> Result<BTreeSet<String>> {
    let tests: BTreeSet<&String> = found.values().flatten().collect();
    let wanted: Vec<String> = tests.iter().map(|test| format!("test(={test})")).collect();
    let args = ["nextest", "run", "--workspace", "--locked"];
    let mut command = shell::cargo(root, &args);
    command.args(["--no-fail-fast", "--status-level", "fail", "--color", "never"]);
    let output = command.arg("-E").arg(wanted.join(" | ")).output()?;
    let text = String::from_utf8_lossy(&output.stderr);
    eprint!("{text}");
    let failed = failures(&text, &tests);
    ensure!(output.status.success() || !failed.is_empty(), "the tests could not be run");
    Ok(failed)
}

/// Parses lines like `FAIL [   0.886s] (12/99) ade-server::it locks::a_name`.
fn failures(output: &str, tests: &BTreeSet<&String>) -> BTreeSet<String> {
    let lines = output.lines().map(str::trim_start);
    let bad = lines.filter(|line| {
        ["FAIL", "TIMEOUT", "SIG", "ABORT"].iter().any(|word| line.starts_with(word))
    });
    let names = bad.filter_map(|line| line.split_whitespace().next_back().map(str::to_owned));
    names.filter(|name| tests.contains(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn threat(id: u32, proved_by: &[&str]) -> Threat {
        let proved_by = proved_by.iter().map(ToString::to_string).collect();
        Threat { id, attack: "an attack".to_owned(), proved_by, pending: None }
    }

    #[test]
    fn threat_list_is_complete_with_few_open_entries() {
        let threats = all().unwrap();
        let waiting: Vec<u32> =
            threats.iter().filter(|one| one.pending.is_some()).map(|one| one.id).collect();
        assert_eq!(waiting, MAY_WAIT);
    }

    #[test]
    fn threat_list_with_a_gap_or_a_forbidden_pending_is_refused() {
        assert!(read("[[threat]]\nid = 2\nattack = \"x\"").is_err());
        let all = SOURCE.replacen(
            "attack = \"Approve one's own change\"",
            "attack = \"x\"\npending = \"y\"",
            1,
        );
        assert!(read(&all).unwrap_err().to_string().contains("T1 may not wait"));
    }

    #[test]
    fn threat_test_name_matches_the_end_of_a_path() {
        let known: BTreeSet<String> =
            ["votes::a_name", "on_redis::a_name", "not_a_name"].map(str::to_owned).into();
        let found = find(&[threat(1, &["a_name"])], &known).unwrap();
        assert_eq!(found.get(&1).unwrap(), &["on_redis::a_name", "votes::a_name"]);
        let missing = find(&[threat(7, &["another"])], &known).unwrap_err().to_string();
        assert!(missing.contains("T7") && missing.contains("another"), "{missing}");
    }

    #[test]
    fn threat_failures_are_read_from_the_runner_output() {
        let (one, other) = ("votes::a_name".to_owned(), "votes::another".to_owned());
        let tests = BTreeSet::from([&one, &other]);
        let output = "        PASS [   0.1s] (1/2) ade-server::it votes::another\n        \
                    FAIL [   0.9s] (2/2) ade-server::it votes::a_name\n";
        assert_eq!(failures(output, &tests), BTreeSet::from([one.clone()]));
    }
}
