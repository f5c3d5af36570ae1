//! `ade policies test`: runs test cases from a file against policy files and reports each
//! unexpected outcome with its rule. It needs no server, so CI can run it.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use ade_core::ids::PolicyId;
use ade_core::policy::{Cases, Document, DocumentErrors, Policy};
use ade_core::policy_test::{self, CaseResult};
use comfy_table::Cell;
use serde_json::{Value, json};

use crate::context::{Context, text_of};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Output, Tone};
use crate::text::visible;

pub fn test(policies: &Path, cases: &Path, cx: &Context) -> Result<Exit, Failure> {
    let read = Cases::parse_yaml(&text_of(cases)?).map_err(|errors| wrong(cases, &errors))?;
    let policies = load(policies, cases)?;
    for warning in policies.iter().filter_map(|policy| policy.document.warning()) {
        eprintln!("warning: {}", visible(&warning));
    }
    let verdicts = policy_test::run(&policies, &read);
    let values: Vec<Value> = verdicts.iter().map(value).collect();
    cx.output.show(&values, || table(&verdicts, &cx.output))?;
    let is_so = verdicts.iter().all(|verdict| verdict.differences.is_empty());
    Ok(if is_so { Exit::Done } else { Exit::NotSo })
}

fn wrong(path: &Path, errors: &DocumentErrors) -> Failure {
    Failure::new(Exit::Usage, format!("{} is not valid", path.display()))
        .detail(errors.to_string().replace('\n', "; "))
        .or_next("ade policies test --help")
}

/// Loads every policy under the path except the test case file. Policy names must be unique.
fn load(path: &Path, cases: &Path) -> Result<Vec<Policy>, Failure> {
    let mut policies: Vec<Policy> = Vec::new();
    for (number, file) in (1..).zip(files(path, cases)?) {
        let text = text_of(&file)?;
        let is_json = file.extension().is_some_and(|kind| kind == "json");
        let read = if is_json { Document::parse_json(&text) } else { Document::parse_yaml(&text) };
        let document = read.map_err(|errors| wrong(&file, &errors))?;
        if policies.iter().any(|one| one.document.name == document.name) {
            let what =
                format!("the policy name `{}` is already used in another file", document.name);
            return Err(Failure::new(Exit::Usage, what).detail(file.display().to_string()));
        }
        policies.push(Policy { id: PolicyId::from_u128(number), version: 1, document });
    }
    Ok(policies)
}

fn files(path: &Path, cases: &Path) -> Result<Vec<PathBuf>, Failure> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let unread = |error: std::io::Error| {
        Failure::new(Exit::Usage, format!("cannot read {}", path.display()))
            .detail(error.to_string())
    };
    let is_cases = |file: &Path| {
        let same = (fs::canonicalize(file), fs::canonicalize(cases));
        matches!(same, (Ok(one), Ok(other)) if one == other)
    };
    let mut found = Vec::new();
    for entry in fs::read_dir(path).map_err(unread)? {
        let file = entry.map_err(unread)?.path();
        let is_policy = |kind: &std::ffi::OsStr| kind == "yaml" || kind == "yml" || kind == "json";
        if file.is_file() && file.extension().is_some_and(is_policy) && !is_cases(&file) {
            found.push(file);
        }
    }
    if found.is_empty() {
        let what = format!("no .yaml, .yml or .json file in {}", path.display());
        return Err(Failure::new(Exit::Usage, what).or_next("ade policies test --help"));
    }
    found.sort();
    Ok(found)
}

fn value(verdict: &CaseResult) -> Value {
    let differences: Vec<Value> = verdict
        .differences
        .iter()
        .map(|one| json!({ "what": one.what, "expected": one.expected, "found": one.found }))
        .collect();
    json!({
        "name": verdict.name,
        "line": verdict.line,
        "outcome": verdict.outcome.as_str(),
        "why": verdict.why,
        "differences": differences,
    })
}

fn table(verdicts: &[CaseResult], output: &Output) -> String {
    let rows = verdicts.iter().map(|verdict| {
        let is_so = verdict.differences.is_empty();
        let (mark, tone) = if is_so { ("✓", Tone::Good) } else { ("✕", Tone::Bad) };
        vec![
            output.cell(mark, tone),
            Cell::new(visible(&verdict.name)),
            Cell::new(verdict.line),
            Cell::new(verdict.outcome.as_str()),
        ]
    });
    let mut out = output.table(&["", "CASE", "LINE", "OUTCOME"], rows.collect());
    for verdict in verdicts.iter().filter(|verdict| !verdict.differences.is_empty()) {
        let _ = writeln!(out, "\n{}", output.paint.bold(&visible(&verdict.name)));
        for one in &verdict.differences {
            let (expected, found) = (visible(&one.expected), visible(&one.found));
            let _ = writeln!(out, "  {}: expected {expected}, found {found}", one.what);
        }
        for why in &verdict.why {
            let _ = writeln!(out, "  because {}", visible(why));
        }
    }
    out
}
