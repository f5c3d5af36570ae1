//! No dead files: every `.rs` file is reachable from a target of its package through `mod`. A file
//! that is not compiled is not checked, but a reader would trust it.

use std::collections::BTreeSet;

use toml::{Table, Value};

use super::Violation;
use super::source::{Kind, Source, SourceToken};
use crate::tree::{Tree, directory_of, join};

pub fn check(tree: &Tree) -> Vec<Violation> {
    let mut reached = BTreeSet::new();
    for (path, text) in tree.ending("Cargo.toml") {
        for root in targets(tree, directory_of(path), text) {
            follow(tree, &root, true, &mut reached);
        }
    }
    tree.ending(".rs")
        .filter(|(path, _)| !reached.contains(*path))
        .map(|(path, _)| {
            Violation::new(path, 1, "no target reaches this file: name it in a `mod`, or delete it")
        })
        .collect()
}

/// Returns the files that cargo compiles by convention or because the manifest names them.
fn targets(tree: &Tree, package: &str, manifest: &str) -> Vec<String> {
    let manifest: Table = manifest.parse().unwrap_or_default();
    let mut named = Vec::new();
    for kind in ["lib", "bin", "test", "bench", "example"] {
        let entries: Vec<&Value> = match manifest.get(kind) {
            Some(Value::Array(entries)) => entries.iter().collect(),
            Some(entry) => vec![entry],
            None => Vec::new(),
        };
        let paths = entries.into_iter().filter_map(|entry| entry.get("path")?.as_str());
        named.extend(paths.filter_map(|path| join(package, path)));
    }
    let found = tree.ending(".rs").map(|(path, _)| path);
    named.extend(found.filter(|path| is_found_by_cargo(package, path)).map(str::to_owned));
    named
}

fn is_found_by_cargo(package: &str, path: &str) -> bool {
    let inside = match package {
        "" => Some(path),
        _ => path.strip_prefix(package).and_then(|rest| rest.strip_prefix('/')),
    };
    let parts: Vec<&str> = inside.unwrap_or_default().split('/').collect();
    matches!(
        parts.as_slice(),
        ["build.rs"]
            | ["src", "lib.rs" | "main.rs"]
            | ["src", "bin", _]
            | ["src", "bin", _, "main.rs"]
            | ["tests" | "benches" | "examples", _]
            | ["tests" | "benches" | "examples", _, "main.rs"]
    )
}

fn follow(tree: &Tree, path: &str, is_root: bool, reached: &mut BTreeSet<String>) {
    let Some(text) = tree.text(path) else {
        return;
    };
    if !reached.insert(path.to_owned()) {
        return;
    }
    let directory = directory_of(path);
    let file = path.rsplit('/').next().unwrap_or(path);
    let children = if is_root || file == "mod.rs" {
        directory.to_owned()
    } else {
        path.trim_end_matches(".rs").to_owned()
    };
    for module in modules(&Source::scan(text).tokens) {
        let candidates = match &module.path {
            Some(written) => vec![join(directory, written)],
            None => vec![
                join(&children, &format!("{}.rs", module.name)),
                join(&children, &format!("{}/mod.rs", module.name)),
            ],
        };
        for candidate in candidates.into_iter().flatten() {
            follow(tree, &candidate, false, reached);
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
struct Module {
    /// The name with those of the enclosing inline modules: `outer/inner`.
    name: String,
    /// The path from `#[path = "…"]`.
    path: Option<String>,
}

fn modules(tokens: &[SourceToken]) -> Vec<Module> {
    let mut found = Vec::new();
    let mut around: Vec<Option<&str>> = Vec::new();
    let mut path = None;
    let mut opening = None;
    let mut rest = tokens;
    while let Some((token, after)) = rest.split_first() {
        if let [name, end, ..] = after
            && token.is("mod")
            && name.kind == Kind::Word
        {
            if end.is(";") {
                let outer = around.iter().flatten().copied();
                let parts: Vec<&str> = outer.chain([name.text.as_str()]).collect();
                let name = parts.join("/");
                found.push(Module { name, path: path.take() });
            } else if end.is("{") {
                opening = Some(name.text.as_str());
            }
        } else if token.is("{") {
            around.push(opening.take());
        } else if token.is("}") {
            around.pop();
        } else if token.is(";") {
            path = None;
        } else if let [equals, literal, ..] = after
            && token.is("path")
            && equals.is("=")
            && literal.kind == Kind::Literal
        {
            path = Some(literal.text.clone());
        }
        rest = after;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::{assert_one, messages};
    use super::*;

    const MANIFEST: (&str, &str) = ("crates/x/Cargo.toml", "[package]\nname = \"x\"\n");

    #[test]
    fn dead_file_without_a_module_declaration_is_found() {
        let files = [
            MANIFEST,
            ("crates/x/src/lib.rs", "mod a;\n"),
            ("crates/x/src/a.rs", ""),
            ("crates/x/src/b.rs", ""),
        ];
        assert_one(check, &files, "crates/x/src/b.rs:1", "no target");
    }

    #[test]
    fn dead_file_named_in_a_comment_or_string_is_still_dead() {
        let files = [
            MANIFEST,
            ("crates/x/src/lib.rs", "// mod b;\nconst X: &str = \"mod b;\";\n"),
            ("crates/x/src/b.rs", ""),
        ];
        assert_one(check, &files, "crates/x/src/b.rs:1", "no target");
    }

    #[test]
    fn dead_file_rule_follows_folders_siblings_and_path_attributes() {
        let files = [
            MANIFEST,
            ("crates/x/src/lib.rs", "pub mod task;\nmod lock;\n"),
            (
                "crates/x/src/task/mod.rs",
                "mod decide;\n#[cfg(test)]\n#[path = \"t_tests.rs\"]\nmod tests;\n",
            ),
            (
                "crates/x/src/task/decide.rs",
                "mod deep { mod inner; }\nmod plain { fn f() {} }\nmod last;\n",
            ),
            ("crates/x/src/task/t_tests.rs", ""),
            ("crates/x/src/task/decide/deep/inner.rs", ""),
            ("crates/x/src/task/decide/last.rs", ""),
            ("crates/x/src/lock.rs", "mod queue;\n"),
            ("crates/x/src/lock/queue.rs", ""),
        ];
        assert_eq!(messages(check, &files), Vec::<String>::new());
    }

    #[test]
    fn dead_file_rule_looks_for_a_module_in_its_own_folder() {
        let files = [
            MANIFEST,
            ("crates/x/src/lib.rs", "mod a;\n"),
            ("crates/x/src/a.rs", "mod b;\n"),
            ("crates/x/src/b.rs", ""),
        ];
        assert_one(check, &files, "crates/x/src/b.rs:1", "no target");
    }

    #[test]
    fn dead_file_rule_knows_default_and_declared_targets() {
        let manifest =
            "[package]\nname = \"x\"\n[[test]]\nname = \"it\"\npath = \"tests/it/all.rs\"\n";
        let files = [
            ("Cargo.toml", manifest),
            ("build.rs", ""),
            ("src/main.rs", ""),
            ("src/bin/one.rs", ""),
            ("src/bin/two/main.rs", ""),
            ("tests/plain.rs", ""),
            ("tests/folder/main.rs", "mod case;\n"),
            ("tests/folder/case.rs", ""),
            ("tests/it/all.rs", ""),
            ("benches/speed.rs", ""),
        ];
        assert_eq!(messages(check, &files), Vec::<String>::new());
        let stray = [("Cargo.toml", "[package]\n"), ("tests/folder/case.rs", "")];
        assert_one(check, &stray, "tests/folder/case.rs:1", "no target");
    }
}
