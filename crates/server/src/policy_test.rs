//! `ade-server policy test` runs the cases of a file against policy files, and prints a table of
//! the results with the rules that caused them. It reads nothing else, so that CI can run it.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use ade_core::ids::PolicyId;
use ade_core::policy::{Cases, Document, DocumentErrors, Policy};
use ade_core::policy_test::{self, CaseResult};

/// The exit code if a case differs from its expected result.
const DIFFERS: u8 = 1;
/// The exit code if a file cannot be read, so that no case ran.
const UNREADABLE: u8 = 2;

pub fn run(policies: &Path, cases: &Path) -> ExitCode {
    let (policies, cases) = match (load_policies(policies), load_cases(cases)) {
        (Ok(policies), Ok(cases)) => (policies, cases),
        (policies, cases) => {
            for problem in policies.err().into_iter().chain(cases.err()) {
                eprintln!("{problem}");
            }
            return ExitCode::from(UNREADABLE);
        }
    };
    for warning in policies.iter().filter_map(|policy| policy.document.warning()) {
        eprintln!("warning: {warning}");
    }
    let verdicts = policy_test::run(&policies, &cases);
    // The reader may have closed the pipe; the exit code is still set.
    let _ = io::stdout().write_all(table(&verdicts).as_bytes());
    let differs = verdicts.iter().any(|verdict| !verdict.differences.is_empty());
    if differs { ExitCode::from(DIFFERS) } else { ExitCode::SUCCESS }
}

/// All problems of the files, one per line.
type Problems = String;

fn load_cases(path: &Path) -> Result<Cases, Problems> {
    Cases::parse_yaml(&text_of(path)?).map_err(|errors| located(path, &errors))
}

/// Loads every policy under the path; each must have a unique name.
fn load_policies(path: &Path) -> Result<Vec<Policy>, Problems> {
    let mut policies: Vec<Policy> = Vec::new();
    let mut problems = Vec::new();
    for (number, file) in (1..).zip(files(path)?) {
        match document(&file) {
            Ok(document) if policies.iter().any(|one| one.document.name == document.name) => {
                let name = document.name;
                problems.push(format!(
                    "{}: `{name}` is already defined in another file",
                    file.display()
                ));
            }
            Ok(document) => {
                policies.push(Policy { id: PolicyId::from_u128(number), version: 1, document });
            }
            Err(problem) => problems.push(problem),
        }
    }
    if problems.is_empty() { Ok(policies) } else { Err(problems.join("\n")) }
}

fn files(path: &Path) -> Result<Vec<PathBuf>, Problems> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let unread = |error: io::Error| format!("{}: {error}", path.display());
    let mut found = Vec::new();
    for entry in fs::read_dir(path).map_err(unread)? {
        let file = entry.map_err(unread)?.path();
        let is_policy = |kind: &std::ffi::OsStr| kind == "yaml" || kind == "yml" || kind == "json";
        if file.is_file() && file.extension().is_some_and(is_policy) {
            found.push(file);
        }
    }
    if found.is_empty() {
        return Err(format!("{}: contains no .yaml, .yml or .json file", path.display()));
    }
    found.sort();
    Ok(found)
}

fn document(path: &Path) -> Result<Document, Problems> {
    let text = text_of(path)?;
    let is_json = path.extension().is_some_and(|kind| kind == "json");
    let read = if is_json { Document::parse_json(&text) } else { Document::parse_yaml(&text) };
    read.map_err(|errors| located(path, &errors))
}

fn text_of(path: &Path) -> Result<String, Problems> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

fn located(path: &Path, errors: &DocumentErrors) -> Problems {
    let lines = errors.errors.iter().map(|error| format!("{}: {error}", path.display()));
    lines.collect::<Vec<_>>().join("\n")
}

fn table(verdicts: &[CaseResult]) -> String {
    let width = verdicts.iter().map(|verdict| verdict.name.chars().count()).max().unwrap_or(0);
    let mut out = String::new();
    let mut differing = 0;
    for verdict in verdicts {
        let outcome = verdict.outcome.as_str();
        let is_ok = verdict.differences.is_empty();
        let mark = if is_ok { "ok     " } else { "DIFFERS" };
        let why = verdict.why.first().map_or("", String::as_str);
        let _ = writeln!(out, "{mark}  {:width$}  {outcome:7}  {why}", verdict.name);
        // A case that passes takes one line; a failing one lists all reasons.
        for more in verdict.why.iter().skip(1).filter(|_| !is_ok) {
            let _ = writeln!(out, "{:7}  {:width$}  {:7}  {more}", "", "", "");
        }
        for difference in &verdict.differences {
            let what = difference.what;
            let _ = writeln!(out, "         {what}: expected {}", difference.expected);
            let _ = writeln!(out, "         {:1$}  found    {2}", "", what.len(), difference.found);
        }
        if !is_ok {
            differing += 1;
            let _ = writeln!(out, "         the case is on line {}", verdict.line);
        }
    }
    let count = verdicts.len();
    let _ =
        writeln!(out, "cases: {count}, as expected: {}, different: {differing}", count - differing);
    out
}
