//! Names of tests and public types. A test is named `feature_condition_outcome`; a public type
//! has one definition in its crate and its name occurs in at most two crates.

use std::collections::BTreeMap;

use super::Violation;
use super::source::{Kind, Source, SourceToken};
use crate::tree::Tree;

const TEST_NAME_MAX: usize = 60;
/// A name that begins with one of these is a sentence and does not begin with the feature.
const NOT_A_FEATURE: &[&str] = &[
    "a", "all", "an", "any", "both", "each", "every", "how", "it", "many", "no", "none", "of",
    "one", "only", "some", "that", "the", "they", "this", "those", "two", "what", "when", "where",
    "who", "whose",
];
const CRATES_OF_ONE_NAME_MAX: usize = 2;
const TYPE_KEYWORDS: &[&str] = &["struct", "enum", "trait", "type"];

pub fn tests(tree: &Tree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (path, text) in tree.ending(".rs") {
        for (line, name) in test_names(&Source::scan(text).tokens) {
            let first = name.split('_').next().unwrap_or_default();
            if name.chars().count() > TEST_NAME_MAX {
                let message = format!("test name is longer than {TEST_NAME_MAX} characters");
                violations.push(Violation::new(path, line, format!("{message}: {name}")));
            } else if NOT_A_FEATURE.contains(&first) {
                let message = format!("test name does not begin with the feature: {name}");
                violations.push(Violation::new(path, line, message));
            }
        }
    }
    violations
}

/// Returns the functions with an attribute whose path ends in `test`.
fn test_names(tokens: &[SourceToken]) -> Vec<(usize, String)> {
    let mut names = Vec::new();
    let mut is_test = false;
    for (at, token) in tokens.iter().enumerate() {
        let previous = at.checked_sub(1).and_then(|before| tokens.get(before));
        let next = tokens.get(at + 1);
        if token.is("test") && previous.is_some_and(|mark| mark.is("[") || mark.is("::")) {
            is_test = next.is_some_and(|mark| mark.is("]") || mark.is("("));
        } else if token.is("fn") && is_test {
            names.extend(next.map(|name| (name.line, name.text.clone())));
            is_test = false;
        }
    }
    names
}

pub fn types(tree: &Tree) -> Vec<Violation> {
    let mut defined: BTreeMap<String, BTreeMap<String, Vec<(String, usize)>>> = BTreeMap::new();
    for (path, text) in tree.ending(".rs").filter(|(path, _)| path.contains("/src/")) {
        let Some((member, _)) = path.split_once("/src/") else { continue };
        let source = Source::scan(text);
        let tests = source.test_modules();
        for (line, name) in public_types(&source.tokens) {
            if !tests.iter().any(|(first, last)| (*first..=*last).contains(&line)) {
                let crates = defined.entry(name).or_default();
                crates.entry(member.to_owned()).or_default().push((path.to_owned(), line));
            }
        }
    }
    let mut violations = Vec::new();
    for (name, crates) in &defined {
        for places in crates.values() {
            for (path, line) in places.iter().skip(1) {
                let message = format!("public type `{name}` is defined twice in this crate");
                violations.push(Violation::new(path, *line, message));
            }
        }
        for places in crates.values().skip(CRATES_OF_ONE_NAME_MAX) {
            let message = format!("public type `{name}` is defined in {} crates", crates.len());
            violations
                .extend(places.first().map(|(path, line)| Violation::new(path, *line, message)));
        }
    }
    violations
}

fn public_types(tokens: &[SourceToken]) -> Vec<(usize, String)> {
    let is_keyword = |token: &SourceToken| TYPE_KEYWORDS.iter().any(|keyword| token.is(keyword));
    let triples = tokens.windows(3).filter_map(|window| match window {
        [visibility, keyword, name] if visibility.is("pub") && is_keyword(keyword) => {
            (name.kind == Kind::Word).then(|| (name.line, name.text.clone()))
        }
        _ => None,
    });
    triples.collect()
}

#[cfg(test)]
mod unit_tests {
    use super::super::{assert_one, messages};
    use super::*;

    #[test]
    fn test_name_that_is_too_long_is_found() {
        let name = "feature_".repeat(8);
        for attribute in ["#[test]", "#[tokio::test]", "#[tokio::test(start_paused = true)]"] {
            let text = format!("{attribute}\nasync fn {name}() {{}}\nfn {name}x() {{}}\n");
            assert_one(tests, &[("a.rs", &text)], "a.rs:2", "longer");
        }
    }

    #[test]
    fn test_name_that_is_a_sentence_is_found() {
        let text = "#[test]\nfn what_it_does_is_seen() {}\n";
        assert_one(tests, &[("a.rs", text)], "a.rs:2", "feature");
        let text = "#[test]\nfn token_expired_is_refused() {}\nfn the_helper() {}\n";
        assert_eq!(messages(tests, &[("a.rs", text)]), Vec::<String>::new());
    }

    #[test]
    fn public_type_defined_twice_is_found() {
        let text = "pub struct Page;\nmod x { pub enum Page {} }\nstruct Kept; type Kept = u8;\n";
        assert_one(types, &[("crates/a/src/lib.rs", text)], "crates/a/src/lib.rs:2", "twice");
    }

    #[test]
    fn public_type_in_three_crates_is_found() {
        let text = "pub struct Page;\n";
        let files = ["crates/a/src/x.rs", "crates/b/src/x.rs", "crates/c/src/x.rs"];
        let [a, b, c] = files.map(|path| (path, text));
        assert_one(types, &[a, b, c], "crates/c/src/x.rs:1", "3 crates");
        assert_eq!(messages(types, &[a, b]), Vec::<String>::new());
    }
}
