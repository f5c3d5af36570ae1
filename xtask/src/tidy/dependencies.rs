//! Every external crate is chosen once: its version is in the workspace manifest, with the reason
//! as a comment right above it. Members only refer to it.

use toml::{Table, Value};

use super::Violation;
use crate::tree::Tree;

const SECTION: &str = "[workspace.dependencies]";
pub const KINDS: &[&str] = &["dependencies", "dev-dependencies", "build-dependencies"];

pub fn check(tree: &Tree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (path, text) in tree.ending("Cargo.toml") {
        violations.extend(reasons(path, text));
        violations.extend(versions(path, text));
    }
    violations
}

fn reasons(path: &str, text: &str) -> Vec<Violation> {
    let mut violations = Vec::new();
    let mut above = "";
    let section = text.lines().enumerate().skip_while(|(_, line)| line.trim() != SECTION).skip(1);
    for (at, line) in section.take_while(|(_, line)| !line.starts_with('[')) {
        let entry = line.split_once('=').filter(|_| !line.starts_with(['#', ' ', '\t']));
        if let Some((name, value)) = entry {
            let is_ours = value.contains("path =");
            if !is_ours && !above.starts_with('#') {
                let message = format!("`{}` has no comment above it that says why", name.trim());
                violations.push(Violation::new(path, at + 1, message));
            }
        }
        above = line;
    }
    violations
}

/// Finds members with their own version of a dependency, which could drift from the others.
fn versions(path: &str, text: &str) -> Vec<Violation> {
    let Ok(manifest) = text.parse::<Table>() else {
        return vec![Violation::new(path, 1, "cannot be read as TOML")];
    };
    let inherits = |value: &Value| value.get("workspace").and_then(Value::as_bool) == Some(true);
    dependencies(&manifest)
        .into_iter()
        .filter(|dependency| !inherits(dependency.value))
        .map(|dependency| {
            let message = format!("`{0}` is not `{0}.workspace = true`", dependency.name);
            Violation::new(path, line_of(text, dependency.name), message)
        })
        .collect()
}

pub struct Dependency<'a> {
    pub name: &'a str,
    pub value: &'a Value,
    pub is_for_tests: bool,
}

/// Returns the dependencies of a package, including those of one platform.
pub fn dependencies(manifest: &Table) -> Vec<Dependency<'_>> {
    let platforms = manifest.get("target").and_then(Value::as_table);
    let platforms = platforms.into_iter().flat_map(Table::values).filter_map(Value::as_table);
    let tables = std::iter::once(manifest).chain(platforms);
    let mut found = Vec::new();
    for table in tables {
        for kind in KINDS {
            let entries = table.get(*kind).and_then(Value::as_table);
            found.extend(entries.into_iter().flatten().map(|(name, value)| Dependency {
                name,
                value,
                is_for_tests: *kind == "dev-dependencies",
            }));
        }
    }
    found
}

/// Returns the line where a manifest names this dependency.
pub fn line_of(text: &str, name: &str) -> usize {
    let names = |line: &str| {
        let rest = line.strip_prefix(name);
        rest.is_some_and(|rest| rest.starts_with(['.', ' ', '=']))
    };
    text.lines().position(names).map_or(1, |at| at + 1)
}

#[cfg(test)]
mod tests {
    use super::super::{assert_one, messages};
    use super::*;

    #[test]
    fn dependency_without_a_reason_above_is_found() {
        let good =
            "[workspace.dependencies]\nade-core = { path = \"x\" }\n\n# Why.\nserde = \"1\"\n";
        assert_eq!(messages(check, &[("Cargo.toml", good)]), Vec::<String>::new());
        let second = format!("{good}toml = \"1\"\n");
        assert_one(check, &[("Cargo.toml", &second)], "Cargo.toml:6", "`toml`");
        let apart =
            "[workspace.dependencies]\n# Why.\n\nserde = \"1\"\n\n[profile.dev]\ndebug = 0\n";
        assert_one(check, &[("Cargo.toml", apart)], "Cargo.toml:4", "`serde`");
    }

    #[test]
    fn dependency_over_several_lines_is_one_entry() {
        let text = "[workspace.dependencies]\n# Why.\n\
            clap = { version = \"4\", features = [\n\x20   \"x = y\",\n] }\n";
        assert_eq!(messages(check, &[("Cargo.toml", text)]), Vec::<String>::new());
    }

    #[test]
    fn dependency_version_comes_from_the_workspace() {
        let good = "[dependencies]\nserde.workspace = true\nclap = { workspace = true }\n";
        assert_eq!(messages(check, &[("crates/x/Cargo.toml", good)]), Vec::<String>::new());
        for kind in KINDS {
            let bad = format!("[package]\n[{kind}]\nserde = \"1\"\n");
            let place = "crates/x/Cargo.toml:3";
            assert_one(check, &[("crates/x/Cargo.toml", &bad)], place, "workspace = true");
        }
        let platform = "[target.'cfg(unix)'.dependencies]\nlibc = \"1\"\n";
        assert_one(check, &[("Cargo.toml", platform)], "Cargo.toml:2", "`libc`");
    }

    #[test]
    fn dependency_manifest_that_is_not_toml_is_reported() {
        assert_one(check, &[("Cargo.toml", "[oops")], "Cargo.toml:1", "TOML");
    }

    #[test]
    fn dependency_name_is_matched_as_a_whole() {
        let text = "serde_json.workspace = true\nserde = \"1\"\n";
        assert_eq!(line_of(text, "serde"), 2);
        assert_eq!(line_of(text, "clap"), 1);
    }
}
