//! The imports between the files of one crate, read from its sources: which file names which, and
//! which of them form a cycle. Tests are left out, and a re-export leads to the file that defines
//! the name.

use std::collections::{BTreeMap, BTreeSet};

use crate::tidy::paths::{self, Named};
use crate::tidy::size::is_test_file;
use crate::tidy::source::Source;
use crate::tree::Tree;

/// The maximum number of re-exports to follow from a name to its definition.
const REEXPORTS_MAX: usize = 8;

/// An import of one file of a crate by another.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Import {
    /// The importing file, relative to the sources of the crate, for example `locks/acquire.rs`.
    pub from: String,
    pub line: usize,
    /// The file that the path names, before re-exports are followed.
    pub named: String,
    /// The file that defines the imported name.
    pub to: String,
}

#[derive(Debug, Default)]
pub struct Modules {
    pub imports: BTreeSet<Import>,
}

impl Modules {
    /// Reads a crate; `sources` is the folder of its `lib.rs`, with a slash at the end.
    pub fn read(tree: &Tree, sources: &str) -> Self {
        let files: BTreeMap<&str, Source> = tree
            .ending(".rs")
            .filter(|(path, _)| !is_test_file(path))
            .filter_map(|(path, text)| Some((path.strip_prefix(sources)?, Source::scan(text))))
            .collect();
        let reader = Reader::new(&files);
        let imports = files.iter().flat_map(|(file, source)| reader.imports(file, source));
        Self { imports: imports.collect() }
    }

    /// Returns the imports between folders; each file in the root counts as a folder.
    pub fn folders(&self) -> BTreeMap<String, BTreeSet<String>> {
        let pairs =
            self.imports.iter().map(|import| (folder_of(&import.from), folder_of(&import.to)));
        graph(pairs.filter(|(from, to)| from != to))
    }

    /// Returns the imports between files, without those of a module by the modules inside it.
    pub fn files(&self) -> BTreeMap<String, BTreeSet<String>> {
        let pairs = self.imports.iter().filter(|import| !is_inside(&import.from, &import.to));
        graph(pairs.map(|import| (import.from.clone(), import.to.clone())))
    }
}

fn graph(pairs: impl Iterator<Item = (String, String)>) -> BTreeMap<String, BTreeSet<String>> {
    let mut graph: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (from, to) in pairs {
        graph.entry(from).or_default().insert(to);
    }
    graph
}

/// Returns the folder of a file: `locks` for `locks/acquire.rs`, and `app` for `app.rs`.
pub fn folder_of(file: &str) -> String {
    match file.rsplit_once('/') {
        Some((folder, _)) => folder.to_owned(),
        None => file.trim_end_matches(".rs").to_owned(),
    }
}

/// Returns whether the module of a file is inside that of another.
fn is_inside(file: &str, other: &str) -> bool {
    let (file, other) = (module_of(file), module_of(other));
    file.len() > other.len() && file.starts_with(&other)
}

/// Returns each group of two or more nodes that can reach each other, sorted.
pub fn cycles(graph: &BTreeMap<String, BTreeSet<String>>) -> Vec<BTreeSet<String>> {
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        graph.keys().map(|node| (node.as_str(), reachable(graph, node))).collect();
    let mut found: BTreeSet<BTreeSet<String>> = BTreeSet::new();
    for (node, others) in &reached {
        let reaches_back =
            |other: &&&str| reached.get(**other).is_some_and(|back| back.contains(node));
        let group: BTreeSet<String> =
            others.iter().filter(reaches_back).map(|other| (*other).to_owned()).collect();
        if group.len() > 1 {
            found.insert(group);
        }
    }
    found.into_iter().collect()
}

fn reachable<'a>(graph: &'a BTreeMap<String, BTreeSet<String>>, start: &str) -> BTreeSet<&'a str> {
    let mut found = BTreeSet::new();
    let mut open: Vec<&str> = graph.get(start).into_iter().flatten().map(String::as_str).collect();
    while let Some(node) = open.pop() {
        if found.insert(node) {
            open.extend(graph.get(node).into_iter().flatten().map(String::as_str));
        }
    }
    found
}

type Path = Vec<String>;

struct Reader<'a> {
    /// The file of each module path; the path of the root is empty.
    modules: BTreeMap<Path, &'a str>,
    /// The original path of each name that a `mod.rs` or `lib.rs` imports.
    reexports: BTreeMap<Path, Path>,
}

impl<'a> Reader<'a> {
    fn new(files: &BTreeMap<&'a str, Source>) -> Self {
        let modules = files.keys().map(|file| (module_of(file), *file)).collect();
        let mut reader = Self { modules, reexports: BTreeMap::new() };
        for (file, source) in files.iter().filter(|(file, _)| is_root_of_folder(file)) {
            let module = module_of(file);
            for (name, path) in paths::imported(source) {
                if let Some(path) = reader.absolute(file, &path) {
                    let known: Path = module.iter().cloned().chain([name]).collect();
                    reader.reexports.insert(known, path);
                }
            }
        }
        reader
    }

    fn imports(&self, file: &str, source: &Source) -> Vec<Import> {
        let tests = source.test_modules();
        let in_test =
            |line: usize| tests.iter().any(|(first, last)| (*first..=*last).contains(&line));
        let imported = paths::imported(source);
        let mut found = Vec::new();
        for named in paths::of(source) {
            if file == "lib.rs" || in_test(named.line) {
                continue;
            }
            let Some(path) = self.meant(file, &named, &imported) else { continue };
            let (Some(near), Some(far)) = (self.file_of(&path), self.definition(&path, 0)) else {
                continue;
            };
            // A `mod.rs` that only re-exports its files does not depend on them.
            let is_reexport = named.is_import && is_root_of_folder(file);
            let is_own = folder_of(file) == folder_of(far) && is_reexport;
            if far != file && far != "lib.rs" && !is_own {
                let (from, line) = (file.to_owned(), named.line);
                let (named, to) = (near.to_owned(), far.to_owned());
                found.push(Import { from, line, named, to });
            }
        }
        found
    }

    fn meant(
        &self,
        file: &str,
        named: &Named,
        imported: &BTreeMap<String, String>,
    ) -> Option<Path> {
        // In a `mod.rs`, imports do not count, so the uses of an imported name do.
        let is_lone = !named.path.contains("::");
        if is_lone {
            let full = imported.get(&named.path).filter(|_| is_root_of_folder(file))?;
            return self.absolute(file, full);
        }
        self.absolute(file, &named.path)
    }

    /// Returns the path from the root of the crate, or `None` for a path into another crate.
    fn absolute(&self, file: &str, path: &str) -> Option<Path> {
        let mut segments = path.split("::").peekable();
        let mut module = module_of(file);
        match *segments.peek()? {
            "crate" => {
                segments.next();
                module.clear();
            }
            "self" => {
                segments.next();
            }
            "super" => {
                while segments.next_if(|segment| *segment == "super").is_some() {
                    module.pop();
                }
            }
            child => {
                let mut inside = module.clone();
                inside.push(child.to_owned());
                self.modules.get(&inside)?;
            }
        }
        Some(module.into_iter().chain(segments.map(str::to_owned)).collect())
    }

    fn file_of(&self, path: &[String]) -> Option<&'a str> {
        (0..=path.len()).rev().find_map(|length| {
            let module = path.get(..length)?;
            self.modules.get(module).copied()
        })
    }

    fn definition(&self, path: &[String], depth: usize) -> Option<&'a str> {
        for length in (1..=path.len()).rev().filter(|_| depth < REEXPORTS_MAX) {
            let (head, rest) = path.split_at_checked(length)?;
            if self.modules.contains_key(head) {
                break;
            }
            if let Some(target) = self.reexports.get(head) {
                let whole: Path = target.iter().chain(rest).cloned().collect();
                return self.definition(&whole, depth + 1);
            }
        }
        self.file_of(path)
    }
}

fn is_root_of_folder(file: &str) -> bool {
    file == "lib.rs" || file.ends_with("/mod.rs")
}

fn module_of(file: &str) -> Path {
    let name = file.trim_end_matches(".rs");
    let name = name.strip_suffix("/mod").unwrap_or(name);
    if name == "lib" { Vec::new() } else { name.split('/').map(str::to_owned).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn imports(files: &[(&str, &str)]) -> Vec<String> {
        let modules = Modules::read(&Tree::of(files), "a/src/");
        modules.imports.iter().map(|import| format!("{}→{}", import.from, import.to)).collect()
    }

    #[test]
    fn imports_follow_super_and_crate_paths() {
        let found = imports(&[
            ("a/src/lib.rs", "mod b;\nmod c;\n"),
            ("a/src/b/mod.rs", "mod x;\nmod y;\n"),
            ("a/src/b/x.rs", "use super::y::f;\nfn g() { crate::c::h() }\n"),
            ("a/src/b/y.rs", "use std::fmt;\nuse serde::de;\n"),
            ("a/src/c.rs", ""),
        ]);
        assert_eq!(found, ["b/x.rs→b/y.rs", "b/x.rs→c.rs"]);
    }

    #[test]
    fn imports_follow_reexports_to_the_definition() {
        let found = imports(&[
            ("a/src/b/mod.rs", "mod x;\nmod y;\npub use x::{f, g as h};\n"),
            ("a/src/b/x.rs", ""),
            ("a/src/b/y.rs", "use super::h;\n"),
            ("a/src/c.rs", "use crate::b;\nfn k() { b::f() }\n"),
        ]);
        assert_eq!(found, ["b/y.rs→b/x.rs", "c.rs→b/mod.rs", "c.rs→b/x.rs"]);
    }

    #[test]
    fn imports_of_a_folder_root_count_where_its_code_uses_them() {
        let only = ("a/src/b/mod.rs", "mod x;\npub use x::X;\n");
        let used = ("a/src/b/mod.rs", "mod x;\npub use x::X;\nstruct Y(X);\n");
        let child = ("a/src/b/x.rs", "use super::Y;\n");
        assert_eq!(imports(&[only, child]), ["b/x.rs→b/mod.rs"]);
        assert_eq!(imports(&[used, child]), ["b/mod.rs→b/x.rs", "b/x.rs→b/mod.rs"]);
    }

    #[test]
    fn imports_of_tests_are_left_out() {
        let text = "#[cfg(test)]\nmod tests {\n    use crate::b;\n}\n";
        assert!(imports(&[("a/src/c.rs", text), ("a/src/b.rs", "")]).is_empty());
    }

    #[test]
    fn cycles_of_any_length_are_found() {
        let pairs = [("a", "b"), ("b", "c"), ("c", "a"), ("c", "d"), ("e", "a")];
        let graph = graph(pairs.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())));
        let cycle: BTreeSet<String> = ["a", "b", "c"].map(str::to_owned).into();
        assert_eq!(cycles(&graph), [cycle]);
    }
}
