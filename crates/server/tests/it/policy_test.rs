//! `ade-server policy test` as CI runs it: the built program with files, its output and exit code.

use std::path::PathBuf;
use std::process::{Command, Output};

const DATABASES: &str = "name: databases\nmatch: {resource_patterns: ['database:*']}\n\
                         require: [{roles: [dba], min: 2}]\n";
const SMALL: &str = r#"{"name":"small","match":{"task_types":["note.*"]},
                        "auto_approve_if":{"risk_below":20}}"#;

/// A directory that is removed after the test.
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

    /// Runs the command without settings. It needs none, and ignores a wrong one.
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

/// Returns the exit code, the standard output and the standard error.
fn parts(output: &Output) -> (Option<i32>, String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

const CASES: &str = "cases:\n\
    - name: a note\n  task: {type: note.add, risk: 5}\n  expect: {outcome: passes}\n\
    - name: a table\n  task: {type: sql.change, risk: 60, resources: [database:orders]}\n  \
    expect: {outcome: review, groups: [{roles: [dba], min: 2}], policies: [databases]}\n";

#[test]
fn policy_test_with_matching_policies_exits_with_zero() {
    let folder = Folder::new("good")
        .with("policies/databases.yaml", DATABASES)
        .with("policies/small.json", SMALL)
        .with("policies/README.md", "no policy")
        .with("cases.yaml", CASES);
    let (code, out, errors) = parts(&folder.test("policies"));
    let warning = "warning: policy `small` matches only by task type and tags, which the author of \
                   a task chooses: match resources or risk as well\n";
    assert_eq!((code, errors.as_str()), (Some(0), warning), "{out}");
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(
        lines,
        [
            "ok       a note   passes   no approval is needed: small",
            "ok       a table  review   2 of dba: databases",
            "cases: 2, as expected: 2, different: 0",
        ]
    );
}

#[test]
fn policy_test_differences_are_explained_and_exit_with_one() {
    let loose = DATABASES.replace("min: 2", "min: 1");
    let folder = Folder::new("loose").with("databases.yaml", &loose).with("cases.yaml", CASES);
    let (code, out, _) = parts(&folder.test("databases.yaml"));
    assert_eq!(code, Some(1), "{out}");
    for line in [
        "DIFFERS  a note   review   1 of admin or reviewer: the default, because no policy matches",
        "         outcome: expected passes",
        "                  found    review",
        "DIFFERS  a table  review   1 of dba: databases",
        "         groups: expected 2 of dba",
        "                 found    1 of dba",
        "         the case is on line 5",
        "cases: 2, as expected: 0, different: 2",
    ] {
        assert!(out.lines().any(|found| found == line), "`{line}` is not in\n{out}");
    }
}

#[test]
fn policy_test_invalid_files_are_named_and_exit_with_two() {
    let folder = Folder::new("bad")
        .with("policies/one.yaml", "name: x\nrequire: [{roles: [a], min: 0}]\n")
        .with("policies/two.yaml", "name: y\n")
        .with("cases.yaml", "cases:\n- {name: a, task: {type: t}, expect: {outcome: passes}}\n");
    let (code, out, errors) = parts(&folder.test("policies"));
    assert_eq!((code, out.as_str()), (Some(2), ""));
    for line in [
        "policies/one.yaml: line 2, column 29: require[0].min: expected a whole number from 1 to \
         50, found the number 0",
        "policies/two.yaml: line 1, column 1: the policy requires no approval: give `require`, \
         `auto_approve_if`, or both",
        "cases.yaml: line 2, column 19: cases[0].task: `risk` is missing",
    ] {
        assert!(errors.lines().any(|found| found == line), "`{line}` is not in\n{errors}");
    }
    let (code, _, errors) = parts(&folder.test("nowhere"));
    assert_eq!(code, Some(2));
    assert!(errors.starts_with("nowhere: "), "{errors}");
}

#[test]
fn policy_test_without_or_with_duplicate_policies_fails() {
    let folder = Folder::new("twice").with("cases.yaml", CASES);
    let (code, _, errors) = parts(&folder.test("policies"));
    assert_eq!(code, Some(2));
    assert!(errors.contains("contains no .yaml, .yml or .json file"), "{errors}");
    let folder = folder.with("policies/a.yaml", DATABASES).with("policies/b.yaml", DATABASES);
    let (code, _, errors) = parts(&folder.test("policies"));
    assert_eq!(code, Some(2));
    assert_eq!(errors.trim(), "policies/b.yaml: `databases` is already defined in another file");
}
