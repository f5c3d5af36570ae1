//! The core decides and does nothing else: no clock, no disk, no net, no threads, no chance,
//! and no collection whose order changes from run to run. Its tests may do as they like.

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
    // Addresses are values; what opens a connection is not.
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

/// Where a library takes nothing else. Such a collection is filled and handed over, never walked.
const HANDED_OVER: &[(&str, &str)] = &[
    // Cedar's entities take their attributes and parents in these.
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

/// A path reaches what it names, what lies below it, and what its glob would bring in.
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
    use super::super::{assert_one, told};
    use super::*;

    const PATH: &str = "crates/core/src/task/decide.rs";

    #[test]
    fn every_impure_path_is_found_where_it_stands() {
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
    fn roundabout_ways_are_found_too() {
        let text = "//! x\nuse std::time;\nfn f() { time::SystemTime::now(); }\n";
        assert_one(check, &[(PATH, text)], &format!("{PATH}:3"), "clock");
        let text = "//! x\nuse std::collections::*;\n";
        assert_one(check, &[(PATH, text)], &format!("{PATH}:2"), "order");
        let text = "//! x\nuse std as world;\nfn f() { world::fs::read(x); }\n";
        assert_one(check, &[(PATH, text)], &format!("{PATH}:3"), "I/O");
    }

    #[test]
    fn what_a_library_takes_is_let_through_there_only() {
        let text = "//! x\nuse std::collections::HashMap;\n";
        let access = "crates/core/src/access/world.rs";
        assert_eq!(told(check, &[(access, text)]), Vec::<String>::new());
        assert_one(check, &[(PATH, text)], &format!("{PATH}:2"), "HashMap");
        let text = "//! x\nuse std::collections::hash_map::Entry;\n";
        assert_one(check, &[(access, text)], &format!("{access}:2"), "order");
    }

    #[test]
    fn pure_code_tests_and_other_crates_are_left_alone() {
        let pure = "//! std::fs\nuse std::{net::IpAddr, time::Duration};\n\
            use crate::time;\nlet rand = \"std::fs\";\n";
        assert_eq!(told(check, &[(PATH, pure)]), Vec::<String>::new());
        let tests = "//! x\n#[cfg(test)]\nmod tests {\n    use std::collections::HashSet;\n}\n";
        assert_eq!(told(check, &[(PATH, tests)]), Vec::<String>::new());
        let impure = "//! x\nuse std::fs;\n";
        for path in
            ["crates/store/src/a.rs", "crates/core/tests/a.rs", "crates/core/src/a_tests.rs"]
        {
            assert_eq!(told(check, &[(path, impure)]), Vec::<String>::new());
        }
    }
}
