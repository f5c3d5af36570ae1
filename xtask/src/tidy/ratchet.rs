//! Rules that the repository does not satisfy everywhere yet. `xtask/ratchet.toml` says how many
//! violations of each rule an area still has. The numbers only decrease: another violation is an
//! error, and so is a number that is higher than needed.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context as _, Result, bail};

use super::{Rule, Violation, logs, names, words};
use crate::tree::Tree;

pub const FILE: &str = "xtask/ratchet.toml";
const SHOWN_MAX: usize = 20;

const RULES: &[(&str, Rule)] = &[
    ("banned_words", words::check),
    ("log_lines", logs::check),
    ("test_names", names::tests),
    ("type_names", names::types),
];

type Allowances = BTreeMap<String, BTreeMap<String, usize>>;

pub fn check(tree: &Tree) -> Vec<Violation> {
    let allowed = match allowances(tree) {
        Ok(allowed) => allowed,
        Err(error) => return vec![Violation::new(FILE, 1, format!("{error:#}"))],
    };
    let mut violations = Vec::new();
    for (name, found) in found(tree) {
        let none = BTreeMap::new();
        let limits = allowed.get(name).unwrap_or(&none);
        for (area, limit) in limits {
            if found.get(area).map_or(0, Vec::len) < *limit {
                let count = found.get(area).map_or(0, Vec::len);
                let message = format!(
                    "{name} of {area} is {limit}, only {count} needed: `cargo xtask tidy --tighten`"
                );
                violations.push(Violation::new(FILE, 1, message));
            }
        }
        for (area, places) in found {
            let limit = limits.get(&area).copied().unwrap_or(0);
            if places.len() > limit {
                let message =
                    format!("{area} has {} violations of {name}, {limit} allowed", places.len());
                violations.push(Violation::new(FILE, 1, message));
                violations.extend(places.into_iter().take(SHOWN_MAX));
            }
        }
    }
    violations
}

/// Lowers the numbers to the violations that are left. Fails if a number would rise.
pub fn tighten(root: &Path, tree: &Tree) -> Result<()> {
    let allowed = allowances(tree)?;
    let mut text = String::from(
        "# Violations that are left, by rule and area. `cargo xtask tidy --tighten` lowers the\n\
         # numbers; none may rise.\n",
    );
    for (name, found) in found(tree) {
        let _ = write!(text, "\n[{name}]\n");
        for (area, places) in found {
            let limit = allowed.get(name).and_then(|limits| limits.get(&area)).copied();
            if limit.unwrap_or(0) < places.len() && !allowed.is_empty() {
                bail!("{area} has more violations of {name} than before: {}", places.len());
            }
            let _ = writeln!(text, "\"{area}\" = {}", places.len());
        }
    }
    std::fs::write(root.join(FILE), text).with_context(|| format!("cannot write {FILE}"))
}

fn allowances(tree: &Tree) -> Result<Allowances> {
    let text = tree.text(FILE).unwrap_or_default();
    toml::from_str(text).context("cannot read the numbers")
}

fn found(tree: &Tree) -> Vec<(&'static str, BTreeMap<String, Vec<Violation>>)> {
    let by_area = |rule: Rule| {
        let mut areas: BTreeMap<String, Vec<Violation>> = BTreeMap::new();
        for violation in rule(tree) {
            areas.entry(area_of(&violation.path)).or_default().push(violation);
        }
        areas
    };
    RULES.iter().map(|(name, rule)| (*name, by_area(*rule))).collect()
}

/// Returns the crate or the top-level directory of a file; a file in the root is its own area.
fn area_of(path: &str) -> String {
    let depth = if path.starts_with("crates/") || path.starts_with("docs/") { 2 } else { 1 };
    path.split('/').take(depth).collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::super::{assert_one, messages};
    use super::*;

    const DIALECT: (&str, &str) = ("crates/a/src/x.rs", concat!("// to", "ld\n// to", "ld\n"));

    #[test]
    fn ratchet_violation_beyond_allowance_is_found() {
        let file = (FILE, "[banned_words]\n\"crates/a\" = 1\n");
        let found = messages(check, &[file, DIALECT]);
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(found[0].contains("crates/a has 2 violations of banned_words, 1 allowed"));
        assert_eq!(messages(check, &[DIALECT]).len(), 3);
    }

    #[test]
    fn ratchet_allowance_that_is_not_needed_is_found() {
        let file = (FILE, "[banned_words]\n\"crates/a\" = 3\n");
        assert_one(check, &[file, DIALECT], &format!("{FILE}:1"), "only 2 needed");
        let file = (FILE, "[banned_words]\n\"crates/a\" = 2\n");
        assert_eq!(messages(check, &[file, DIALECT]), Vec::<String>::new());
    }

    #[test]
    fn ratchet_file_that_cannot_be_read_is_found() {
        assert_one(check, &[(FILE, "[banned_words")], &format!("{FILE}:1"), "cannot read");
    }

    #[test]
    fn ratchet_areas_are_crates_and_folders() {
        assert_eq!(area_of("crates/core/src/lib.rs"), "crates/core");
        assert_eq!(area_of("web/src/x.ts"), "web");
        assert_eq!(area_of("README.md"), "README.md");
    }
}
