//! The layers of the engine: services, then the application, then commands, then one folder per
//! noun, then the workers that list them. Imports lead to lower layers, a noun is imported through
//! its `mod.rs`, and folders form no cycle. In every crate, files form no cycle.

use std::collections::{BTreeMap, BTreeSet};

use super::Violation;
use crate::modules::{self, Import, Modules};
use crate::tree::Tree;

pub const ENGINE: &str = "crates/engine/src/";

/// The layers from the lowest to the highest. Nouns may import each other.
const LAYERS: &[&[&str]] = &[
    &["caller", "reply"],
    &["services"],
    &["error"],
    &["app"],
    &["worker"],
    &["command"],
    NOUNS,
    &["workers"],
];

const NOUNS: &[&str] = &[
    "admin",
    "agents",
    "events",
    "executions",
    "identity",
    "inbound",
    "locks",
    "notifications",
    "policies",
    "read_models",
    "review",
    "rule_changes",
    "tasks",
    "webhooks",
];

/// Finds imports that lead to a higher layer, and parts of the engine without a layer.
pub fn directions(tree: &Tree) -> Vec<Violation> {
    let wrong = |import: &Import| {
        let (from, to) = (part_of(&import.from), part_of(&import.to));
        match (layer_of(from), layer_of(to)) {
            (Some(lower), Some(higher)) if lower < higher => {
                Some(format!("`{from}` is below `{to}` and must not import it"))
            }
            (Some(_), Some(_)) => None,
            (None, _) => Some(format!("`{from}` has no layer: add it to xtask/src/tidy/layers.rs")),
            (_, None) => Some(format!("`{to}` has no layer: add it to xtask/src/tidy/layers.rs")),
        }
    };
    violations(&Modules::read(tree, ENGINE), wrong)
}

/// Finds imports that bypass the `mod.rs` of another noun.
pub fn entrances(tree: &Tree) -> Vec<Violation> {
    let wrong = |import: &Import| {
        let (from, to) = (part_of(&import.from), part_of(&import.named));
        let is_past = is_noun(to) && from != to && !import.named.ends_with("/mod.rs");
        is_past.then(|| format!("`{}` is private to `{to}`: re-export it there", import.named))
    };
    violations(&Modules::read(tree, ENGINE), wrong)
}

/// Finds cycles between folders.
pub fn folders(tree: &Tree) -> Vec<Violation> {
    cycles(ENGINE, &Modules::read(tree, ENGINE).folders(), "folders")
}

/// Finds cycles between the files of each crate.
pub fn files(tree: &Tree) -> Vec<Violation> {
    let sources: BTreeSet<&str> =
        tree.ending(".rs").filter_map(|(path, _)| source_folder(path)).collect();
    sources
        .into_iter()
        .flat_map(|sources| cycles(sources, &Modules::read(tree, sources).files(), "files"))
        .collect()
}

/// Returns the folder of the crate root for a source file, with a slash at the end.
fn source_folder(path: &str) -> Option<&str> {
    let end = path.find("/src/")? + "/src/".len();
    path.get(..end)
}

fn cycles(sources: &str, graph: &BTreeMap<String, BTreeSet<String>>, what: &str) -> Vec<Violation> {
    let found = modules::cycles(graph).into_iter();
    found
        .filter_map(|cycle| {
            let first = cycle.first()?;
            let all: Vec<&str> = cycle.iter().map(String::as_str).collect();
            let message = format!("these {what} import each other: {}", all.join(", "));
            Some(Violation::new(&format!("{sources}{first}"), 1, message))
        })
        .collect()
}

/// Returns the wrong imports; a file with the same message twice is reported once.
fn violations(modules: &Modules, wrong: impl Fn(&Import) -> Option<String>) -> Vec<Violation> {
    let mut seen = BTreeSet::new();
    let mut violations = Vec::new();
    for import in &modules.imports {
        let Some(message) = wrong(import) else { continue };
        if seen.insert((&import.from, message.clone())) {
            violations.push(Violation::new(
                &format!("{ENGINE}{}", import.from),
                import.line,
                message,
            ));
        }
    }
    violations
}

/// Returns the top-level folder of a file, or the name of a file in the root.
pub fn part_of(file: &str) -> &str {
    let first = file.split('/').next().unwrap_or(file);
    first.trim_end_matches(".rs")
}

pub fn is_noun(part: &str) -> bool {
    NOUNS.contains(&part)
}

fn layer_of(part: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| layer.contains(&part))
}

#[cfg(test)]
mod tests {
    use super::super::{assert_one, messages};
    use super::*;

    const APP: (&str, &str) = ("crates/engine/src/app.rs", "//! x\n");

    #[test]
    fn layers_import_of_a_higher_layer_is_found() {
        let service = "crates/engine/src/services/clock.rs";
        let text = "//! x\nuse crate::app::App;\n";
        assert_one(directions, &[(service, text), APP], &format!("{service}:2"), "below `app`");
        let command = "crates/engine/src/command/run.rs";
        let noun = ("crates/engine/src/tasks/mod.rs", "//! x\n");
        let text = "//! x\nfn f() { crate::tasks::get() }\n";
        assert_one(directions, &[(command, text), noun], &format!("{command}:2"), "`tasks`");
        let workers = ("crates/engine/src/workers/mod.rs", "//! x\n");
        let noun = "crates/engine/src/tasks/mod.rs";
        let text = "//! x\nuse crate::workers::ALL;\n";
        assert_one(directions, &[(noun, text), workers], &format!("{noun}:2"), "`workers`");
        let text = "//! x\nuse crate::app::App;\n";
        assert_eq!(messages(directions, &[(noun, text), APP]), Vec::<String>::new());
    }

    #[test]
    fn layers_folder_without_a_layer_is_found() {
        let path = "crates/engine/src/helpers/mod.rs";
        let text = "//! x\nuse crate::app::App;\n";
        assert_one(directions, &[(path, text), APP], &format!("{path}:2"), "no layer");
    }

    #[test]
    fn layers_import_past_a_folder_root_is_found() {
        let files = [
            ("crates/engine/src/tasks/mod.rs", "//! x\npub mod read;\npub use read::get;\n"),
            ("crates/engine/src/tasks/read.rs", "//! x\n"),
        ];
        let path = "crates/engine/src/review/mod.rs";
        let past = [files[0], files[1], (path, "//! x\nuse crate::tasks::read::get;\n")];
        assert_one(entrances, &past, &format!("{path}:2"), "tasks/read.rs");
        let through = [files[0], files[1], (path, "//! x\nuse crate::tasks::get;\n")];
        assert_eq!(messages(entrances, &through), Vec::<String>::new());
    }

    #[test]
    fn layers_cycle_between_folders_is_found() {
        let tasks = ("crates/engine/src/tasks/mod.rs", "//! x\nuse crate::review::open;\n");
        let review = ("crates/engine/src/review/mod.rs", "//! x\nuse crate::tasks::get;\n");
        assert_one(folders, &[tasks, review], "crates/engine/src/review:1", "review, tasks");
        assert_eq!(messages(folders, &[tasks]), Vec::<String>::new());
    }

    #[test]
    fn layers_cycle_between_files_is_found() {
        let one = ("crates/engine/src/tasks/one.rs", "//! x\nuse super::two::f;\n");
        let two = ("crates/engine/src/tasks/two.rs", "//! x\nuse super::one::g;\n");
        let first = "crates/engine/src/tasks/one.rs:1";
        assert_one(files, &[one, two], first, "tasks/one.rs, tasks/two.rs");
        assert_eq!(messages(files, &[one]), Vec::<String>::new());
        let up = ("bench/src/load/one.rs", "//! x\nuse crate::seed::f;\n");
        let down = ("bench/src/seed.rs", "//! x\nuse crate::load::one::g;\n");
        assert_one(files, &[up, down], "bench/src/load/one.rs:1", "load/one.rs, seed.rs");
    }
}
