//! Golden tests for every possible error of a document, with line, column, path and message.

use super::*;
use crate::limits::{POLICY_AUDIENCE_MAX, POLICY_ERRORS_MAX, POLICY_PATTERNS_MAX};

fn complaints(text: &str) -> Vec<String> {
    match Document::parse_yaml(text) {
        Ok(document) => panic!("read as {document:?}"),
        Err(refused) => refused.errors.iter().map(ToString::to_string).collect(),
    }
}

/// A complete document with the given lines, which begin on line 3.
fn with(lines: &str) -> String {
    format!("name: x\nrequire: [{{roles: [dba]}}]\n{lines}\n")
}

#[test]
fn policy_error_names_its_position() {
    for (text, expected) in [
        ("", "line 1, column 1: expected a group of fields, found nothing"),
        ("[1]", "line 1, column 1: expected a group of fields, found a list"),
        ("require: [{roles: [dba]}]", "line 1, column 1: `name` is missing"),
        (
            "name: x\nenabled: true",
            "line 1, column 1: the policy requires no approval: give `require`, `auto_approve_if`, \
             or both",
        ),
        (
            "name: x\nrequire: []",
            "line 2, column 10: require: the list is empty: add a group, or omit `require`",
        ),
        (
            "name: x\nrequire:\n  - {}",
            "line 3, column 5: require[0]: a group needs at least one role or person",
        ),
        (
            "name: x\nrequire:\n  - roles: [dba]\n    min: 0",
            "line 4, column 10: require[0].min: expected a whole number from 1 to 50, found the \
             number 0",
        ),
        (
            "name: x\nrequire:\n  - {roles: [a]}\n  - {roles: [b], min: 51}",
            "line 4, column 23: require[1].min: expected a whole number from 1 to 50, found the \
             number 51",
        ),
        (
            "name: x\nrequire:\n  - {roles: [a], min: 2}\n  - {roles: [a], min: 1}",
            "line 4, column 5: require[1]: requires the same roles and people as an earlier group: \
             raise that group's `min` instead",
        ),
        (
            "name: x\nrequire:\n  - roles: [a, b, a]",
            "line 3, column 19: require[0].roles[2]: is listed twice: keep one",
        ),
        (
            "name: x\nrequire:\n  - people: [bob]",
            "line 3, column 14: require[0].people[0]: `bob` is not a valid id here: it must start \
             with `usr_`",
        ),
        (
            "name: x\nrequire:\n  - people: [usr_00000000000000000000000007]\n    min: 2",
            "line 3, column 5: require[0]: requires 2 of 1 eligible people: the group can never be \
             satisfied",
        ),
    ] {
        assert_eq!(complaints(text).join(" | "), expected, "{text}");
    }
}

#[test]
fn policy_error_in_an_optional_field_names_its_position() {
    for (lines, expected) in [
        (
            "enable: true",
            "line 3, column 1: enable: unknown field: use one of name, enabled, match, require, \
             reject_threshold, auto_approve_if, respond_within, escalation, approval_valid_for, \
             delegation, role_age_min, exempt",
        ),
        (
            "enabled: yes",
            "line 3, column 10: enabled: expected true or false, found the text `yes`",
        ),
        (
            "reject_threshold: 0",
            "line 3, column 19: reject_threshold: expected a whole number from 1 to 50, found the \
             number 0",
        ),
        (
            "reject_threshold: 51",
            "line 3, column 19: reject_threshold: expected a whole number from 1 to 50, found the \
             number 51",
        ),
        (
            "reject_threshold: 1.0",
            "line 3, column 19: reject_threshold: expected a whole number from 1 to 50, found the \
             number 1.0",
        ),
        (
            "reject_threshold: '1'",
            "line 3, column 19: reject_threshold: expected a whole number from 1 to 50, found the \
             text `1`",
        ),
        (
            "respond_within: soon",
            "line 3, column 17: respond_within: `soon` is not a duration: write it like 48h, 7d or \
             30m",
        ),
        (
            "respond_within: 48",
            "line 3, column 17: respond_within: expected text, found the \
          number 48: quote it",
        ),
        ("respond_within:", "line 3, column 15: respond_within: expected text, found nothing"),
        (
            "approval_valid_for: 0s",
            "line 3, column 21: approval_valid_for: `0s` must be longer than zero",
        ),
        ("role_age_min: 0h", "line 3, column 15: role_age_min: `0h` must be longer than zero"),
        (
            "approval_valid_for: 366d",
            "line 3, column 21: approval_valid_for: `366d` is too long: \
          at most 365d",
        ),
        (
            "delegation: maybe",
            "line 3, column 13: delegation: `maybe` is not one of allowed, \
          forbidden",
        ),
    ] {
        assert_eq!(complaints(&with(lines)).join(" | "), expected, "{lines}");
    }
}

#[test]
fn policy_error_in_a_nested_field_names_its_position() {
    for (lines, expected) in [
        (
            "exempt: {role: [a]}",
            "line 3, column 10: exempt.role: unknown field: use one of roles, people",
        ),
        (
            "exempt: {roles: a}",
            "line 3, column 17: exempt.roles: expected a list, found the text \
          `a`",
        ),
        (
            "match: {task_types: ['[']}",
            "line 3, column 22: match.task_types[0]: `[` is not a valid glob: unclosed character \
             class; missing ']'",
        ),
        (
            "match: {resource_patterns: ['']}",
            "line 3, column 29: match.resource_patterns[0]: the pattern is empty: omit it, or \
             write `**` to match everything",
        ),
        (
            "match: {tags: [' a']}",
            "line 3, column 16: match.tags[0]: ` a` must not contain control characters or \
             surrounding spaces",
        ),
        (
            "match: {risk_at_least: 101}",
            "line 3, column 24: match.risk_at_least: expected a whole number from 0 to 100, found \
             the number 101",
        ),
        (
            "match: {author_kind: bot}",
            "line 3, column 22: match.author_kind: `bot` is not one of \
          user, agent",
        ),
        (
            "auto_approve_if: {risk_below: 0}",
            "line 3, column 31: auto_approve_if.risk_below: expected a whole number from 1 to 100, \
             found the number 0",
        ),
        (
            "auto_approve_if: {accept_declared_effect: true}",
            "line 3, column 18: auto_approve_if: \
          would approve everything: give `risk_below`, `author_has_role` or \
          `resources_in_scope`",
        ),
        (
            "auto_approve_if: {risk_below: 9, resources_in_scope: []}",
            "line 3, column 54: auto_approve_if.resources_in_scope: the list is empty and would \
             allow anything: fill it or omit it",
        ),
        (
            "auto_approve_if: {risk_below: 9, author_has_role: []}",
            "line 3, column 51: auto_approve_if.author_has_role: the list is empty and would allow \
             anything: fill it or omit it",
        ),
        (
            "auto_approve_if: {risk_below: 9, accept_declared_effect: 1}",
            "line 3, column 58: \
          auto_approve_if.accept_declared_effect: expected true or false, found the number 1",
        ),
    ] {
        assert_eq!(complaints(&with(lines)).join(" | "), expected, "{lines}");
    }
}

#[test]
fn policy_error_in_the_hours_names_its_position() {
    for (hours, expected) in [
        (
            "{from: '09:00'}",
            "line 3, column 16: match.hours: `zone` is missing | line 3, \
          column 16: match.hours: `to` is missing",
        ),
        (
            "{zone: Mars, from: '09:00', to: '10:00'}",
            "line 3, column 23: match.hours.zone: `Mars` is not a time zone: use an IANA name such \
             as Europe/Vienna or UTC",
        ),
        (
            "{zone: UTC, from: '9:00', to: '10:00'}",
            "line 3, column 34: match.hours.from: `9:00` \
          is not a time of day: write it as HH:MM, from 00:00 to 24:00",
        ),
        (
            "{zone: UTC, from: '09:00', to: '25:00'}",
            "line 3, column 47: match.hours.to: `25:00` \
          is not a time of day: write it as HH:MM, from 00:00 to 24:00",
        ),
        (
            "{zone: UTC, from: '09:00', to: '09:00'}",
            "line 3, column 16: match.hours: a window \
          from 09:00 to 09:00 is empty: write 00:00 to 24:00 for the whole day",
        ),
        (
            "{zone: UTC, from: '09:00', to: '10:00', days: [monday]}",
            "line 3, column 63: \
          match.hours.days[0]: `monday` is not a day: mon, tue, wed, thu, fri, sat or sun",
        ),
    ] {
        let lines = format!("match: {{hours: {hours}}}");
        assert_eq!(complaints(&with(&lines)).join(" | "), expected, "{hours}");
    }
}

#[test]
fn policy_error_in_the_escalation_names_its_position() {
    for (steps, expected) in [
        ("[{notify: {roles: [a]}}]", "line 3, column 14: escalation[0]: `after` is missing"),
        (
            "[{after: 1h}]",
            "line 3, column 14: escalation[0]: a step must have exactly one of `notify`, \
             `reassign` and `widen`",
        ),
        (
            "[{after: 1h, reassign: manager, widen: {roles: [a]}}]",
            "line 3, column 14: escalation[0]: a step must have exactly one of `notify`, \
             `reassign` and `widen`",
        ),
        (
            "[{after: 1h, reassign: boss}]",
            "line 3, column 36: escalation[0].reassign: `boss` is \
          not one of delegate, manager",
        ),
        (
            "[{after: 1h, widen: {}}]",
            "line 3, column 33: escalation[0].widen: name at least one \
          role or person",
        ),
        (
            "[{after: 1h, notify: {}}]",
            "line 3, column 34: escalation[0].notify: name at least \
          one role or person",
        ),
        (
            "[{after: 2h, reassign: manager}, {after: 120m, reassign: delegate}]",
            "line 3, column 46: escalation[1]: `after` must be later than in the previous step",
        ),
        (
            "[{after: 2h, reassign: manager}, {after: 1h, reassign: delegate}]",
            "line 3, column 46: escalation[1]: `after` must be later than in the previous step",
        ),
    ] {
        let lines = format!("escalation: {steps}");
        assert_eq!(complaints(&with(&lines)).join(" | "), expected, "{steps}");
    }
}

#[test]
fn policy_errors_are_all_reported_without_follow_ups() {
    let text = "name: X\nrequire:\n  - roles: [1]\n    min: two\n  - roles: [a]\n    mni: 1\n\
                respond_within: never\nescalation:\n  - after: 1h\n    widen: {roles: [2]}\n";
    assert_eq!(
        complaints(text),
        [
            "line 1, column 7: name: a name consists of a-z, 0-9, `-`, `_` and `.`, starts with a \
             letter or digit, and has at most 128 bytes",
            "line 3, column 13: require[0].roles[0]: expected text, found the number 1: quote it",
            "line 4, column 10: require[0].min: expected a whole number from 1 to 50, found the \
             text `two`",
            "line 6, column 5: require[1].mni: unknown field: use one of roles, people, min",
            "line 7, column 17: respond_within: `never` is not a duration: write it like 48h, 7d \
             or 30m",
            "line 10, column 21: escalation[0].widen.roles[0]: expected text, found the number 2: \
             quote it",
        ]
    );
    let many: Vec<String> = (0..100).map(|number| format!("f{number}: 1")).collect();
    assert_eq!(complaints(&with(&many.join("\n"))).len(), POLICY_ERRORS_MAX);
}

#[test]
fn policy_error_in_json_names_its_position() {
    let text = "{\n  \"name\": \"x\",\n  \"require\": [{\"roles\": [\"dba\"], \"min\": 0}],\n  \
                \"name\": \"y\"\n}";
    let refused = Document::parse_json(text).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "line 4, column 3: name: the field is given twice: keep one\nline 3, column 41: \
         require[0].min: expected a whole number from 1 to 50, found the number 0"
    );
}

#[test]
fn policy_name_is_an_identifier() {
    let longest = "x".repeat(NAME_MAX_BYTES);
    for good in ["a", "0", "a.b-c_d", longest.as_str()] {
        let text = format!("name: \"{good}\"\nrequire: [{{roles: [dba]}}]\n");
        assert_eq!(Document::parse_yaml(&text).unwrap().name, good);
    }
    let too_long = format!("{longest}x");
    for bad in ["", "-a", ".a", "_a", "A", "a b", "é", "a/b", too_long.as_str()] {
        let text = format!("name: \"{bad}\"\nrequire: [{{roles: [dba]}}]\n");
        assert!(complaints(&text)[0].contains("a name consists of a-z"), "{bad}");
    }
}

type Case<'a> = (usize, &'a str, Box<dyn Fn(usize) -> String + 'a>);

/// A list with the maximum number of entries is accepted; one more entry is refused.
#[test]
fn policy_counts_are_bounded_exactly() {
    let list = |count: usize, item: &dyn Fn(usize) -> String| {
        let items: Vec<String> = (0..count).map(item).collect();
        format!("[{}]", items.join(", "))
    };
    let word = |number: usize| format!("w{number}");
    let cases: Vec<Case<'_>> = vec![
        (
            POLICY_PATTERNS_MAX,
            "match.task_types",
            Box::new(|count| format!("match: {{task_types: {}}}", list(count, &word))),
        ),
        (
            TASK_TAGS_MAX,
            "match.tags",
            Box::new(|count| format!("match: {{tags: {}}}", list(count, &word))),
        ),
        (
            POLICY_AUDIENCE_MAX,
            "exempt.roles",
            Box::new(|count| format!("exempt: {{roles: {}}}", list(count, &word))),
        ),
        (
            POLICY_AUDIENCE_MAX,
            "exempt.people",
            Box::new(|count| {
                let id = |number| format!("usr_{number:026}");
                format!("exempt: {{people: {}}}", list(count, &id))
            }),
        ),
        (
            POLICY_ESCALATION_STEPS_MAX,
            "escalation",
            Box::new(|count| {
                let step = |number| format!("{{after: {}h, reassign: manager}}", number + 1);
                format!("escalation: {}", list(count, &step))
            }),
        ),
    ];
    for (most, path, lines) in cases {
        assert!(Document::parse_yaml(&with(&lines(most))).is_ok(), "{path}");
        let refused = complaints(&with(&lines(most + 1)));
        assert_eq!(refused.len(), 1, "{refused:?}");
        let expected = format!("{path}: {} entries; at most {most}", most + 1);
        assert!(refused[0].ends_with(&expected), "{refused:?}");
    }
    let groups = |count| {
        let group = |number| format!("{{roles: [r{number}]}}");
        format!("name: x\nrequire: {}\n", list(count, &group))
    };
    assert!(Document::parse_yaml(&groups(POLICY_GROUPS_MAX)).is_ok());
    assert!(complaints(&groups(POLICY_GROUPS_MAX + 1))[0].ends_with("17 entries; at most 16"));
}

#[test]
fn policy_group_emptied_by_exemption_is_refused() {
    let document = |group: &str, exempt: &str| {
        Document::parse_yaml(&format!("name: x\nrequire: [{group}]\nexempt: {exempt}\n"))
    };
    let [seven, eight] = [7, 8].map(|number| format!("usr_{number:026}"));
    for (group, exempt, expected) in [
        ("{roles: [a]}".to_owned(), "{roles: [a]}".to_owned(), false),
        ("{roles: [a, b]}".to_owned(), "{roles: [a]}".to_owned(), true),
        (format!("{{people: [{seven}]}}"), format!("{{people: [{seven}]}}"), false),
        (format!("{{people: [{seven}, {eight}]}}"), format!("{{people: [{seven}]}}"), true),
        (format!("{{people: [{seven}, {eight}], min: 2}}"), "{roles: [a]}".to_owned(), true),
        (
            format!("{{people: [{seven}, {eight}], min: 2}}"),
            format!("{{people: [{seven}]}}"),
            false,
        ),
        (format!("{{roles: [a], people: [{seven}]}}"), "{roles: [a]}".to_owned(), true),
        (format!("{{roles: [a], people: [{seven}], min: 2}}"), "{roles: [b]}".to_owned(), true),
    ] {
        assert_eq!(document(&group, &exempt).is_ok(), expected, "{group} without {exempt}");
    }
}

#[test]
fn policy_number_bounds_are_inclusive() {
    let read = |lines: &str| Document::parse_yaml(&with(lines)).unwrap();
    assert_eq!(read("reject_threshold: 50").reject_threshold, 50);
    let least = |points: u8| read(&format!("match: {{risk_at_least: {points}}}"));
    assert_eq!(least(0).matching.risk_at_least, Some(Score::new(0)));
    assert_eq!(least(100).matching.risk_at_least, Some(Score::MAX));
    let below = |points: u8| read(&format!("auto_approve_if: {{risk_below: {points}}}"));
    for points in [1, 100] {
        let clause = below(points).auto_approve_if.unwrap();
        assert_eq!(clause.risk_below, Some(Score::new(points)));
    }
    let clause = read("auto_approve_if: {author_has_role: [a], accept_declared_effect: true}");
    assert!(clause.auto_approve_if.unwrap().accept_declared_effect);
    let user = read("match: {author_kind: user}");
    assert_eq!(user.matching.author_kind, Some(AuthorKind::User));
    assert!(!read("enabled: false").enabled);
}
