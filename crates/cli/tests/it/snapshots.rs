//! Compares the output of a command with a committed snapshot. Values that differ between runs are
//! replaced by zeroes of the same length, so that columns stay in place. `ADE_UPDATE_SNAPSHOTS=1`
//! rewrites the snapshots; review them before you commit them.

use std::fs;
use std::path::PathBuf;

const UPDATE: &str = "ADE_UPDATE_SNAPSHOTS";
const PREFIXES: [&str; 6] = ["task_", "usr_", "agt_", "apr_", "req_", "lease_"];
const ID: usize = 26;
const HASH: usize = 64;

fn place(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots").join(format!("{name}.txt"))
}

#[track_caller]
pub fn same(name: &str, text: &str) {
    let text = blotted(text);
    let path = place(name);
    if std::env::var_os(UPDATE).is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, &text).unwrap();
        return;
    }
    let known = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(text, known, "{name} differs from its snapshot; {UPDATE}=1 rewrites it");
}

pub fn blotted(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if let Some((kept, skipped)) = changing(rest) {
            out.push_str(&kept);
            rest = &rest[skipped..];
        } else {
            out.push(c);
            rest = &rest[c.len_utf8()..];
        }
    }
    out
}

/// Returns the replacement for a variable value at the beginning of the text, and its length.
fn changing(text: &str) -> Option<(String, usize)> {
    let is_id = |id: &&str| id.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
    for prefix in PREFIXES {
        let id = text.strip_prefix(prefix).and_then(|rest| rest.get(..ID));
        if id.as_ref().is_some_and(is_id) {
            return Some((format!("{prefix}{}", "0".repeat(ID)), prefix.len() + ID));
        }
    }
    let is_hash = |hash: &&str| hash.chars().all(|c| c.is_ascii_hexdigit());
    let hash = text.strip_prefix("sha256:").and_then(|rest| rest.get(..HASH));
    if hash.as_ref().is_some_and(is_hash) {
        return Some((format!("sha256:{}", "0".repeat(HASH)), "sha256:".len() + HASH));
    }
    for shape in ["dddd-dd-ddTdd:dd:dd.ddddddZ", "dddd-dd-dd dd:dd:ddZ"] {
        let found = text.get(..shape.len());
        if found.is_some_and(|text| is_like(text, shape)) {
            return Some((shape.replace('d', "0"), shape.len()));
        }
    }
    None
}

fn is_like(text: &str, shape: &str) -> bool {
    text.chars().zip(shape.chars()).all(|(c, shape)| match shape {
        'd' => c.is_ascii_digit(),
        other => c == other,
    })
}
