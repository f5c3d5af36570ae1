//! The paths a Rust file names, written out in full: groups in `use` are opened, renames and
//! imported modules are followed. Macros that build paths are not seen through.

use std::collections::BTreeMap;
use std::iter::Peekable;
use std::slice::Iter;

use super::source::{Kind, Source, Token};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    pub line: usize,
    /// Segments joined by `::`; a glob ends in `*`.
    pub path: String,
}

pub fn of(source: &Source) -> Vec<Named> {
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
        } else if token.kind == Kind::Word {
            reader.branch("", token);
        }
    }
    let imported = reader.imported;
    reader.named.into_iter().map(|named| written_out(named, &imported)).collect()
}

/// `time::Instant` after `use std::time` is `std::time::Instant`.
fn written_out(named: Named, imported: &BTreeMap<String, String>) -> Named {
    let (first, rest) = named.path.split_once("::").unwrap_or((&named.path, ""));
    match imported.get(first) {
        Some(full) if !rest.is_empty() => Named { path: format!("{full}::{rest}"), ..named },
        _ => named,
    }
}

struct Reader<'a> {
    tokens: Peekable<Iter<'a, Token>>,
    /// What a name in this file stands for.
    imported: BTreeMap<String, String>,
    named: Vec<Named>,
    is_import: bool,
}

impl Reader<'_> {
    fn branch(&mut self, prefix: &str, first: &Token) {
        if first.is("{") {
            return self.group(prefix);
        }
        let mut path = extend(prefix, &first.text);
        while self.tokens.next_if(|token| token.is("::")).is_some() {
            let is_path = |token: &&Token| token.kind == Kind::Word || token.is("*");
            match self.tokens.next_if(is_path) {
                Some(token) => path = extend(&path, &token.text),
                None if self.tokens.next_if(|token| token.is("{")).is_some() => {
                    return self.group(&path);
                }
                // A turbofish or a type in angle brackets: the path ends here.
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
        self.named.push(Named { line, path });
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
    fn groups_are_opened() {
        let text = "use std::{fs, io::{self, Write as _}, time::*};\nuse ::serde::de;";
        let expected = ["std::fs", "std::io", "std::io::Write", "std::time::*", "serde::de"];
        assert_eq!(paths(text), expected);
    }

    #[test]
    fn each_path_has_its_own_line() {
        let text = "use std::{\n    fs,\n    io::Write,\n};\nlet x = a::b();\n";
        let expected = [(2, "std::fs"), (3, "std::io::Write"), (5, "a::b")];
        assert_eq!(named(text), expected.map(|(line, path)| (line, path.to_owned())));
    }

    #[test]
    fn imported_and_renamed_modules_are_followed() {
        let text =
            "use std::time;\nuse std::fs as disk;\nlet a = time::Instant::now(); disk::read(x);";
        assert_eq!(paths(text)[2..], ["std::time::Instant::now", "std::fs::read"]);
    }

    #[test]
    fn a_module_of_ours_with_a_known_name_stays_ours() {
        let text = "use crate::time;\nlet a = time::Instant::new();";
        assert_eq!(paths(text), ["crate::time", "crate::time::Instant::new"]);
    }

    #[test]
    fn turbofish_ends_a_path_and_comments_name_nothing() {
        let text = "// std::fs\nlet a = \"std::fs\"; std::mem::size_of::<std::net::IpAddr>();";
        assert_eq!(paths(text), ["std::mem::size_of", "std::net::IpAddr"]);
    }
}
