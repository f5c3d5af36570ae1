//! The commands as a developer meets them: a small repository on disk, the real binary, its
//! exit status and what it prints.

#![expect(clippy::unwrap_used, reason = "a test rig that cannot write has nothing to test")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The real ones: the reference of policies names some of them.
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

/// A workspace of one package without dependencies, tidy but for what a test adds.
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

/// Whether it succeeded, and all it printed.
fn xtask(root: &Path, args: &[&str]) -> (bool, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_xtask"))
        .args(args)
        .env("CARGO_MANIFEST_DIR", root.join("xtask"))
        .output()
        .unwrap();
    let mut told = String::from_utf8(output.stdout).unwrap();
    told.push_str(&String::from_utf8(output.stderr).unwrap());
    (output.status.success(), told)
}

#[test]
fn tidy_passes_a_tidy_tree_and_fails_with_the_place() {
    let root = repository("tidy");
    assert_eq!(xtask(&root, &["tidy"]), (true, String::new()));
    let parts = ["apply", "groups", "identity", "live", "models", "webhooks"];
    let parts = parts.map(|part| format!("mod {part};\n")).concat();
    write(&root, "crates/core/src/limits.rs", &format!("use std::fs;\n{parts}"));
    let (passed, told) = xtask(&root, &["tidy"]);
    assert!(!passed);
    assert!(told.contains("crates/core/src/limits.rs:1: no `//!`"), "{told}");
    assert!(told.contains("tidy found 2 places"), "{told}");
}

#[test]
fn gen_writes_what_its_check_then_accepts() {
    let root = repository("gen");
    let (passed, told) = xtask(&root, &["gen", "--check"]);
    assert!(!passed && told.contains("+| `NAME_MAX_BYTES` | 128 bytes |"), "{told}");
    assert!(!root.join("docs").exists(), "a check writes nothing");
    let (passed, told) = xtask(&root, &["gen"]);
    assert!(passed && told.contains("written  docs/reference/limits.md"), "{told}");
    assert!(xtask(&root, &["gen", "--check"]).0);
    let (passed, told) = xtask(&root, &["gen"]);
    assert!(passed && told.contains("current  docs/reference/limits.md"), "{told}");
}

#[test]
fn deny_holds_the_workspace_to_its_own_file() {
    let root = repository("deny");
    let (passed, told) = xtask(&root, &["deny"]);
    assert!(passed && told.contains("1 packages hold to deny.toml"), "{told}");
    write(&root, "deny.toml", &DENY.replace("MIT", "ISC"));
    let (passed, told) = xtask(&root, &["deny"]);
    assert!(!passed && told.contains("licence `MIT` is not allowed"), "{told}");
    write(&root, "deny.toml", &DENY.replace("wildcards = \"deny\"", "wildcards = \"warn\""));
    let (passed, told) = xtask(&root, &["deny"]);
    assert!(!passed && told.contains("cannot use deny.toml"), "{told}");
}
