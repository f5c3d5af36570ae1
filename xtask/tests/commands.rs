//! The commands as a developer uses them: a small repository on disk, the real binary, its exit
//! status and its output.

#![expect(clippy::unwrap_used, reason = "a test rig that cannot write has nothing to test")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The real limits, because the policy reference names some of them.
const LIMITS: &str = include_str!("../../crates/core/src/limits.rs");
const PARTS_OF_LIMITS: [(&str, &str); 6] = [
    ("crates/core/src/limits/apply.rs", include_str!("../../crates/core/src/limits/apply.rs")),
    ("crates/core/src/limits/groups.rs", include_str!("../../crates/core/src/limits/groups.rs")),
    (
        "crates/core/src/limits/identity.rs",
        include_str!("../../crates/core/src/limits/identity.rs"),
    ),
    ("crates/core/src/limits/live.rs", include_str!("../../crates/core/src/limits/live.rs")),
    ("crates/core/src/limits/models.rs", include_str!("../../crates/core/src/limits/models.rs")),
    (
        "crates/core/src/limits/webhooks.rs",
        include_str!("../../crates/core/src/limits/webhooks.rs"),
    ),
];
const POLICY: &str = "name: sample\nrequire: [{roles: [dba]}]\n";
const DENY: &str = r#"
[graph]
targets = ["x86_64-unknown-linux-gnu"]
[licenses]
allow = ["MIT"]
include-dev = true
unused-allowed-license = "allow"
[bans]
multiple-versions = "allow"
wildcards = "deny"
allow-wildcard-paths = true
deny = []
[sources]
unknown-registry = "deny"
unknown-git = "deny"
"#;

/// Creates a workspace of one package without dependencies, tidy except for what a test adds.
fn repository(name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&root);
    let package = "[package]\nname = \"ade-core\"\nversion = \"0.1.0\"\nlicense = \"MIT\"\n";
    let lock = "version = 4\n\n[[package]]\nname = \"ade-core\"\nversion = \"0.1.0\"\n";
    for (path, text) in [
        ("Cargo.toml", "[workspace]\nmembers = [\"crates/core\"]\n"),
        ("Cargo.lock", lock),
        ("crates/core/Cargo.toml", package),
        ("crates/core/src/lib.rs", "//! Core.\n\npub mod limits;\n"),
        ("crates/core/src/limits.rs", LIMITS),
        ("crates/core/tests/policies/production-databases.yaml", POLICY),
        ("crates/server/config.default.toml", "# Where.\n[server]\n# Here.\nlisten = \"a\"\n"),
        ("deny.toml", DENY),
        ("README.md", "# Sample\n"),
    ]
    .into_iter()
    .chain(PARTS_OF_LIMITS)
    {
        write(&root, path, text);
    }
    root
}

fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Runs xtask and returns whether it succeeded and everything it printed.
fn xtask(root: &Path, args: &[&str]) -> (bool, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_xtask"))
        .args(args)
        .env("CARGO_MANIFEST_DIR", root.join("xtask"))
        .output()
        .unwrap();
    let mut text = String::from_utf8(output.stdout).unwrap();
    text.push_str(&String::from_utf8(output.stderr).unwrap());
    (output.status.success(), text)
}

#[test]
fn tidy_reports_the_place_of_a_violation() {
    let root = repository("tidy");
    write(&root, "xtask/ratchet.toml", "");
    assert_eq!(xtask(&root, &["tidy", "--tighten"]), (true, String::new()));
    assert_eq!(xtask(&root, &["tidy"]), (true, String::new()));
    write(&root, "crates/core/src/limits.rs", &format!("use std::fs;\n{LIMITS}"));
    let (passed, output) = xtask(&root, &["tidy"]);
    assert!(!passed);
    assert!(output.contains("crates/core/src/limits.rs:1: no `//!`"), "{output}");
    assert!(output.contains("tidy found 2 violations"), "{output}");
}

#[test]
fn gen_writes_what_its_check_accepts() {
    let root = repository("gen");
    let (passed, output) = xtask(&root, &["gen", "--check"]);
    assert!(!passed && output.contains("+| `NAME_MAX_BYTES` | 128 bytes |"), "{output}");
    assert!(!root.join("docs").exists(), "a check writes nothing");
    let (passed, output) = xtask(&root, &["gen"]);
    assert!(passed && output.contains("written  docs/reference/limits.md"), "{output}");
    assert!(xtask(&root, &["gen", "--check"]).0);
    let (passed, output) = xtask(&root, &["gen"]);
    assert!(passed && output.contains("current  docs/reference/limits.md"), "{output}");
}

#[test]
fn deny_checks_the_workspace_against_deny_toml() {
    let root = repository("deny");
    let (passed, output) = xtask(&root, &["deny"]);
    assert!(passed && output.contains("1 packages hold to deny.toml"), "{output}");
    write(&root, "deny.toml", &DENY.replace("MIT", "ISC"));
    let (passed, output) = xtask(&root, &["deny"]);
    assert!(!passed && output.contains("licence `MIT` is not allowed"), "{output}");
    write(&root, "deny.toml", &DENY.replace("wildcards = \"deny\"", "wildcards = \"warn\""));
    let (passed, output) = xtask(&root, &["deny"]);
    assert!(!passed && output.contains("cannot use deny.toml"), "{output}");
}

/// Runs the script that `.ci/run` calls before `npm ci`, on a lockfile with this entry.
fn npm_hashes(name: &str, entry: &str) -> (bool, String) {
    let root = repository(name);
    let text = format!(r#"{{"packages": {{"": {{"name": "x"}}, "node_modules/a": {entry}}}}}"#);
    write(&root, "package-lock.json", &text);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../.ci/npm_hashes.py");
    let output =
        Command::new("python3").arg(script).arg(root.join("package-lock.json")).output().unwrap();
    let mut text = String::from_utf8(output.stdout).unwrap();
    text.push_str(&String::from_utf8(output.stderr).unwrap());
    (output.status.success(), text)
}

#[test]
fn npm_lockfile_entry_without_a_hash_is_refused() {
    let good = r#"{"version": "1.0.0", "integrity": "sha512-AAAA"}"#;
    let (passed, output) = npm_hashes("npm-hashes", good);
    assert!(passed && output.contains("1 packages, each with its hash"), "{output}");
    for (entry, problem) in [
        (r#"{"version": "1.0.0", "optional": true}"#, "has no SHA-512 hash"),
        (r#"{"version": "1.0.0", "integrity": "sha1-AAAA"}"#, "has no SHA-512 hash"),
        (
            r#"{"version": "1.0.0", "integrity": "sha512-AAAA", "resolved": "git+ssh://x"}"#,
            "is not from the registry",
        ),
    ] {
        let (passed, output) = npm_hashes("npm-hashes", entry);
        assert!(!passed && output.contains("node_modules/a"), "{output}");
        assert!(output.contains(problem) && output.contains("npm view"), "{output}");
    }
}

#[test]
fn python_tools_are_installed_with_hashes_only() {
    let run = include_str!("../../.ci/run");
    let installs: Vec<&str> = run.split("/pip\" install").skip(1).collect();
    assert_eq!(installs.len(), 1, "every installation is checked here");
    assert!(installs[0].trim_start().starts_with("--quiet"));
    assert!(installs[0].contains("--require-hashes --requirement \"$wanted\""));
    let locked = include_str!("../../.ci/requirements.txt");
    for line in include_str!("../../.ci/requirements.in").lines() {
        let is_package = !line.is_empty() && !line.starts_with('#');
        assert!(!is_package || locked.contains(line), "{line}: run .ci/lock_tools.py");
    }
}

const ADVISORY: &str = r#"```toml
[advisory]
id = "RUSTSEC-2026-0001"
package = "parser"
date = "2026-01-02"

[versions]
patched = [">= 1.2.0"]
```

# Stack overflow
"#;

fn git(folder: &Path, args: &[&str]) {
    let author = ["-c", "user.name=a", "-c", "user.email=a@example.com"];
    let output = Command::new("git").arg("-C").arg(folder).args(author).args(args).output();
    assert!(output.as_ref().unwrap().status.success(), "{output:?}");
}

#[test]
fn advisory_for_a_locked_crate_fails_until_an_exception() {
    let root = repository("advisories");
    write(&root, "xtask/advisories/exceptions.toml", "");
    let lock = fs::read_to_string(root.join("Cargo.lock")).unwrap();
    let locked = |version: &str| {
        let package = format!("name = \"parser\"\nversion = \"{version}\"\nsource = \"r\"\n");
        write(&root, "Cargo.lock", &format!("{lock}\n[[package]]\n{package}"));
    };
    locked("1.1.9");
    let database = root.join("database");
    write(&database, "crates/parser/RUSTSEC-2026-0001.md", ADVISORY);
    let renew = ["advisories", "--renew", database.to_str().unwrap()];
    git(&database, &["init", "--quiet"]);
    assert!(!xtask(&root, &renew).0, "the checkout has no commit");
    git(&database, &["add", "."]);
    git(&database, &["commit", "--quiet", "--message", "a"]);

    let (passed, output) = xtask(&root, &renew);
    assert!(!passed && output.contains("added    RUSTSEC-2026-0001 parser: Stack"), "{output}");
    let (passed, output) = xtask(&root, &["advisories"]);
    assert!(!passed && output.contains("parser 1.1.9: RUSTSEC-2026-0001"), "{output}");
    assert!(output.contains("with a reason and an end date"), "{output}");

    let exception = "[[exception]]\nid = \"RUSTSEC-2026-0001\"\nreason = \"unused\"\n";
    for (until, is_over) in [("2999-01-01", false), ("2020-01-01", true)] {
        let text = format!("{exception}until = \"{until}\"\n");
        write(&root, "xtask/advisories/exceptions.toml", &text);
        let (passed, output) = xtask(&root, &["advisories"]);
        assert!(passed && output.contains("warning:") && output.contains(until), "{output}");
        assert_eq!(xtask(&root, &["advisories", "--strict"]).0, !is_over, "{until}");
    }
    write(&root, "xtask/advisories/exceptions.toml", "");
    locked("1.2.0");
    let (passed, output) = xtask(&root, &["advisories"]);
    assert!(passed && output.contains("1 packages have no open advisory"), "{output}");
}

#[test]
fn advisory_renewal_from_changed_files_is_refused() {
    let root = repository("advisories-changed");
    let database = root.join("database");
    write(&database, "crates/parser/RUSTSEC-2026-0001.md", ADVISORY);
    git(&database, &["init", "--quiet"]);
    let renew = ["advisories", "--renew", database.to_str().unwrap()];
    let (passed, output) = xtask(&root, &renew);
    assert!(!passed && output.contains("differs from its commit"), "{output}");
    assert!(!root.join("xtask/advisories/snapshot.toml").exists());
}
