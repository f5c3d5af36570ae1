//! Who may use whom. The table below is the direction of the crates; manifests and `use` are
//! both held against it, so neither a dependency nor a path can turn an arrow round.

use toml::Table;

use super::dependencies::{dependencies, line_of};
use super::size::is_test_file;
use super::source::Source;
use super::{Violation, paths};
use crate::tree::{Tree, directory_of};

/// Each crate and the crates of ours it may use. Tests may use `testkit` besides, but those of
/// the core need no server.
const LAYERS: &[(&str, &[&str])] = &[
    ("core", &[]),
    ("api", &["core"]),
    ("store", &["core"]),
    ("coord", &["core"]),
    // Alone, since targets of other people use it.
    ("receipt", &[]),
    ("engine", &["core", "api", "store", "coord", "receipt"]),
    ("client", &["core", "api"]),
    // The tools of agents, over a client: whoever opens a door for them brings one.
    ("mcp", &["core", "api", "client"]),
    // The receipt for its tests, which play the targets.
    ("server", &["core", "api", "engine", "client", "mcp", "receipt"]),
    ("cli", &["core", "api", "client", "mcp"]),
    ("testkit", &["core", "store", "coord", "receipt"]),
    ("bench", &["core", "api", "store", "coord", "engine", "server", "testkit"]),
    ("xtask", &["core", "api", "store", "coord", "engine", "server", "client", "cli", "testkit"]),
];

/// Outside crates that have a home: the only crates of ours that may use them.
const HOMES: &[(&str, &[&str])] = &[
    // A bench holds the system against PostgreSQL and Redis driven directly.
    ("sqlx", &["bench", "store", "testkit", "xtask"]),
    ("redis", &["bench", "coord", "testkit"]),
    ("axum", &["server", "testkit"]),
    // Its majors move fast: one crate of ours is touched when they do.
    ("rmcp", &["mcp"]),
];

pub fn manifests(tree: &Tree) -> Vec<Violation> {
    let members = tree.ending("/Cargo.toml");
    members.flat_map(|(path, text)| manifest(path, text)).collect()
}

pub fn sources(tree: &Tree) -> Vec<Violation> {
    tree.ending(".rs").flat_map(|(path, text)| source(path, text)).collect()
}

/// The crate a file belongs to, by its directory.
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
    // What is no TOML is told by the rule on dependencies.
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
            || path.contains("/benches/")
            || tests.iter().any(|(first, last)| (*first..=*last).contains(&line))
    };
    let mut violations = Vec::new();
    for named in paths::of(&source) {
        // A lone word may be a variable; a crate is used by a path into it or a plain `use`.
        let Some((first, _)) = named.path.split_once("::") else {
            continue;
        };
        if let Some(refusal) = refusal(layer, &first.replace('_', "-"), is_test(named.line)) {
            violations.push(Violation::new(path, named.line, refusal));
        }
    }
    violations
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
    let is_rig = ours == "testkit" && is_for_tests && layer != "core";
    (!below.contains(&ours) && !is_rig).then(|| match below.join(", ") {
        none if none.is_empty() => format!("{layer} may use no crate of ours, not {ours}"),
        some => format!("{layer} may use {some}, not {ours}"),
    })
}

#[cfg(test)]
mod tests {
    use super::super::{assert_one, told};
    use super::*;

    fn manifest_of(section: &str, dependency: &str) -> String {
        format!("[package]\nname = \"x\"\n\n[{section}]\n{dependency}.workspace = true\n")
    }

    #[test]
    fn the_table_has_no_circle() {
        for (at, (name, below)) in LAYERS.iter().enumerate() {
            for other in *below {
                let place = LAYERS.iter().position(|(name, _)| name == other);
                assert!(place.is_some_and(|place| place < at), "{name} → {other}");
            }
        }
    }

    #[test]
    fn an_arrow_the_wrong_way_is_found_in_a_manifest() {
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
            assert_eq!(told(manifests, &[(&path, &text)]), Vec::<String>::new());
        }
    }

    #[test]
    fn the_test_rig_is_for_tests_outside_the_core() {
        let store = "crates/store/Cargo.toml";
        let in_tests = manifest_of("dev-dependencies", "ade-testkit");
        assert_eq!(told(manifests, &[(store, &in_tests)]), Vec::<String>::new());
        let in_code = manifest_of("dependencies", "ade-testkit");
        assert_one(manifests, &[(store, &in_code)], &format!("{store}:5"), "not testkit");
        let core = "crates/core/Cargo.toml";
        assert_one(manifests, &[(core, &in_tests)], &format!("{core}:5"), "testkit");
    }

    #[test]
    fn database_redis_and_web_have_a_home() {
        for (dependency, home) in [("sqlx", "store"), ("redis", "coord"), ("axum", "server")] {
            let text = manifest_of("dependencies", dependency);
            let path = format!("crates/{home}/Cargo.toml");
            assert_eq!(told(manifests, &[(&path, &text)]), Vec::<String>::new());
            let path = "crates/engine/Cargo.toml";
            assert_one(manifests, &[(path, &text)], &format!("{path}:5"), home);
        }
    }

    #[test]
    fn a_crate_nobody_placed_is_told() {
        let text = "[package]\nname = \"ade-util\"\n";
        assert_one(
            manifests,
            &[("crates/util/Cargo.toml", text)],
            "crates/util/Cargo.toml:1",
            "table",
        );
        assert_eq!(told(manifests, &[("xtask/Cargo.toml", text)]), Vec::<String>::new());
    }

    #[test]
    fn paths_follow_the_same_table() {
        let path = "crates/engine/src/app.rs";
        let text = "//! x\nuse ade_core::ids::TaskId;\nuse {ade_server::http};\n";
        assert_one(sources, &[(path, text)], &format!("{path}:3"), "not server");
        let text = "//! x\nfn f() {\n    sqlx::query(\"x\");\n}\n";
        assert_one(sources, &[(path, text)], &format!("{path}:3"), "store");
        let text = "//! x\nuse ade_engine::app;\nlet ade_server = 1; // ade_server::x\n";
        assert_eq!(told(sources, &[(path, text)]), Vec::<String>::new());
    }

    #[test]
    fn tests_may_use_the_rig_by_path() {
        let rig = "//! x\n#[cfg(test)]\nmod tests {\n    use ade_testkit::Database;\n}\n";
        let path = "crates/store/src/tasks.rs";
        assert_eq!(told(sources, &[(path, rig)]), Vec::<String>::new());
        let code = "//! x\nuse ade_testkit::Database;\n";
        assert_one(sources, &[(path, code)], &format!("{path}:2"), "testkit");
        let test = "crates/store/tests/tasks.rs";
        assert_eq!(told(sources, &[(test, code)]), Vec::<String>::new());
    }
}
