//! The crates that clients link must not depend on Cedar. A workspace build enables the union of
//! the features that its members request, so only the manifests can show this.

use std::collections::{BTreeMap, BTreeSet};

use toml::{Table, Value};

use super::Violation;
use super::dependencies::{Dependency, dependencies, line_of};
use super::imports::crate_of;
use crate::tree::Tree;

const CLIENTS: &[&str] = &["api", "client", "cli"];
const CORE: &str = "ade-core";
const CEDAR: &str = "cedar-policy";

pub fn check(tree: &Tree) -> Vec<Violation> {
    // The rule on dependencies reports a manifest that is not TOML.
    let manifests: BTreeMap<&str, (&str, &str, Table)> = tree
        .ending("/Cargo.toml")
        .filter_map(|(path, text)| Some((crate_of(path)?, (path, text, text.parse().ok()?))))
        .collect();
    let mut violations: Vec<Violation> = tree.ending("Cargo.toml").filter_map(by_default).collect();
    let mut seen = BTreeSet::new();
    let mut open = CLIENTS.to_vec();
    while let Some(name) = open.pop() {
        let Some((path, text, manifest)) = manifests.get(name).filter(|_| seen.insert(name)) else {
            continue;
        };
        for dependency in dependencies(manifest).into_iter().filter(|one| !one.is_for_tests) {
            if brings_cedar(&dependency) {
                let message = format!("{} must not link Cedar", CLIENTS.join(", "));
                violations.push(Violation::new(path, line_of(text, dependency.name), message));
            }
            open.extend(dependency.name.strip_prefix("ade-"));
        }
    }
    violations
}

fn brings_cedar(dependency: &Dependency<'_>) -> bool {
    let is = |key, wanted| dependency.value.get(key).and_then(Value::as_bool) == Some(wanted);
    let mut features =
        dependency.value.get("features").and_then(Value::as_array).into_iter().flatten();
    match dependency.name {
        CEDAR => !is("optional", true),
        CORE => {
            is("default-features", true)
                || features.any(|feature| matches!(feature.as_str(), Some("cedar" | "default")))
        }
        _ => false,
    }
}

/// Checks that the workspace disables the default features of the core, as members cannot.
fn by_default((path, text): (&str, &str)) -> Option<Violation> {
    let manifest: Table = text.parse().ok()?;
    let core = manifest.get("workspace")?.get("dependencies")?.get(CORE)?;
    let is_off = core.get("default-features").and_then(Value::as_bool) == Some(false);
    (!is_off).then(|| {
        let message = format!("`{CORE}` brings Cedar without `default-features = false`");
        Violation::new(path, line_of(text, CORE), message)
    })
}

#[cfg(test)]
mod tests {
    use super::super::{assert_one, messages};
    use super::*;

    const CLI: (&str, &str) =
        ("crates/cli/Cargo.toml", "[dependencies]\nade-mcp.workspace = true\n");

    #[test]
    fn cedar_in_a_client_crate_is_found() {
        let plain = "[dependencies]\nade-core.workspace = true\n";
        let core = "[dependencies]\ncedar-policy = { workspace = true, optional = true }\n";
        let good = [("crates/api/Cargo.toml", plain), ("crates/core/Cargo.toml", core)];
        assert_eq!(messages(check, &good), Vec::<String>::new());
        for line in [
            "ade-core = { workspace = true, features = [\"cedar\"] }",
            "ade-core = { workspace = true, default-features = true }",
            "cedar-policy.workspace = true",
        ] {
            let bad = format!("[dependencies]\n{line}\n");
            let files = [("crates/api/Cargo.toml", bad.as_str())];
            assert_one(check, &files, "crates/api/Cargo.toml:2", "Cedar");
        }
    }

    #[test]
    fn cedar_behind_another_crate_is_found() {
        let bad = "[dependencies]\nade-core = { workspace = true, features = [\"cedar\"] }\n";
        let mcp = ("crates/mcp/Cargo.toml", bad);
        assert_one(check, &[CLI, mcp], "crates/mcp/Cargo.toml:2", "Cedar");
        let engine = ("crates/engine/Cargo.toml", bad);
        assert_eq!(messages(check, &[CLI, engine]), Vec::<String>::new());
        let in_tests = "[dev-dependencies]\ncedar-policy.workspace = true\n";
        let mcp = ("crates/mcp/Cargo.toml", in_tests);
        assert_eq!(messages(check, &[CLI, mcp]), Vec::<String>::new());
    }

    #[test]
    fn cedar_by_default_is_found() {
        let on = "[workspace.dependencies]\nade-core = { path = \"crates/core\" }\n";
        assert_one(check, &[("Cargo.toml", on)], "Cargo.toml:2", "default-features");
        let off = "[workspace.dependencies]\n\
            ade-core = { path = \"crates/core\", default-features = false }\n";
        assert_eq!(messages(check, &[("Cargo.toml", off)]), Vec::<String>::new());
    }
}
