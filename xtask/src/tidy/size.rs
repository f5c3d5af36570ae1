//! Limits on sizes: 400 lines of code per file and 100 columns per line. Tests do not count towards
//! the length of a file.

use super::Violation;
use super::source::Source;
use crate::tree::Tree;

const FILE_MAX_LINES: usize = 400;
const LINE_MAX_COLUMNS: usize = 100;
/// Markdown and TOML are not measured, because tables cannot always be broken.
const MEASURED: &[&str] = &[".rs", ".lua", ".sql", ".sh", ".ci/run"];

pub fn files(tree: &Tree) -> Vec<Violation> {
    let code = tree.ending(".rs").filter(|(path, _)| !is_test_file(path));
    code.filter_map(|(path, text)| file(path, text)).collect()
}

pub fn lines(tree: &Tree) -> Vec<Violation> {
    let measured = |path: &str| MEASURED.iter().any(|ending| path.ends_with(ending));
    tree.texts()
        .filter(|(path, _)| measured(path))
        .flat_map(|(path, text)| columns(path, text))
        .collect()
}

pub fn is_test_file(path: &str) -> bool {
    let is_named_so = path.ends_with("_tests.rs") || path.ends_with("/tests.rs");
    is_named_so || path.starts_with("tests/") || path.contains("/tests/")
}

fn file(path: &str, text: &str) -> Option<Violation> {
    let tests: usize =
        Source::scan(text).test_modules().iter().map(|(first, last)| last - first + 1).sum();
    let length = text.lines().count() - tests;
    (length > FILE_MAX_LINES).then(|| {
        let message = format!(
            "{length} lines without its tests, at most {FILE_MAX_LINES}: split it by what it knows"
        );
        Violation::new(path, FILE_MAX_LINES + 1, message)
    })
}

fn columns(path: &str, text: &str) -> Vec<Violation> {
    let long = text.lines().enumerate().filter_map(|(at, line)| {
        let columns = line.chars().count();
        (columns > LINE_MAX_COLUMNS).then(|| {
            let message = format!("{columns} columns, at most {LINE_MAX_COLUMNS}");
            Violation::new(path, at + 1, message)
        })
    });
    long.collect()
}

#[cfg(test)]
mod tests {
    use super::super::{assert_one, messages};
    use super::*;

    #[test]
    fn file_of_401_lines_is_too_long_and_400_is_not() {
        let fits = "//! x\n".repeat(400);
        assert_eq!(messages(files, &[("a.rs", &fits)]), Vec::<String>::new());
        let long = "//! x\n".repeat(401);
        assert_one(files, &[("a.rs", &long)], "a.rs:401", "401 lines");
    }

    #[test]
    fn file_length_excludes_inline_tests() {
        let code = "fn f() {}\n".repeat(395);
        let tests = format!("{code}#[cfg(test)]\nmod tests {{\n{}}}\n", "\n".repeat(100));
        assert_eq!(messages(files, &[("a.rs", &tests)]), Vec::<String>::new());
        let more = format!("{}{tests}", "fn g() {}\n".repeat(6));
        assert_one(files, &[("a.rs", &more)], "a.rs:401", "401 lines");
        let long = "fn f() {}\n".repeat(900);
        for path in ["src/a_tests.rs", "src/a/tests.rs", "crates/x/tests/it/a.rs", "tests/a.rs"] {
            assert_eq!(messages(files, &[(path, &long)]), Vec::<String>::new());
        }
    }

    #[test]
    fn line_length_counts_characters_up_to_100() {
        let fits = format!("//! {}\n", "é".repeat(96));
        assert_eq!(messages(lines, &[("a.rs", &fits)]), Vec::<String>::new());
        let long = format!("//! a\n//! {}\n", "é".repeat(97));
        assert_one(lines, &[("a.rs", &long)], "a.rs:2", "101 columns");
        assert_one(lines, &[("a/lua/b.lua", &long)], "a/lua/b.lua:2", "101");
        assert_eq!(messages(lines, &[("a.md", &long)]), Vec::<String>::new());
    }
}
