//! `ade-server policy test` as CI runs it: the built program, files, and what it ends with.

use std::path::PathBuf;
use std::process::{Command, Output};

const DATABASES: &str = "name: databases\nmatch: {resource_patterns: ['database:*']}\n\
                         require: [{roles: [dba], min: 2}]\n";
const SMALL: &str = r#"{"name":"small","match":{"task_types":["note.*"]},
                        "auto_approve_if":{"risk_below":20}}"#;

/// A directory that goes with the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("ade-policy-{name}-{}", std::process::id()));
        std::fs::create_dir_all(path.join("policies")).unwrap();
        Self(path)
    }

    fn with(self, name: &str, text: &str) -> Self {
        std::fs::write(self.0.join(name), text).unwrap();
        self
    }

    /// Without any setting: none is needed, and a wrong one does not matter.
    fn test(&self, policies: &str) -> Output {
        Command::new(env!("CARGO_BIN_EXE_ade-server"))
            .args(["policy", "test", "--policies", policies, "--cases", "cases.yaml"])
            .current_dir(&self.0)
            .env_clear()
            .env("ADE__SERVER__LISTEN", "not an address")
            .output()
            .unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn told(output: &Output) -> (Option<i32>, String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

const CASES: &str = "cases:\n\
    - name: a note\n  task: {type: note.add, risk: 5}\n  expect: {outcome: passes}\n\
    - name: a table\n  task: {type: sql.change, risk: 60, resources: [database:orders]}\n  \
    expect: {outcome: review, groups: [{roles: [dba], min: 2}], policies: [databases]}\n";

#[test]
fn a_directory_of_policies_that_keeps_its_word_ends_with_zero() {
    let folder = Folder::new("good")
        .with("policies/databases.yaml", DATABASES)
        .with("policies/small.json", SMALL)
        .with("policies/README.md", "no policy")
        .with("cases.yaml", CASES);
    let (code, out, errors) = told(&folder.test("policies"));
    assert_eq!((code, errors.as_str()), (Some(0), ""), "{out}");
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(
        lines,
        [
            "ok       a note   passes   nobody is asked: small",
            "ok       a table  review   2 of dba: databases",
            "2 case(s): 2 as expected, 0 not",
        ]
    );
}

#[test]
fn what_differs_is_told_with_both_sides_the_rule_and_the_line_and_ends_with_one() {
    let loose = DATABASES.replace("min: 2", "min: 1");
    let folder = Folder::new("loose").with("databases.yaml", &loose).with("cases.yaml", CASES);
    let (code, out, _) = told(&folder.test("databases.yaml"));
    assert_eq!(code, Some(1), "{out}");
    for line in [
        "DIFFERS  a note   review   1 of admin or reviewer: the default, since no policy matches",
        "         outcome: expected passes",
        "                  came     review",
        "DIFFERS  a table  review   1 of dba: databases",
        "         groups: expected 2 of dba",
        "                 came     1 of dba",
        "         the case is on line 5",
        "2 case(s): 0 as expected, 2 not",
    ] {
        assert!(out.lines().any(|told| told == line), "`{line}` is not in\n{out}");
    }
}

#[test]
fn files_that_cannot_be_read_are_named_with_the_place_and_end_with_two() {
    let folder = Folder::new("bad")
        .with("policies/one.yaml", "name: x\nrequire: [{roles: [a], min: 0}]\n")
        .with("policies/two.yaml", "name: y\n")
        .with("cases.yaml", "cases:\n- {name: a, task: {type: t}, expect: {outcome: passes}}\n");
    let (code, out, errors) = told(&folder.test("policies"));
    assert_eq!((code, out.as_str()), (Some(2), ""));
    for line in [
        "policies/one.yaml: line 2, column 29: require[0].min: expected a whole number of 1 to 50, \
         found the number 0",
        "policies/two.yaml: line 1, column 1: the policy asks nobody: give `require`, \
         `auto_approve_if`, or both",
        "cases.yaml: line 2, column 19: cases[0].task: `risk` is missing",
    ] {
        assert!(errors.lines().any(|told| told == line), "`{line}` is not in\n{errors}");
    }
    let (code, _, errors) = told(&folder.test("nowhere"));
    assert_eq!(code, Some(2));
    assert!(errors.starts_with("nowhere: "), "{errors}");
}

#[test]
fn no_policies_and_one_policy_twice_are_mistakes_not_answers() {
    let folder = Folder::new("twice").with("cases.yaml", CASES);
    let (code, _, errors) = told(&folder.test("policies"));
    assert_eq!(code, Some(2));
    assert!(errors.contains("no .yaml, .yml or .json file is in it"), "{errors}");
    let folder = folder.with("policies/a.yaml", DATABASES).with("policies/b.yaml", DATABASES);
    let (code, _, errors) = told(&folder.test("policies"));
    assert_eq!(code, Some(2));
    assert_eq!(errors.trim(), "policies/b.yaml: `databases` is in another file, too");
}
