//! Each constraint of a match on its own, at its boundary, and all of them together.

use super::*;
use crate::policy::samples::{asking, noon, policy, subject};
use crate::policy::{AuthorKind, Document, Hours, Pattern, Weekday};
use crate::risk::Score;
use std::collections::BTreeSet;

fn patterns(texts: &[&str]) -> Vec<Pattern> {
    texts.iter().map(|text| Pattern::new(text).unwrap()).collect()
}

fn tags(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// The subject is an agent's `schema.migrate` of `database:prod-db-01` and `cache:eu/x`, tagged
/// `production`, at risk 40.
fn holds(matching: &Match) -> bool {
    matching.holds(&subject(), noon())
}

#[test]
fn matching_ignores_empty_conditions() {
    assert!(holds(&Match::default()));
}

#[test]
fn matching_needs_one_of_the_type_patterns() {
    for (globs, expected) in [
        (&["schema.*"][..], true),
        (&["deploy", "schema.migrate"], true),
        (&["deploy"], false),
        (&["schema"], false),
    ] {
        let matching = Match { task_types: patterns(globs), ..Match::default() };
        assert_eq!(holds(&matching), expected, "{globs:?}");
    }
}

#[test]
fn matching_needs_one_resource_with_one_pattern() {
    for (globs, expected) in [
        (&["database:prod-*"][..], true),
        (&["database:staging-*", "cache:**"], true),
        (&["eu/*"], true),
        (&["queue:**"], false),
    ] {
        let matching = Match { resource_patterns: patterns(globs), ..Match::default() };
        assert_eq!(holds(&matching), expected, "{globs:?}");
    }
    let matching = Match { resource_patterns: patterns(&["**"]), ..Match::default() };
    let mut nothing = subject();
    nothing.resources.clear();
    assert!(!matching.holds(&nothing, noon()), "a task without resources matches no pattern");
}

#[test]
fn matching_needs_one_common_tag() {
    for (names, expected) in
        [(&["production"][..], true), (&["other", "production"], true), (&["other"], false)]
    {
        let matching = Match { tags: tags(names), ..Match::default() };
        assert_eq!(holds(&matching), expected, "{names:?}");
    }
}

#[test]
fn matching_risk_includes_its_bound() {
    for (least, expected) in [(39, true), (40, true), (41, false)] {
        let matching = Match { risk_at_least: Some(Score::new(least)), ..Match::default() };
        assert_eq!(holds(&matching), expected, "{least}");
    }
}

#[test]
fn matching_checks_author_kind_and_hours() {
    for (kind, expected) in [(AuthorKind::Agent, true), (AuthorKind::User, false)] {
        let matching = Match { author_kind: Some(kind), ..Match::default() };
        assert_eq!(holds(&matching), expected, "{kind:?}");
    }
    for (day, expected) in [(Weekday::Wednesday, true), (Weekday::Thursday, false)] {
        let matching = Match {
            hours: Some(Hours::new("UTC", [day], "12:00", "12:01").unwrap()),
            ..Match::default()
        };
        assert_eq!(holds(&matching), expected, "{day:?}");
    }
}

/// A single failing constraint prevents the match.
#[test]
fn matching_needs_all_given_conditions() {
    let all = || Match {
        task_types: patterns(&["schema.*"]),
        resource_patterns: patterns(&["database:prod-*"]),
        tags: tags(&["production"]),
        risk_at_least: Some(Score::new(40)),
        author_kind: Some(AuthorKind::Agent),
        hours: Some(Hours::new("UTC", [], "11:00", "13:00").unwrap()),
    };
    assert!(holds(&all()));
    let failing = [
        Match { task_types: patterns(&["x"]), ..all() },
        Match { resource_patterns: patterns(&["x"]), ..all() },
        Match { tags: tags(&["x"]), ..all() },
        Match { risk_at_least: Some(Score::new(41)), ..all() },
        Match { author_kind: Some(AuthorKind::User), ..all() },
        Match { hours: Some(Hours::new("UTC", [], "13:00", "14:00").unwrap()), ..all() },
    ];
    for matching in failing {
        assert!(!holds(&matching), "{matching:?}");
    }
}

#[test]
fn matching_leaves_out_disabled_policies() {
    let off = Document { enabled: false, ..asking("off") };
    let elsewhere = Document {
        matching: Match { task_types: patterns(&["deploy"]), ..Match::default() },
        ..asking("elsewhere")
    };
    let policies =
        [policy(1, off), policy(2, asking("two")), policy(3, elsewhere), policy(4, asking("four"))];
    let found: Vec<&str> = matching(&policies, &subject(), noon())
        .iter()
        .map(|policy| policy.document.name.as_str())
        .collect();
    assert_eq!(found, ["two", "four"]);
}
