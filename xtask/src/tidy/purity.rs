//! The core only makes decisions: no clock, disk, network, threads or randomness, and no collection
//! whose order differs between runs. Its tests are exempt.

use super::size::is_test_file;
use super::source::Source;
use super::{Violation, paths};
use crate::tree::Tree;

const CORE: &str = "crates/core/src/";

const CLOCK: &str = "the core has no clock: take `now` as a parameter";
const WORLD: &str = "the core does no I/O: the shell loads facts and passes them in";
const ORDER: &str = "its order changes from run to run: use BTreeMap or BTreeSet";
const CHANCE: &str = "the core has no randomness: take the value as a parameter";

const IMPURE: &[(&str, &str)] = &[
    ("std::time::SystemTime", CLOCK),
    ("std::time::Instant", CLOCK),
    ("std::fs", WORLD),
    // Addresses are values; types that open a connection are not.
    ("std::net::TcpListener", WORLD),
    ("std::net::TcpStream", WORLD),
    ("std::net::ToSocketAddrs", WORLD),
    ("std::net::UdpSocket", WORLD),
    ("std::env", WORLD),
    ("std::process", WORLD),
    ("std::thread", WORLD),
    ("tokio", WORLD),
    ("rand", CHANCE),
    ("getrandom", CHANCE),
    ("std::collections::HashMap", ORDER),
    ("std::collections::HashSet", ORDER),
    ("std::collections::hash_map", ORDER),
    ("std::collections::hash_set", ORDER),
];

/// Collections that a library requires. They are filled and passed on, never iterated.
const HANDED_OVER: &[(&str, &str)] = &[
    // Cedar's entities take their attributes and parents in these collections.
    ("crates/core/src/access/", "std::collections::HashMap"),
    ("crates/core/src/access/", "std::collections::HashSet"),
];

pub fn check(tree: &Tree) -> Vec<Violation> {
    tree.ending(".rs")
        .filter(|(path, _)| path.starts_with(CORE) && !is_test_file(path))
        .flat_map(|(path, text)| file(path, text))
        .collect()
}

fn file(path: &str, text: &str) -> Vec<Violation> {
    let source = Source::scan(text);
    let tests = source.test_modules();
    let in_test = |line: usize| tests.iter().any(|(first, last)| (*first..=*last).contains(&line));
    let mut violations = Vec::new();
    for named in paths::of(&source) {
        let impure = IMPURE
            .iter()
            .find(|(banned, _)| reaches(&named.path, banned) && !is_handed_over(path, banned));
        if let Some((banned, why)) = impure.filter(|_| !in_test(named.line)) {
            violations.push(Violation::new(path, named.line, format!("`{banned}`: {why}")));
        }
    }
    violations
}

fn is_handed_over(path: &str, banned: &str) -> bool {
    let mut places = HANDED_OVER.iter();
    places.any(|(place, what)| path.starts_with(place) && banned == *what)
}

/// Returns whether a path reaches the banned item, something inside it, or a glob that includes it.
fn reaches(path: &str, banned: &str) -> bool {
    let below = |outer: &str, inner: &str| {
        inner.strip_prefix(outer).is_some_and(|rest| rest.starts_with("::"))
    };
    let is_named = path == banned && banned.contains("::");
    let is_globbed = path.strip_suffix("::*").is_some_and(|module| below(module, banned));
    is_named || below(banned, path) || is_globbed
}

#[cfg(test)]
mod tests {
    use super::super::{assert_one, messages};
    use super::*;

    const PATH: &str = "crates/core/src/task/decide.rs";

    #[test]
    fn impure_path_is_found_with_its_line() {
        for (banned, why) in IMPURE {
            let text = format!("//! x\n\nuse {banned}::thing;\n");
            assert_one(check, &[(PATH, &text)], &format!("{PATH}:3"), why);
        }
        let text = "//! x\nuse std::collections::{BTreeMap, HashMap};\n";
        assert_one(check, &[(PATH, text)], &format!("{PATH}:2"), "HashMap");
        let text = "//! x\nfn f() { let t = std::time::Instant::now(); }\n";
        assert_one(check, &[(PATH, text)], &format!("{PATH}:2"), "clock");
    }

    #[test]
    fn impure_path_through_aliases_is_found() {
        let text = "//! x\nuse std::time;\nfn f() { time::SystemTime::now(); }\n";
        assert_one(check, &[(PATH, text)], &format!("{PATH}:3"), "clock");
        let text = "//! x\nuse std::collections::*;\n";
        assert_one(check, &[(PATH, text)], &format!("{PATH}:2"), "order");
        let text = "//! x\nuse std as world;\nfn f() { world::fs::read(x); }\n";
        assert_one(check, &[(PATH, text)], &format!("{PATH}:3"), "I/O");
    }

    #[test]
    fn impure_path_is_accepted_in_listed_files_only() {
        let text = "//! x\nuse std::collections::HashMap;\n";
        let access = "crates/core/src/access/cedar/world.rs";
        assert_eq!(messages(check, &[(access, text)]), Vec::<String>::new());
        assert_one(check, &[(PATH, text)], &format!("{PATH}:2"), "HashMap");
        let text = "//! x\nuse std::collections::hash_map::Entry;\n";
        assert_one(check, &[(access, text)], &format!("{access}:2"), "order");
    }

    #[test]
    fn pure_code_tests_and_other_crates_are_left_alone() {
        let pure = "//! std::fs\nuse std::{net::IpAddr, time::Duration};\n\
            use crate::time;\nlet rand = \"std::fs\";\n";
        assert_eq!(messages(check, &[(PATH, pure)]), Vec::<String>::new());
        let tests = "//! x\n#[cfg(test)]\nmod tests {\n    use std::collections::HashSet;\n}\n";
        assert_eq!(messages(check, &[(PATH, tests)]), Vec::<String>::new());
        let impure = "//! x\nuse std::fs;\n";
        for path in
            ["crates/store/src/a.rs", "crates/core/tests/a.rs", "crates/core/src/a_tests.rs"]
        {
            assert_eq!(messages(check, &[(path, impure)]), Vec::<String>::new());
        }
    }
}
