//! One key catalogue: a literal that begins like a Redis key is allowed in `keys.rs` only, so every
//! key has one declared type, lifetime, owner and source. Scripts receive their keys as KEYS.

use super::Violation;
use super::source::{Kind, Source};
use crate::tree::Tree;

const CATALOGUE: &str = "crates/coord/src/keys.rs";
/// The prefix is in two pieces, because this file is checked as well.
const KEY_PREFIX: &str = concat!("ade", ":");

pub fn check(tree: &Tree) -> Vec<Violation> {
    let rust = tree.ending(".rs").filter(|(path, _)| *path != CATALOGUE);
    let mut violations: Vec<Violation> = rust.flat_map(|(path, text)| source(path, text)).collect();
    violations.extend(tree.ending(".lua").flat_map(|(path, text)| script(path, text)));
    violations
}

fn source(path: &str, text: &str) -> Vec<Violation> {
    let tokens = Source::scan(text).tokens;
    let keys = tokens
        .into_iter()
        .filter(|token| token.kind == Kind::Literal && token.text.starts_with(KEY_PREFIX));
    keys.map(|token| refuse(path, token.line)).collect()
}

fn script(path: &str, text: &str) -> Vec<Violation> {
    let quoted = ["'", "\"", "[["].map(|quote| format!("{quote}{KEY_PREFIX}"));
    text.lines()
        .enumerate()
        .filter(|(_, line)| quoted.iter().any(|key| line.contains(key.as_str())))
        .map(|(at, _)| refuse(path, at + 1))
        .collect()
}

fn refuse(path: &str, line: usize) -> Violation {
    Violation::new(path, line, format!("a key literal: declare it in {CATALOGUE}"))
}

#[cfg(test)]
mod tests {
    use super::super::{assert_one, messages};
    use super::*;

    #[test]
    fn redis_key_literal_outside_the_catalogue_is_found() {
        let text = format!("//! x\nconst KEY: &str = \"{KEY_PREFIX}lock\";\n");
        assert_one(
            check,
            &[("crates/coord/src/rate.rs", &text)],
            "crates/coord/src/rate.rs:2",
            "keys.rs",
        );
        assert_eq!(messages(check, &[(CATALOGUE, &text)]), Vec::<String>::new());
        let raw = format!("//! x\n\nlet key = r#\"{KEY_PREFIX}x\"#;\n");
        assert_one(check, &[("a.rs", &raw)], "a.rs:3", "keys.rs");
    }

    #[test]
    fn redis_key_in_prose_is_accepted() {
        let text = format!(
            "//! Keys begin with \"{KEY_PREFIX}\".\nlet a = \"made:up\"; // {KEY_PREFIX}x\n"
        );
        assert_eq!(messages(check, &[("a.rs", &text)]), Vec::<String>::new());
    }

    #[test]
    fn redis_key_in_a_script_is_found() {
        for quote in ["'", "\"", "[["] {
            let text = format!("#!lua\nlocal k = {quote}{KEY_PREFIX}x\n");
            assert_one(check, &[("a.lua", &text)], "a.lua:2", "keys.rs");
        }
        assert_eq!(
            messages(check, &[("a.lua", "#!lua\nlocal k = KEYS[1]\n")]),
            Vec::<String>::new()
        );
    }
}
