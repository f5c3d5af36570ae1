//! Reads the `JUnit` report of nextest: which tests ran, how long each took and which failed. Only
//! the format of nextest is understood; text inside the report is escaped, so tags cannot be
//! forged.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;

use crate::shell;

/// The path of the report below the target directory, as set in `.config/nextest.toml`.
const PATH: &str = "nextest/default/junit.xml";

#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// The test program, as in `ade-server::it`.
    pub program: String,
    pub name: String,
    pub took: Duration,
    pub failed: bool,
}

/// Returns the path of the report of the last run.
pub fn path(root: &Path) -> Result<PathBuf> {
    Ok(shell::target_directory(root)?.join(PATH))
}

pub fn read(report: &str) -> Vec<Case> {
    let cases = report.split("<testcase ").skip(1);
    cases.filter_map(case).collect()
}

/// Parses one test, from its attributes to the beginning of the next one.
fn case(text: &str) -> Option<Case> {
    let (attributes, body) = text.split_once('>')?;
    let body = body.split("</testcase>").next().unwrap_or_default();
    let is_empty = attributes.ends_with('/');
    let seconds: f64 = attribute(attributes, "time")?.parse().ok()?;
    Some(Case {
        program: attribute(attributes, "classname")?.to_owned(),
        name: attribute(attributes, "name")?.to_owned(),
        took: Duration::try_from_secs_f64(seconds).ok()?,
        failed: !is_empty && (body.contains("<failure") || body.contains("<error")),
    })
}

fn attribute<'a>(attributes: &'a str, name: &str) -> Option<&'a str> {
    let mut rest = attributes;
    loop {
        let (key, after) = rest.split_once("=\"")?;
        let (value, after) = after.split_once('"')?;
        if key.trim() == name {
            return Some(value);
        }
        rest = after;
    }
}

/// Returns the slowest tests and the time of each test program, as two tables.
pub fn slowest(cases: &[Case], count: usize) -> String {
    let mut sorted: Vec<&Case> = cases.iter().collect();
    sorted.sort_by_key(|case| std::cmp::Reverse(case.took));
    let mut out = format!("the {} slowest of {} tests\n", count.min(cases.len()), cases.len());
    for Case { program, name, took, .. } in sorted.into_iter().take(count) {
        let _ = writeln!(out, "{:>8.1} s  {program} {name}", took.as_secs_f64());
    }
    let mut programs: BTreeMap<&str, (usize, Duration)> = BTreeMap::new();
    for case in cases {
        let (tests, took) = programs.entry(&case.program).or_default();
        *tests += 1;
        *took += case.took;
    }
    let mut programs: Vec<_> = programs.into_iter().collect();
    programs.sort_by(|(_, (_, one)), (_, (_, other))| other.cmp(one));
    out.push_str("sum by test program\n");
    for (program, (tests, took)) in programs {
        let _ = writeln!(out, "{:>8.1} s  {program} ({tests} tests)", took.as_secs_f64());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="nextest-run" tests="3" failures="1">
    <testsuite name="ade-server::it" tests="2" failures="1">
        <testcase name="votes::one" classname="ade-server::it" timestamp="2026-01-01" time="1.500">
            <failure type="test failure">assertion &lt;failed&gt;</failure>
            <system-out>name=&quot;x&quot;</system-out>
        </testcase>
        <testcase name="votes::two" classname="ade-server::it" timestamp="2026-01-01" time="0.250">
            <system-out>&lt;failure of another kind</system-out>
        </testcase>
    </testsuite>
    <testsuite name="ade-core" tests="1">
        <testcase name="rules" classname="ade-core" timestamp="2026-01-01" time="7.000"/>
    </testsuite>
</testsuites>"#;

    #[test]
    fn report_is_read_with_times_and_failures() {
        let cases = read(REPORT);
        let outcomes: Vec<_> = cases.iter().map(|case| (case.name.as_str(), case.failed)).collect();
        assert_eq!(outcomes, [("votes::one", true), ("votes::two", false), ("rules", false)]);
        assert_eq!(cases[0].took, Duration::from_millis(1_500));
        assert_eq!(cases[2].program, "ade-core");
        assert_eq!(read("no report"), []);
    }

    #[test]
    fn slowest_tests_come_first_and_programs_are_summed() {
        let text = slowest(&read(REPORT), 2);
        let expected = "the 2 slowest of 3 tests
     7.0 s  ade-core rules
     1.5 s  ade-server::it votes::one
sum by test program
     7.0 s  ade-core (1 tests)
     1.8 s  ade-server::it (2 tests)
";
        assert_eq!(text, expected);
    }
}
