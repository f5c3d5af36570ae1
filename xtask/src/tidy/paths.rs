//! The full paths that a Rust file uses: groups in `use` are expanded, and renames and imported
//! modules are resolved. Paths built by macros are not found.

use std::collections::BTreeMap;
use std::iter::Peekable;
use std::slice::Iter;

use super::source::{Kind, Source, SourceToken};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    pub line: usize,
    /// Segments joined by `::`; a glob ends in `*`.
    pub path: String,
    /// Whether the path occurs in a `use` declaration.
    pub is_import: bool,
}

pub fn of(source: &Source) -> Vec<Named> {
    let (named, imported) = read(source);
    named.into_iter().map(|named| written_out(named, &imported)).collect()
}

/// Returns the names that the `use` declarations of a file introduce, with their full paths.
pub fn imported(source: &Source) -> BTreeMap<String, String> {
    read(source).1
}

fn read(source: &Source) -> (Vec<Named>, BTreeMap<String, String>) {
    let mut reader = Reader {
        tokens: source.tokens.iter().peekable(),
        imported: BTreeMap::new(),
        named: Vec::new(),
        is_import: false,
    };
    while let Some(token) = reader.tokens.next() {
        if token.is("use") {
            reader.is_import = true;
            let _ = reader.tokens.next_if(|token| token.is("::"));
            if let Some(first) = reader.tokens.next() {
                reader.branch("", first);
            }
            reader.is_import = false;
        } else if token.is("mod") {
            // The name of a declared module is not a use of it.
            let _ = reader.tokens.next_if(|token| token.kind == Kind::Word);
        } else if token.kind == Kind::Word {
            reader.branch("", token);
        }
    }
    (reader.named, reader.imported)
}

/// Resolves a path: `time::Instant` after `use std::time` is `std::time::Instant`.
fn written_out(named: Named, imported: &BTreeMap<String, String>) -> Named {
    let (first, rest) = named.path.split_once("::").unwrap_or((&named.path, ""));
    match imported.get(first) {
        Some(full) if !rest.is_empty() => Named { path: format!("{full}::{rest}"), ..named },
        _ => named,
    }
}

struct Reader<'a> {
    tokens: Peekable<Iter<'a, SourceToken>>,
    /// The full path of each name that is imported in this file.
    imported: BTreeMap<String, String>,
    named: Vec<Named>,
    is_import: bool,
}

impl Reader<'_> {
    fn branch(&mut self, prefix: &str, first: &SourceToken) {
        if first.is("{") {
            return self.group(prefix);
        }
        let mut path = extend(prefix, &first.text);
        while self.tokens.next_if(|token| token.is("::")).is_some() {
            let is_path = |token: &&SourceToken| token.kind == Kind::Word || token.is("*");
            match self.tokens.next_if(is_path) {
                Some(token) => path = extend(&path, &token.text),
                None if self.tokens.next_if(|token| token.is("{")).is_some() => {
                    return self.group(&path);
                }
                // A turbofish or a type in angle brackets ends the path.
                None => break,
            }
        }
        self.leaf(path, first.line);
    }

    fn group(&mut self, prefix: &str) {
        while let Some(token) = self.tokens.next() {
            if token.is("}") {
                return;
            }
            if !token.is(",") {
                self.branch(prefix, token);
            }
        }
    }

    fn leaf(&mut self, path: String, line: usize) {
        let path = path.strip_suffix("::self").map(str::to_owned).unwrap_or(path);
        if self.is_import {
            let own = path.rsplit("::").next().unwrap_or_default().to_owned();
            let renamed = self.tokens.next_if(|token| token.is("as"));
            let renamed = renamed.and_then(|_| self.tokens.next());
            let name = renamed.map_or(own, |token| token.text.clone());
            self.imported.insert(name, path.clone());
        }
        self.named.push(Named { line, path, is_import: self.is_import });
    }
}

fn extend(prefix: &str, segment: &str) -> String {
    if prefix.is_empty() { segment.to_owned() } else { format!("{prefix}::{segment}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(text: &str) -> Vec<(usize, String)> {
        let paths = of(&Source::scan(text)).into_iter();
        paths
            .filter(|named| named.path.contains("::"))
            .map(|named| (named.line, named.path))
            .collect()
    }

    fn paths(text: &str) -> Vec<String> {
        named(text).into_iter().map(|(_, path)| path).collect()
    }

    #[test]
    fn path_groups_are_expanded() {
        let text = "use std::{fs, io::{self, Write as _}, time::*};\nuse ::serde::de;";
        let expected = ["std::fs", "std::io", "std::io::Write", "std::time::*", "serde::de"];
        assert_eq!(paths(text), expected);
    }

    #[test]
    fn paths_have_their_own_line() {
        let text = "use std::{\n    fs,\n    io::Write,\n};\nlet x = a::b();\n";
        let expected = [(2, "std::fs"), (3, "std::io::Write"), (5, "a::b")];
        assert_eq!(named(text), expected.map(|(line, path)| (line, path.to_owned())));
    }

    #[test]
    fn paths_through_renamed_imports_are_resolved() {
        let text =
            "use std::time;\nuse std::fs as disk;\nlet a = time::Instant::now(); disk::read(x);";
        assert_eq!(paths(text)[2..], ["std::time::Instant::now", "std::fs::read"]);
    }

    #[test]
    fn path_of_a_local_module_with_a_known_name_is_local() {
        let text = "use crate::time;\nlet a = time::Instant::new();";
        assert_eq!(paths(text), ["crate::time", "crate::time::Instant::new"]);
    }

    #[test]
    fn path_ends_at_a_turbofish_and_comments_are_ignored() {
        let text = "// std::fs\nlet a = \"std::fs\"; std::mem::size_of::<std::net::IpAddr>();";
        assert_eq!(paths(text), ["std::mem::size_of", "std::net::IpAddr"]);
    }
}
