//! The beginning of a file says what it contains: a `//!` of one to five lines in Rust, the
//! contract in a Lua script, the reason in a migration.

use super::Violation;
use crate::migrations::NO_TRANSACTION;
use crate::tree::Tree;

const RUST_MAX_LINES: usize = 5;
/// What the caller of a script must know, and where its time comes from.
const LUA_CONTRACT: &[&str] = &["KEYS", "ARGV", "Reply", "Time"];
const LUA_FIRST_LINE: &str = "#!lua";
const MIGRATION_PREFIX: &str = "-- why: ";

pub fn rust(tree: &Tree) -> Vec<Violation> {
    tree.ending(".rs").filter_map(|(path, text)| rust_file(path, text)).collect()
}

fn rust_file(path: &str, text: &str) -> Option<Violation> {
    let header = text.lines().take_while(|line| line.starts_with("//!")).count();
    match header {
        0 => Some(Violation::new(
            path,
            1,
            "no `//!` header: describe the contents of the file and its invariants",
        )),
        lines if lines > RUST_MAX_LINES => {
            let message = format!("a header of {lines} lines, at most {RUST_MAX_LINES}");
            Some(Violation::new(path, RUST_MAX_LINES + 1, message))
        }
        _ => None,
    }
}

pub fn lua(tree: &Tree) -> Vec<Violation> {
    tree.ending(".lua").flat_map(|(path, text)| lua_file(path, text)).collect()
}

fn lua_file(path: &str, text: &str) -> Vec<Violation> {
    if text.lines().next() != Some(LUA_FIRST_LINE) {
        let message =
            format!("the first line is not `{LUA_FIRST_LINE}`: without it any key may be touched");
        return vec![Violation::new(path, 1, message)];
    }
    let header: Vec<&str> =
        text.lines().skip(1).take_while(|line| line.starts_with("--")).collect();
    let names = |word: &str| {
        let names_word = |line: &&str| line.trim_start_matches('-').trim_start().starts_with(word);
        header.iter().any(names_word)
    };
    LUA_CONTRACT
        .iter()
        .filter(|word| !names(word))
        .map(|word| Violation::new(path, 2, format!("the contract header has no `-- {word}` line")))
        .collect()
}

pub fn migrations(tree: &Tree) -> Vec<Violation> {
    tree.ending(".sql")
        .filter(|(path, _)| path.contains("/migrations/"))
        .filter(|(_, text)| !opens_with_reason(text))
        .map(|(path, _)| {
            let message = format!("the first line is not `{MIGRATION_PREFIX}…`, the reason for it");
            Violation::new(path, 1, message)
        })
        .collect()
}

fn opens_with_reason(text: &str) -> bool {
    let first = text.lines().find(|line| *line != NO_TRANSACTION).unwrap_or_default();
    first.strip_prefix(MIGRATION_PREFIX).is_some_and(|why| !why.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::super::{assert_one, messages};
    use super::*;

    const SCRIPT: &str = "crates/coord/lua/acquire.lua";
    const MIGRATION: &str = "crates/store/migrations/0001_task.sql";

    #[test]
    fn header_of_a_rust_file_has_one_to_five_lines() {
        for lines in [1, 5] {
            let text = format!("{}\nfn f() {{}}\n", "//! x\n".repeat(lines));
            assert_eq!(messages(rust, &[("a.rs", &text)]), Vec::<String>::new());
        }
        assert_one(rust, &[("a.rs", "fn f() {}\n")], "a.rs:1", "no `//!`");
        assert_one(rust, &[("a.rs", "\n//! late\n")], "a.rs:1", "no `//!`");
        assert_one(rust, &[("a.rs", "")], "a.rs:1", "no `//!`");
        assert_one(rust, &[("a.rs", &"//! x\n".repeat(6))], "a.rs:6", "6 lines");
    }

    #[test]
    fn header_of_a_script_states_its_contract() {
        let whole =
            "#!lua\n-- Grants.\n-- KEYS 1 meta\n-- ARGV 1 now\n-- Reply: x\n-- Time: TIME\n";
        assert_eq!(messages(lua, &[(SCRIPT, whole)]), Vec::<String>::new());
        for word in LUA_CONTRACT {
            let text = whole.replace(&format!("-- {word}"), "-- x");
            assert_one(lua, &[(SCRIPT, &text)], &format!("{SCRIPT}:2"), word);
        }
        let late = "#!lua\nlocal x = 1\n-- KEYS\n-- ARGV\n-- Reply\n-- Time\n";
        assert_eq!(messages(lua, &[(SCRIPT, late)]).len(), 4);
        assert_one(lua, &[(SCRIPT, "-- KEYS\n")], &format!("{SCRIPT}:1"), "#!lua");
    }

    #[test]
    fn header_of_a_migration_gives_its_reason() {
        let good = "-- why: tasks are the record\nCREATE TABLE task ();\n";
        assert_eq!(messages(migrations, &[(MIGRATION, good)]), Vec::<String>::new());
        let outside = format!("{NO_TRANSACTION}\n{good}");
        assert_eq!(messages(migrations, &[(MIGRATION, &outside)]), Vec::<String>::new());
        for bad in ["CREATE TABLE task ();\n", "-- why: \n", "", "\n-- why: late\n"] {
            assert_one(migrations, &[(MIGRATION, bad)], &format!("{MIGRATION}:1"), "why");
        }
        let elsewhere = [("crates/store/schema.sql", "CREATE TABLE task ();\n")];
        assert_eq!(messages(migrations, &elsewhere), Vec::<String>::new());
    }
}
