//! The meaning of a file of cases, and every possible error with its position.

use super::*;

fn complaints(text: &str) -> Vec<String> {
    match Cases::parse_yaml(text) {
        Ok(cases) => panic!("read as {cases:?}"),
        Err(refused) => refused.errors.iter().map(ToString::to_string).collect(),
    }
}

/// One complete case with the given parts.
fn one(task: &str, expect: &str) -> String {
    format!("cases:\n- name: a\n  task: {{{task}}}\n  expect: {{{expect}}}\n")
}

#[test]
fn policy_cases_parse_every_field() {
    let text = "people:\n- {name: Ann, roles: [dba, author]}\n\
                - {name: Bob, id: usr_00000000000000000000000009}\n\
                cases:\n- name: full\n  task:\n    type: sql.change\n    risk: 40\n    \
                resources: [database:orders]\n    tags: [money]\n    author_kind: agent\n    \
                author: Ann\n    effect: declared\n    at: 2026-03-18T15:30:00Z\n  expect:\n    \
                outcome: denied\n    groups: [{roles: [dba], min: 2}]\n    policies: [x]\n    \
                reject_threshold: 2\n    respond_within: 4h\n    approval_valid_for: 1d\n    \
                delegation: forbidden\n    role_age_min: 24h\n\
                - {name: short, task: {type: a, risk: 0}, expect: {outcome: passes}}\n";
    let read = Cases::parse_yaml(text).unwrap();
    let ids: Vec<UserId> = read.people.iter().map(|person| person.id).collect();
    assert_eq!(ids, [UserId::from_u128(1), UserId::from_u128(9)]);
    let [full, short] = &read.cases[..] else { panic!("{read:?}") };
    assert_eq!((full.line, full.author), (5, Some(UserId::from_u128(1))));
    assert_eq!(full.subject.author_roles, read.people[0].roles, "the roles of the listed author");
    assert_eq!(full.subject.origin, Origin::Declared);
    assert_eq!(full.subject.author_kind, AuthorKind::Agent);
    assert_eq!(full.subject.resources.first().unwrap().to_string(), "database:orders");
    assert_eq!(full.at, Some("2026-03-18T15:30:00Z".parse().unwrap()));
    assert_eq!(full.expected.respond_within, Some(Duration::from_hours(4)));
    assert_eq!(full.expected.role_age_min, Some(Duration::from_hours(24)));
    assert_eq!(full.expected.groups.as_ref().unwrap()[0].in_words(), "2 of dba");
    assert_eq!(short.subject.author_kind, AuthorKind::User);
    assert_eq!(short.subject.origin, Origin::Observed);
    assert_eq!((short.expected.groups.as_ref(), short.at), (None, None));
}

#[test]
fn policy_cases_errors_name_their_position() {
    let passes = "outcome: passes";
    for (text, expected) in [
        ("people: []\n".to_owned(), "line 1, column 1: `cases` is missing"),
        (
            "cases: []\n".to_owned(),
            "line 1, column 8: cases: the list is empty: write at least one case",
        ),
        ("cases: [{}]\n".to_owned(), "line 1, column 9: cases[0]: `name` is missing"),
        (one("risk: 1", passes), "line 3, column 9: cases[0].task: `type` is missing"),
        (one("type: a", passes), "line 3, column 9: cases[0].task: `risk` is missing"),
        (
            one("type: a, risk: 101", passes),
            "line 3, column 25: cases[0].task.risk: expected a whole number from 0 to 100, found \
             the number 101",
        ),
        (
            one("type: a, risk: 1, author: Ann", passes),
            "line 3, column 36: cases[0].task.author: `Ann` is not in `people`",
        ),
        (one("type: a, risk: 1", ""), "line 4, column 11: cases[0].expect: `outcome` is missing"),
        (
            one("type: a, risk: 1", "outcome: ok"),
            "line 4, column 21: cases[0].expect.outcome: `ok` is not one of passes, review, denied",
        ),
        (
            one("type: a, risk: 1", "outcome: denied"),
            "line 4, column 21: cases[0].expect.outcome: `people` is missing: without it, who \
             could approve is unknown",
        ),
        (
            one("type: a, risk: 1", "outcome: review, groups: []"),
            "line 4, column 37: cases[0].expect.groups: at least one group always applies: omit \
             `groups` to accept any",
        ),
        (
            one("type: a, risk: 1", "outcome: review, group: 1"),
            "line 4, column 29: cases[0].expect.group: unknown field: use one of outcome, groups, \
             policies, reject_threshold, respond_within, approval_valid_for, delegation, \
             role_age_min",
        ),
    ] {
        assert_eq!(complaints(&text)[0], expected, "{text}");
    }
}

#[test]
fn policy_cases_names_and_ids_are_unique() {
    let twice = "cases:\n- {name: a, task: {type: a, risk: 1}, expect: {outcome: review}}\n\
                 - {name: a, task: {type: a, risk: 1}, expect: {outcome: review}}\n";
    let errors = complaints(twice);
    assert_eq!(
        errors,
        ["line 3, column 3: cases[1]: `a` is already the name of an earlier case: choose another"]
    );
    let case = "cases: [{name: a, task: {type: a, risk: 1}, expect: {outcome: review}}]\n";
    let errors = complaints(&format!("people: [{{name: A}}, {{name: A}}]\n{case}"));
    assert!(errors[0].ends_with("people[1]: `A` is listed twice: keep one"), "{errors:?}");
    let one = "usr_00000000000000000000000001";
    let errors = complaints(&format!("people: [{{name: A}}, {{name: B, id: {one}}}]\n{case}"));
    assert!(errors[0].contains("has the id of an earlier person"), "{errors:?}");
    let both = one_with_roles();
    assert!(complaints(&both)[0].ends_with(TWO_SOURCES));
}

fn one_with_roles() -> String {
    let case = one("type: a, risk: 1, author: A, author_roles: [x]", "outcome: review");
    format!("people: [{{name: A}}]\n{case}")
}

#[test]
fn policy_cases_have_their_own_size_limit() {
    let case = |number: usize| {
        format!(
            "- {{name: case {number}, task: {{type: a, risk: 1}}, expect: {{outcome: review}}}}\n"
        )
    };
    let file = |count: usize| format!("cases:\n{}", (0..count).map(case).collect::<String>());
    assert_eq!(Cases::parse_yaml(&file(CASES_MAX)).unwrap().cases.len(), CASES_MAX);
    let errors = complaints(&file(CASES_MAX + 1));
    assert!(errors[0].ends_with("2001 entries; at most 2000"), "{errors:?}");
}
