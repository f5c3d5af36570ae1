//! The rules of this repository that no linter knows, as functions from the tree to the places
//! that break them. Runs as `cargo xtask tidy` and as a test, so nobody can forget it.
//! Function length is not here: clippy counts it (`too-many-lines-threshold`).

mod dead_files;
mod dependencies;
mod headers;
mod imports;
mod links;
mod literals;
mod marks;
mod paths;
mod purity;
mod size;
pub mod source;

use std::fmt;
use std::path::Path;

use anyhow::{Result, bail};

use crate::tree::Tree;

/// Sorted as a reader goes through them: by file, then by line.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Violation {
    path: String,
    line: usize,
    message: String,
}

impl Violation {
    fn new(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, message: message.into() }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.message)
    }
}

type Rule = fn(&Tree) -> Vec<Violation>;

const RULES: &[Rule] = &[
    size::files,
    size::lines,
    headers::rust,
    headers::lua,
    headers::migrations,
    imports::manifests,
    imports::sources,
    purity::check,
    literals::check,
    dependencies::check,
    dead_files::check,
    links::targets,
    links::reach,
    marks::unfinished,
    marks::foreign,
];

pub fn run(root: &Path) -> Result<()> {
    let violations = check(&Tree::read(root)?);
    for violation in &violations {
        println!("{violation}");
    }
    match violations.len() {
        0 => Ok(()),
        1 => bail!("tidy found one place to mend"),
        many => bail!("tidy found {many} places to mend"),
    }
}

fn check(tree: &Tree) -> Vec<Violation> {
    let mut violations: Vec<Violation> = RULES.iter().flat_map(|rule| rule(tree)).collect();
    violations.sort();
    violations
}

/// What a rule says about these files, one `path:line: message` each.
#[cfg(test)]
fn told(rule: Rule, files: &[(&str, &str)]) -> Vec<String> {
    rule(&Tree::of(files)).iter().map(Violation::to_string).collect()
}

/// True if the rule finds exactly one place, there, and the message holds this.
#[cfg(test)]
#[track_caller]
fn assert_one(rule: Rule, files: &[(&str, &str)], place: &str, says: &str) {
    let told = told(rule, files);
    assert_eq!(told.len(), 1, "{told:#?}");
    assert!(told[0].starts_with(&format!("{place}: ")), "{told:?} is not at {place}");
    assert!(told[0].contains(says), "{told:?} does not say {says:?}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_repository_is_tidy() {
        let tree = Tree::read(&crate::shell::root().unwrap()).unwrap();
        let told: Vec<String> = check(&tree).iter().map(Violation::to_string).collect();
        assert!(told.is_empty(), "mend these:\n{}", told.join("\n"));
    }

    #[test]
    fn every_rule_is_asked_and_places_come_in_order() {
        let long =
            format!("use std::fs; // {}\n{}", concat!("TO", "DO"), "fn f() {}\n".repeat(401));
        let literal =
            format!("\nconst K: &str = \"{}x{}\";\n", concat!("ade", ":"), "y".repeat(100));
        let manifest = "[workspace.dependencies]\nx = \"1\"\n[dependencies]\nredis = \"1\"\n";
        let tree = Tree::of(&[
            ("crates/core/src/a.rs", &long),
            ("crates/core/src/b.rs", &literal),
            ("crates/core/src/c.rs", "//! c\nuse ade_store::x;\n"),
            ("crates/core/Cargo.toml", manifest),
            ("crates/coord/lua/a.lua", "return 1\n"),
            ("crates/store/migrations/1.sql", "SELECT 1;\n"),
            ("docs/a.md", concat!("[x](y.md) /", "work/\n")),
        ]);
        for (at, rule) in RULES.iter().enumerate() {
            assert!(!rule(&tree).is_empty(), "rule {at} finds nothing");
        }
        let told = check(&tree);
        let found = RULES.iter().map(|rule| rule(&tree).len());
        assert_eq!(told.len(), found.sum::<usize>());
        assert!(told.is_sorted_by_key(|violation| (&violation.path, violation.line)));
    }
}
