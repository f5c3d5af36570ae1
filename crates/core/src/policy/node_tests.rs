//! Positions of values in YAML and JSON, and the fast refusal of hostile text.

use super::*;
use crate::policy::Document;
use std::time::{Duration, Instant};

/// Each value with its position, one per line.
fn outline(node: &Node) -> Vec<String> {
    fn walk(node: &Node, name: &str, out: &mut Vec<String>) {
        let Position { line, column } = node.at;
        out.push(format!("{line}:{column} {name}{}", node.value.describe()));
        match &node.value {
            Value::Nothing | Value::Bool(_) | Value::Number(_) | Value::Text(_) => {}
            Value::List(items) => items.iter().for_each(|item| walk(item, "", out)),
            Value::Fields(fields) => {
                for (key, field) in fields {
                    let Position { line, column } = key.at;
                    walk(field, &format!("{}@{line}:{column} ", key.name), out);
                }
            }
        }
    }
    let mut out = Vec::new();
    walk(node, "", &mut out);
    out
}

fn yaml(text: &str) -> Result<Node, DocumentErrors> {
    from_yaml(text, POLICY_ROOM)
}

fn refusal(answer: Result<Node, DocumentErrors>) -> String {
    answer.unwrap_err().to_string()
}

#[test]
fn yaml_values_have_their_positions() {
    let text = "a: 1\nb:\n  - x\n  - {c: 09:00, d: 1e3, e: on, f: ~}\n  - true\n  - -2\ng: \"1\"\n";
    assert_eq!(
        outline(&yaml(text).unwrap()),
        [
            "1:1 a group of fields",
            "1:4 a@1:1 the number 1",
            "3:3 b@2:1 a list",
            "3:5 the text `x`",
            "4:5 a group of fields",
            "4:9 c@4:6 the text `09:00`",
            "4:19 d@4:16 the number 1000.0",
            "4:27 e@4:24 the text `on`",
            "4:34 f@4:31 nothing",
            "5:5 `true`",
            "6:5 the number -2",
            "7:4 g@7:1 the text `1`",
        ]
    );
}

#[test]
fn json_values_have_their_positions() {
    let text = concat!(
        "{\"a\": [1, \"x\\\"]é\", {\n \"b\":null}],\r\n",
        "\t\"c\" : -1.5e+3,\"d\":true,\n\"e\":{}, \"f\":[]}",
    );
    assert_eq!(
        outline(&from_json(text).unwrap()),
        [
            "1:1 a group of fields",
            "1:7 a@1:2 a list",
            "1:8 the number 1",
            "1:11 the text `x\"]é`",
            "1:20 a group of fields",
            "2:6 b@2:2 nothing",
            "3:8 c@3:2 the number -1500.0",
            "3:20 d@3:16 `true`",
            "4:5 e@4:1 a group of fields",
            "4:13 f@4:9 a list",
        ]
    );
}

#[test]
fn syntax_error_is_refused_with_its_position() {
    for (text, expected) in [
        ("a: [1", "line 1, column 4: unclosed bracket '['"),
        ("a: \"x", "line 1, column 4: unclosed quote"),
        ("a: 1\na: 2", "line 2, column 1: the field is given twice: keep one"),
        ("a: 1\n---\nb: 2", "line 2, column 1: a second document starts here: send only one"),
        ("a: !foo 1", "line 1, column 9: unsupported tag `!foo`"),
        (
            "a: {x: 1}\nb:\n  <<: {y: 2}",
            "line 3, column 3: merge keys (<<) are not supported: write the fields out",
        ),
        ("? [a]\n: b", "line 1, column 3: expected string scalar"),
    ] {
        assert_eq!(refusal(yaml(text)), expected, "{text:?}");
    }
    for (text, expected) in [
        ("", "line 1, column 1: EOF while parsing a value"),
        ("{\n \"a\": 1,}", "line 2, column 9: trailing comma"),
        ("[1 2]", "line 1, column 4: expected `,` or `]`"),
        ("{} x", "line 1, column 4: trailing characters"),
    ] {
        assert_eq!(refusal(from_json(text)), expected, "{text:?}");
    }
}

#[test]
fn yaml_aliases_are_refused_with_a_hint() {
    for (text, place) in [
        ("a: *x", "line 1, column 4"),
        ("a: &x 1\nb: 2", "line 1, column 7"),
        ("a:\n  - *prod", "line 2, column 5"),
    ] {
        assert_eq!(refusal(yaml(text)), format!("{place}: {NO_ALIASES}"));
    }
}

#[test]
fn document_size_depth_and_count_are_bounded_exactly() {
    let padded = |bytes: usize| format!("a: 1{}", "\n".repeat(bytes - 4));
    assert!(yaml(&padded(POLICY_DOCUMENT_MAX_BYTES)).is_ok());
    assert_eq!(
        refusal(yaml(&padded(POLICY_DOCUMENT_MAX_BYTES + 1))),
        "the document has 65537 bytes; at most 65536 are allowed"
    );
    assert!(from_json(&format!("{{}}{}", " ".repeat(POLICY_DOCUMENT_MAX_BYTES - 1))).is_err());

    let nested = |depth: usize| format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
    assert!(yaml(&nested(POLICY_DOCUMENT_DEPTH_MAX)).is_ok());
    assert_eq!(
        refusal(yaml(&nested(POLICY_DOCUMENT_DEPTH_MAX + 1))),
        "line 1, column 17: nested deeper than 16 levels"
    );
    let blocks: Vec<String> = (0..40).map(|level| format!("{}a:", " ".repeat(level))).collect();
    assert!(refusal(yaml(&blocks.join("\n"))).ends_with("nested deeper than 16 levels"));

    let values = |count: usize| "- 1\n".repeat(count - 1);
    assert!(yaml(&values(POLICY_DOCUMENT_VALUES_MAX)).is_ok());
    let refused = refusal(yaml(&values(POLICY_DOCUMENT_VALUES_MAX + 1)));
    assert!(refused.ends_with("more than 8192 values"), "{refused}");
}

#[test]
fn document_that_is_hostile_is_refused_quickly() {
    let mut bomb = vec!["a0: &a0 [x, x, x, x, x, x, x, x, x]".to_owned()];
    for level in 1..9 {
        let nine = vec![format!("*a{}", level - 1); 9].join(", ");
        bomb.push(format!("a{level}: &a{level} [{nine}]"));
    }
    let hostile = [
        bomb.join("\n"),
        "[".repeat(POLICY_DOCUMENT_MAX_BYTES),
        "{\"a\":".repeat(POLICY_DOCUMENT_MAX_BYTES / 5),
        "- ".repeat(POLICY_DOCUMENT_MAX_BYTES / 2),
        "x".repeat(64 * 1024 * 1024),
        "? ".repeat(POLICY_DOCUMENT_MAX_BYTES / 2),
        format!("name: {}", "'".repeat(60_000)),
        "!".repeat(60_000),
        "\u{0}\u{1b}[31m".to_owned(),
        "a: \"\\u{1b}\u{7}\"\u{1}".to_owned(),
    ];
    for text in hostile {
        let begin = Instant::now();
        for refused in [Document::parse_yaml(&text), Document::parse_json(&text)] {
            for error in refused.unwrap_err().errors {
                assert!(!error.to_string().chars().any(char::is_control), "{error:?}");
            }
        }
        let took = begin.elapsed();
        let shown: String = text.chars().take(20).collect();
        assert!(took < Duration::from_secs(2), "{shown}: {took:?}");
    }
}
