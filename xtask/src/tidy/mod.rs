//! The rules of this repository that no linter checks, as functions from the tree to violations.
//! They run as `cargo xtask tidy` and as a test. Clippy checks the length of functions
//! (`too-many-lines-threshold`).

mod cedar;
mod dead_files;
mod dependencies;
mod fonts;
mod headers;
mod imports;
pub mod layers;
mod links;
mod literals;
mod logs;
mod marks;
mod names;
pub mod paths;
mod purity;
mod ratchet;
pub mod size;
pub mod source;
mod words;

use std::fmt;
use std::path::Path;

use anyhow::{Result, bail};
use clap::Args as ClapArgs;

use crate::tree::Tree;

#[derive(Debug, Default, ClapArgs)]
pub struct TidyArgs {
    /// Lower the numbers of `xtask/ratchet.toml` to the violations that are left
    #[arg(long)]
    tighten: bool,
}

/// A violation of a rule, with its place. Violations sort by file, then by line.
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
    layers::directions,
    layers::entrances,
    layers::folders,
    layers::files,
    purity::check,
    literals::check,
    dependencies::check,
    fonts::check,
    cedar::check,
    dead_files::check,
    links::targets,
    links::reach,
    marks::unfinished,
    marks::foreign,
    ratchet::check,
];

pub fn run(root: &Path, args: &TidyArgs) -> Result<()> {
    let tree = Tree::read(root)?;
    if args.tighten {
        return ratchet::tighten(root, &tree);
    }
    let violations = check(&tree);
    for violation in &violations {
        println!("{violation}");
    }
    match violations.len() {
        0 => Ok(()),
        1 => bail!("tidy found one violation"),
        many => bail!("tidy found {many} violations"),
    }
}

fn check(tree: &Tree) -> Vec<Violation> {
    let mut violations: Vec<Violation> = RULES.iter().flat_map(|rule| rule(tree)).collect();
    violations.sort();
    violations
}

/// Returns the violations of a rule in these files, each as `path:line: message`.
#[cfg(test)]
fn messages(rule: Rule, files: &[(&str, &str)]) -> Vec<String> {
    rule(&Tree::of(files)).iter().map(Violation::to_string).collect()
}

/// Asserts that the rule finds exactly one violation, at this place and with this text in its
/// message.
#[cfg(test)]
#[track_caller]
fn assert_one(rule: Rule, files: &[(&str, &str)], place: &str, says: &str) {
    let found = messages(rule, files);
    assert_eq!(found.len(), 1, "{found:#?}");
    assert!(found[0].starts_with(&format!("{place}: ")), "{found:?} is not at {place}");
    assert!(found[0].contains(says), "{found:?} does not contain {says:?}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repository_is_tidy() {
        let tree = Tree::read(&crate::shell::root().unwrap()).unwrap();
        let found: Vec<String> = check(&tree).iter().map(Violation::to_string).collect();
        assert!(found.is_empty(), "violations:\n{}", found.join("\n"));
    }

    #[test]
    fn rules_all_run_and_violations_are_sorted() {
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
            ("crates/api/Cargo.toml", "[dependencies]\ncedar-policy.workspace = true\n"),
            ("crates/coord/lua/a.lua", "return 1\n"),
            ("crates/store/migrations/1.sql", "SELECT 1;\n"),
            ("crates/engine/src/app.rs", "//! a\nuse crate::tasks::read::get;\n"),
            ("crates/engine/src/tasks/mod.rs", "//! t\nmod list;\nmod read;\n"),
            ("crates/engine/src/tasks/read.rs", "//! r\nuse super::list::all;\n"),
            (
                "crates/engine/src/tasks/list.rs",
                "//! l\nuse super::read::get;\nuse crate::app::App;\n",
            ),
            ("crates/engine/src/review/mod.rs", "//! r\nuse crate::tasks::read::get;\n"),
            ("web/src/a.css", "src: url('/fonts/a.woff2');\n"),
            ("docs/a.md", concat!("[x](y.md) /", "work/ to", "ld\n")),
        ]);
        for (at, rule) in RULES.iter().enumerate() {
            assert!(!rule(&tree).is_empty(), "rule {at} finds nothing");
        }
        let violations = check(&tree);
        let counts = RULES.iter().map(|rule| rule(&tree).len());
        assert_eq!(violations.len(), counts.sum::<usize>());
        assert!(violations.is_sorted_by_key(|violation| (&violation.path, violation.line)));
    }
}
