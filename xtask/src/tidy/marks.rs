//! Words that must not occur in the repository: marks of unfinished work without a reason, paths of
//! one machine, and hosts of package registries (packages are requested by name, so that a mirror
//! works).

use super::Violation;
use super::source::Source;
use crate::tree::Tree;

const MARKS: &[&str] = &[concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X")];

/// Each is in two pieces, because this file is checked as well.
const FOREIGN: &[(&str, &str)] = &[
    (concat!("/", "work/"), "a path of one machine"),
    (concat!("/", "tmp/wt"), "a path of one machine"),
    (concat!("/", "root/"), "a path of one machine"),
    (concat!("crates", ".io"), "the host of a package registry"),
    (concat!("pypi", ".org"), "the host of a package registry"),
    (concat!("python", "hosted.org"), "the host of a package registry"),
    (concat!("npm", "js.org"), "the host of a package registry"),
];

const CODE: &str = ".rs";

/// Cargo writes the source of each crate into this file; no other file may contain it.
const WRITTEN_BY_TOOLS: &[&str] = &["Cargo.lock"];

pub fn unfinished(tree: &Tree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (path, text) in tree.texts() {
        // In code only a comment can contain a mark, because a literal may be about one.
        let pieces = if path.ends_with(CODE) {
            Source::scan(text).comments
        } else {
            vec![(1, text.to_owned())]
        };
        for (first, piece) in pieces {
            for (at, line) in piece.lines().enumerate() {
                if let Some(mark) = MARKS.iter().find(|mark| is_bare(line, mark)) {
                    let message =
                        format!("{mark} without a reason: write {mark}(what it waits for)");
                    violations.push(Violation::new(path, first + at, message));
                }
            }
        }
    }
    violations
}

/// Returns whether the line contains the mark as a separate word without a `(reason)`.
fn is_bare(line: &str, mark: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(mark).any(|(at, _)| {
        let (before, rest) = line.split_at_checked(at).unwrap_or(("", line));
        let after = rest.strip_prefix(mark).unwrap_or_default();
        let is_word = !before.ends_with(is_part) && !after.starts_with(is_part);
        let reason = after.strip_prefix('(').and_then(|text| text.split_once(')'));
        is_word && reason.is_none_or(|(why, _)| why.trim().is_empty())
    })
}

pub fn foreign(tree: &Tree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (path, text) in tree.texts().filter(|(path, _)| !WRITTEN_BY_TOOLS.contains(path)) {
        for (at, line) in text.lines().enumerate() {
            for (word, what) in FOREIGN.iter().filter(|(word, _)| holds(line, word)) {
                violations.push(Violation::new(path, at + 1, format!("`{word}` is {what}")));
            }
        }
    }
    violations
}

/// Returns whether a path begins in the line; a directory of ours may have the same name further
/// down.
fn holds(line: &str, word: &str) -> bool {
    let is_inside = |c: char| c.is_alphanumeric() || "._-".contains(c);
    line.match_indices(word).any(|(at, _)| {
        let before = line.get(..at).unwrap_or_default();
        !word.starts_with('/') || !before.ends_with(is_inside)
    })
}

#[cfg(test)]
mod tests {
    use super::super::{assert_one, messages};
    use super::*;

    #[test]
    fn mark_of_unfinished_work_needs_a_reason() {
        for mark in MARKS {
            let text = format!("//! x\nlet a = 1; // {mark}: later\n");
            assert_one(unfinished, &[("a.rs", &text)], "a.rs:2", mark);
            let text = format!("a\nb\n- {mark}() c\n");
            assert_one(unfinished, &[("a.md", &text)], "a.md:3", mark);
            let text = format!("/* a\n {mark} */\n");
            assert_one(unfinished, &[("a.rs", &text)], "a.rs:2", mark);
        }
    }

    #[test]
    fn mark_with_a_reason_or_inside_a_word_is_accepted() {
        for mark in MARKS {
            let code =
                format!("// {mark}(sqlx 0.10): drop the cast\nlet x = \"{mark}\"; // MY{mark}S\n");
            assert_eq!(messages(unfinished, &[("a.rs", &code)]), Vec::<String>::new());
        }
    }

    #[test]
    fn mark_of_a_local_path_or_registry_host_is_found() {
        for (word, what) in FOREIGN {
            let text = format!("a\nsee {word}x\n");
            assert_one(foreign, &[("docs/a.md", &text)], "docs/a.md:2", what);
            assert_eq!(messages(foreign, &[("Cargo.lock", &text)]), Vec::<String>::new());
        }
        assert_eq!(
            messages(foreign, &[("a.md", "a network/x in crates/engine/src/workers/mod.rs\n")]),
            Vec::<String>::new()
        );
    }
}
