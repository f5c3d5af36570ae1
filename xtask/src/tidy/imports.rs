//! The direction of dependencies. Manifests and `use` are both checked against the table below, so
//! neither a dependency nor a path can point the wrong way.

use toml::Table;

use super::dependencies::{dependencies, line_of};
use super::size::is_test_file;
use super::source::Source;
use super::{Violation, paths};
use crate::tree::{Tree, directory_of};

/// Each crate with the workspace crates it may use. Tests may use [`TEST_CRATES`] too, except those
/// of the core, which need no server.
const LAYERS: &[(&str, &[&str])] = &[
    ("core", &[]),
    ("api", &["core"]),
    ("store", &["core"]),
    ("coord", &["core"]),
    ("lock-model", &["core"]),
    // The receipt has no dependencies on other crates, because external targets use it.
    ("receipt", &[]),
    ("engine", &["core", "api", "store", "coord", "receipt"]),
    ("client", &["core", "api"]),
    // The tools for agents work with any client; the server and the CLI bring their own.
    ("mcp", &["core", "api", "client"]),
    // The tests need the receipt, because they play the targets.
    ("server", &["core", "api", "engine", "client", "mcp", "receipt"]),
    ("cli", &["core", "api", "client", "mcp"]),
    ("testkit", &["core", "store", "coord", "receipt"]),
    ("bench", &["core", "api", "store", "coord", "engine", "server", "testkit"]),
    ("xtask", &["core", "api", "store", "coord", "engine", "server", "client", "cli", "testkit"]),
];

/// The crates that only tests and benches use.
const TEST_CRATES: &[&str] = &["lock-model", "testkit"];

/// External crates that only these workspace crates may use.
const HOMES: &[(&str, &[&str])] = &[
    // The bench compares the system with PostgreSQL and Redis driven directly.
    ("sqlx", &["bench", "store", "testkit", "xtask"]),
    ("redis", &["bench", "coord", "testkit"]),
    ("axum", &["server", "testkit"]),
    // Major versions are frequent, so only one crate depends on it.
    ("rmcp", &["mcp"]),
];

pub fn manifests(tree: &Tree) -> Vec<Violation> {
    let members = tree.ending("/Cargo.toml");
    members.flat_map(|(path, text)| manifest(path, text)).collect()
}

pub fn sources(tree: &Tree) -> Vec<Violation> {
    tree.ending(".rs").flat_map(|(path, text)| source(path, text)).collect()
}

/// Returns the crate that a file belongs to, by its directory.
pub fn crate_of(path: &str) -> Option<&str> {
    let mut parts = path.split('/');
    match parts.next()? {
        "crates" => parts.next(),
        "bench" => Some("bench"),
        "xtask" => Some("xtask"),
        _ => None,
    }
}

fn manifest(path: &str, text: &str) -> Vec<Violation> {
    let Some(layer) = crate_of(path).filter(|name| is_root_of(path, name)) else {
        return Vec::new();
    };
    if !LAYERS.iter().any(|(name, _)| *name == layer) {
        let message = format!("`{layer}` is not in the table of xtask/src/tidy/imports.rs");
        return vec![Violation::new(path, 1, message)];
    }
    // The rule on dependencies reports a manifest that is not TOML.
    let manifest: Table = text.parse().unwrap_or_default();
    dependencies(&manifest)
        .iter()
        .filter_map(|dependency| {
            let refusal = refusal(layer, dependency.name, dependency.is_for_tests)?;
            Some(Violation::new(path, line_of(text, dependency.name), refusal))
        })
        .collect()
}

fn is_root_of(path: &str, name: &str) -> bool {
    matches!(directory_of(path).split_once('/'), Some(("crates", rest)) if rest == name)
        || directory_of(path) == name
}

fn source(path: &str, text: &str) -> Vec<Violation> {
    let Some(layer) = crate_of(path) else {
        return Vec::new();
    };
    let source = Source::scan(text);
    let tests = source.test_modules();
    let is_test = |line: usize| {
        is_test_file(path)
            || TEST_CRATES.contains(&layer)
            || path.contains("/benches/")
            || tests.iter().any(|(first, last)| (*first..=*last).contains(&line))
    };
    let mut violations = Vec::new();
    for named in paths::of(&source) {
        if is_samples(layer, &named.path) && !is_test(named.line) {
            let message = "`ade_core::samples` is for tests and benches only";
            violations.push(Violation::new(path, named.line, message));
        }
        // A single word may be a variable; a crate is used by a path into it or a plain `use`.
        let Some((first, _)) = named.path.split_once("::") else {
            continue;
        };
        if let Some(refusal) = refusal(layer, &first.replace('_', "-"), is_test(named.line)) {
            violations.push(Violation::new(path, named.line, refusal));
        }
    }
    violations
}

/// Returns whether a path leads into the core's sample tenant, which skips permission checks.
fn is_samples(layer: &str, path: &str) -> bool {
    let root = if layer == "core" { "crate" } else { "ade_core" };
    path.strip_prefix(root)
        .and_then(|rest| rest.strip_prefix("::samples"))
        .is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

fn refusal(layer: &str, dependency: &str, is_for_tests: bool) -> Option<String> {
    if let Some((_, homes)) = HOMES.iter().find(|(name, _)| *name == dependency) {
        return (!homes.contains(&layer))
            .then(|| format!("`{dependency}` is for {} only, not for {layer}", homes.join(", ")));
    }
    let ours = dependency.strip_prefix("ade-")?;
    if ours == layer || !LAYERS.iter().any(|(name, _)| *name == ours) {
        return None;
    }
    let (_, below) = LAYERS.iter().find(|(name, _)| *name == layer)?;
    let is_rig = TEST_CRATES.contains(&ours) && is_for_tests && layer != "core";
    (!below.contains(&ours) && !is_rig).then(|| match below.join(", ") {
        none if none.is_empty() => format!("{layer} may use no crate of ours, not {ours}"),
        some => format!("{layer} may use {some}, not {ours}"),
    })
}

#[cfg(test)]
mod tests {
    use super::super::{assert_one, messages};
    use super::*;

    fn manifest_of(section: &str, dependency: &str) -> String {
        format!("[package]\nname = \"x\"\n\n[{section}]\n{dependency}.workspace = true\n")
    }

    #[test]
    fn import_table_has_no_cycle() {
        for (at, (name, below)) in LAYERS.iter().enumerate() {
            for other in *below {
                let place = LAYERS.iter().position(|(name, _)| name == other);
                assert!(place.is_some_and(|place| place < at), "{name} → {other}");
            }
        }
    }

    #[test]
    fn import_against_the_layers_is_found_in_a_manifest() {
        for (layer, dependency, says) in [
            ("core", "ade-store", "no crate of ours"),
            ("store", "ade-coord", "store may use core"),
            ("engine", "ade-server", "not server"),
            ("store", "ade-api", "not api"),
            ("client", "ade-engine", "not engine"),
        ] {
            let path = format!("crates/{layer}/Cargo.toml");
            let text = manifest_of("dependencies", dependency);
            assert_one(manifests, &[(&path, &text)], &format!("{path}:5"), says);
        }
        for (layer, dependency) in
            [("engine", "ade-store"), ("engine", "ade-api"), ("api", "ade-core"), ("api", "serde")]
        {
            let path = format!("crates/{layer}/Cargo.toml");
            let text = manifest_of("dependencies", dependency);
            assert_eq!(messages(manifests, &[(&path, &text)]), Vec::<String>::new());
        }
    }

    #[test]
    fn import_of_testkit_is_for_tests_outside_the_core() {
        let store = "crates/store/Cargo.toml";
        let in_tests = manifest_of("dev-dependencies", "ade-testkit");
        assert_eq!(messages(manifests, &[(store, &in_tests)]), Vec::<String>::new());
        let in_code = manifest_of("dependencies", "ade-testkit");
        assert_one(manifests, &[(store, &in_code)], &format!("{store}:5"), "not testkit");
        let core = "crates/core/Cargo.toml";
        assert_one(manifests, &[(core, &in_tests)], &format!("{core}:5"), "testkit");
    }

    #[test]
    fn import_of_database_redis_and_web_is_for_their_crates() {
        for (dependency, home) in [("sqlx", "store"), ("redis", "coord"), ("axum", "server")] {
            let text = manifest_of("dependencies", dependency);
            let path = format!("crates/{home}/Cargo.toml");
            assert_eq!(messages(manifests, &[(&path, &text)]), Vec::<String>::new());
            let path = "crates/engine/Cargo.toml";
            assert_one(manifests, &[(path, &text)], &format!("{path}:5"), home);
        }
    }

    #[test]
    fn import_table_without_a_crate_is_reported() {
        let text = "[package]\nname = \"ade-util\"\n";
        assert_one(
            manifests,
            &[("crates/util/Cargo.toml", text)],
            "crates/util/Cargo.toml:1",
            "table",
        );
        assert_eq!(messages(manifests, &[("xtask/Cargo.toml", text)]), Vec::<String>::new());
    }

    #[test]
    fn import_by_path_follows_the_same_table() {
        let path = "crates/engine/src/app.rs";
        let text = "//! x\nuse ade_core::ids::TaskId;\nuse {ade_server::http};\n";
        assert_one(sources, &[(path, text)], &format!("{path}:3"), "not server");
        let text = "//! x\nfn f() {\n    sqlx::query(\"x\");\n}\n";
        assert_one(sources, &[(path, text)], &format!("{path}:3"), "store");
        let text = "//! x\nuse ade_engine::app;\nlet ade_server = 1; // ade_server::x\n";
        assert_eq!(messages(sources, &[(path, text)]), Vec::<String>::new());
    }

    #[test]
    fn import_of_samples_outside_tests_is_refused() {
        let used = "//! x\nuse ade_core::samples::{ALICE, transition};\n";
        let path = "crates/engine/src/app.rs";
        let found = messages(sources, &[(path, used)]);
        assert!(found.iter().all(|line| line.contains("tests and benches only")), "{found:?}");
        assert!(!found.is_empty());
        let own = "//! x\nuse crate::samples;\n";
        assert_one(
            sources,
            &[("crates/core/src/task/a.rs", own)],
            "crates/core/src/task/a.rs:2",
            "only",
        );
        for test in ["crates/store/tests/it/a.rs", "crates/core/benches/b.rs"] {
            assert_eq!(messages(sources, &[(test, used)]), Vec::<String>::new());
        }
    }

    #[test]
    fn import_of_testkit_by_path_is_allowed_in_tests() {
        let rig = "//! x\n#[cfg(test)]\nmod tests {\n    use ade_testkit::Database;\n}\n";
        let path = "crates/store/src/tasks.rs";
        assert_eq!(messages(sources, &[(path, rig)]), Vec::<String>::new());
        let code = "//! x\nuse ade_testkit::Database;\n";
        assert_one(sources, &[(path, code)], &format!("{path}:2"), "testkit");
        let test = "crates/store/tests/tasks.rs";
        assert_eq!(messages(sources, &[(test, code)]), Vec::<String>::new());
    }
}
