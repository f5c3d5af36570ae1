//! Cases against policies: which pass, which ask whom, which can never be approved, and that every
//! expectation can fail.

use std::fmt::Write as _;

use super::*;
use crate::ids::PolicyId;
use crate::policy::Document;

fn policies(texts: &[&str]) -> Vec<Policy> {
    let read = |(id, text): (u128, &&str)| Policy {
        id: PolicyId::from_u128(id),
        version: 1,
        document: Document::parse_yaml(text).unwrap(),
    };
    (1..).zip(texts).map(read).collect()
}

const DATABASES: &str = "name: databases\nmatch: {resource_patterns: ['database:*']}\n\
                         require: [{roles: [dba], min: 2}]\nrespond_within: 4h\n";
const SMALL: &str = "name: small\nmatch: {risk_at_least: 0}\nauto_approve_if: {risk_below: 20}\n";

fn verdicts(policies: &[Policy], people: &str, cases: &[(&str, &str)]) -> Vec<CaseResult> {
    let mut text = format!("people: [{people}]\ncases:\n");
    for (number, (task, expect)) in cases.iter().enumerate() {
        let task = format!("task: {{type: a, {task}}}");
        let _ = writeln!(text, "- {{name: case {number}, {task}, expect: {{{expect}}}}}");
    }
    run(policies, &Cases::parse_yaml(&text).unwrap())
}

const TABLE: &str = "risk: 50, resources: ['database:orders']";

#[test]
fn policy_test_as_expected_has_no_differences() {
    let policies = policies(&[DATABASES, SMALL]);
    let all = verdicts(
        &policies,
        "",
        &[
            ("risk: 5", "outcome: passes, policies: [small]"),
            (
                TABLE,
                "outcome: review, policies: [small, databases], respond_within: 4h, \
                 groups: [{roles: [reviewer, admin]}, {roles: [dba], min: 2}], \
                 reject_threshold: 1, approval_valid_for: 7d, delegation: allowed",
            ),
            ("risk: 5, effect: declared", "outcome: review"),
        ],
    );
    for verdict in &all {
        assert_eq!(verdict.differences, [], "{verdict:?}");
    }
    assert_eq!(all[0].why, ["no approval is needed: small"]);
    let asked = ["1 of admin or reviewer: small", "2 of dba: databases"];
    for one in asked {
        assert!(all[1].why.contains(&one.to_owned()), "{:?}", all[1].why);
    }
    let because = "not auto-approved: databases: the policy has no `auto_approve_if`".to_owned();
    assert!(all[1].why.contains(&because), "{:?}", all[1].why);
}

#[test]
fn policy_test_failure_shows_both_sides() {
    let policies = policies(&[DATABASES]);
    for (expect, what, expected, found) in [
        ("outcome: passes", "outcome", "passes", "review"),
        ("outcome: review, groups: [{roles: [dba]}]", "groups", "1 of dba", "2 of dba"),
        ("outcome: review, policies: [small]", "policies", "small", "databases"),
        ("outcome: review, policies: []", "policies", "none", "databases"),
        ("outcome: review, reject_threshold: 2", "reject_threshold", "2", "1"),
        ("outcome: review, respond_within: 5h", "respond_within", "5h", "4h"),
        ("outcome: review, approval_valid_for: 1d", "approval_valid_for", "1d", "7d"),
        ("outcome: review, delegation: forbidden", "delegation", "forbidden", "allowed"),
        ("outcome: review, role_age_min: 24h", "role_age_min", "1d", "none"),
    ] {
        let results = verdicts(&policies, "", &[(TABLE, expect)]);
        let (expected, found) = (expected.to_owned(), found.to_owned());
        assert_eq!(results[0].differences, [Mismatch { what, expected, found }], "{expect}");
    }
}

#[test]
fn policy_test_outcome_depends_on_the_listed_people() {
    let policies = policies(&[DATABASES]);
    let two = "{name: Ann, roles: [dba]}, {name: Bob, roles: [dba]}";
    let task = format!("{TABLE}, author: Ann");
    let results =
        verdicts(&policies, two, &[(TABLE, "outcome: review"), (&task, "outcome: denied")]);
    assert_eq!((&results[0].differences[..], &results[1].differences[..]), (&[][..], &[][..]));
    let short = "only 1 of 2 required people could approve: databases".to_owned();
    assert!(results[1].why.contains(&short), "{:?}", results[1].why);
}

#[test]
fn policy_test_without_a_match_asks_default_reviewers() {
    let results =
        verdicts(&policies(&[DATABASES]), "", &[("risk: 1", "outcome: review, policies: []")]);
    assert_eq!(results[0].differences, []);
    assert_eq!(results[0].why, ["1 of admin or reviewer: the default, because no policy matches"]);
}

#[test]
fn policy_test_with_hours_needs_a_time() {
    let night = "name: night\nmatch: {hours: {zone: UTC, from: '22:00', to: '06:00'}}\n\
                 require: [{roles: [on-call]}]\n";
    let policies = policies(&[night]);
    let results = verdicts(
        &policies,
        "",
        &[
            ("risk: 1", "outcome: review"),
            ("risk: 1, at: 2026-03-18T23:00:00Z", "outcome: review, policies: [night]"),
            ("risk: 1, at: 2026-03-18T12:00:00Z", "outcome: review, policies: []"),
        ],
    );
    assert_eq!(results[0].differences[0].what, "task.at");
    assert_eq!((&results[1].differences[..], &results[2].differences[..]), (&[][..], &[][..]));
}
