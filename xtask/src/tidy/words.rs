//! Words that the documentation and the code of this repository avoid, because engineers do not
//! use them for what they meant here. `docs/GLOSSARY.md` has the terms to use instead.

use super::Violation;
use crate::tree::Tree;

const READ: &[&str] = &[".rs", ".md", ".ts", ".tsx", ".sql", ".lua"];

/// Each word or phrase with a hint. They are in two pieces, because this file is checked as well.
const BANNED: &[(&str, &str)] = &[
    (concat!("to", "ld"), "reported, notified, returned, or the name of the value"),
    (concat!("who", "ever"), "the caller, the holder, the reviewer"),
    (concat!("no", "body"), "no one, none, or name who is missing"),
    (concat!("some", "body"), "a person, an agent, a process"),
    (concat!("a", "new"), "again"),
    (concat!("m", "end"), "fix"),
    (concat!("m", "ends"), "fixes"),
    (concat!("m", "ended"), "fixed"),
    (concat!("m", "ending"), "fixing"),
    (concat!("in ", "vain"), "without success"),
    (concat!("no part ", "of"), "not part of"),
    (concat!("is ", "none"), "is not one, does not exist"),
    (concat!("by ", "itself"), "automatically, on its own, alone"),
];

pub fn check(tree: &Tree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (path, text) in tree.texts() {
        if !READ.iter().any(|ending| path.ends_with(ending)) {
            continue;
        }
        for (at, line) in text.lines().enumerate() {
            let line = line.to_lowercase();
            for (word, hint) in BANNED {
                for _ in 0..occurrences(&line, word) {
                    let message = format!("`{word}` is not used here; write: {hint}");
                    violations.push(Violation::new(path, at + 1, message));
                }
            }
        }
    }
    violations
}

/// Counts whole words and phrases. An underscore separates words, so that identifiers are checked
/// as well.
fn occurrences(line: &str, word: &str) -> usize {
    line.match_indices(word)
        .filter(|(at, _)| {
            let before = line.get(..*at).unwrap_or_default();
            let after = line.get(at + word.len()..).unwrap_or_default();
            !before.ends_with(char::is_alphanumeric) && !after.starts_with(char::is_alphanumeric)
        })
        .count()
}

#[cfg(test)]
mod tests {
    use super::super::{assert_one, messages};
    use super::*;

    #[test]
    fn banned_word_is_found_in_every_kind_of_file() {
        for (word, _) in BANNED {
            for ending in READ {
                let (path, text) = (format!("a{ending}"), format!("x\nit {word}, y\n"));
                assert_one(check, &[(&path, &text)], &format!("{path}:2"), word);
            }
            let text = format!("fn a_{}_b() {{}}", word.replace(' ', "_"));
            let is_one_word = !word.contains(' ');
            assert_eq!(messages(check, &[("a.rs", &text)]).len(), usize::from(is_one_word));
        }
    }

    #[test]
    fn longer_words_and_other_files_are_accepted() {
        let text = concat!("sto", "ld am", "endment ren", "ewed\n");
        assert_eq!(messages(check, &[("a.rs", text)]), Vec::<String>::new());
        let text = concat!("to", "ld\n");
        assert_eq!(messages(check, &[("a.json", text)]), Vec::<String>::new());
    }
}
