//! The machine-readable output formats. All of them are derived from the same JSON, and none
//! writes control characters.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use ade_core::sanitize_display::is_hidden;
use serde_json::{Map, Value};

use crate::text::{quiet_json, visible};

/// The fields that identify an object, in order of preference.
const NAMES: [&str; 7] =
    ["id", "key_id", "lease_id", "lease_hash", "resource", "policy_id", "name"];

/// Returns the value at a dotted path such as `a.b.c`.
pub fn dotted<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').try_fold(value, |value, name| value.get(name))
}

pub fn json(value: &Value, is_spread: bool) -> String {
    let write = if is_spread { serde_json::to_string_pretty } else { serde_json::to_string };
    format!("{}\n", quiet_json(&write(value).unwrap_or_default()))
}

/// Formats a list as JSON lines.
pub fn jsonl(value: &Value) -> String {
    items(value).iter().map(|item| json(item, false)).collect()
}

fn items(value: &Value) -> &[Value] {
    match value {
        Value::Array(items) => items,
        other => std::slice::from_ref(other),
    }
}

/// Reduces a value to the given fields.
pub fn narrowed(value: &Value, columns: &[String]) -> Value {
    match value {
        _ if columns.is_empty() => value.clone(),
        Value::Array(items) => items.iter().map(|item| narrowed(item, columns)).collect(),
        item => {
            let field =
                |name: &String| (name.clone(), dotted(item, name).cloned().unwrap_or(Value::Null));
            Value::Object(columns.iter().map(field).collect())
        }
    }
}

/// Formats one name per line, as other commands accept it.
pub fn names(value: &Value) -> String {
    let name = |item: &Value| {
        let found = NAMES.iter().find_map(|name| item.get(name)?.as_str());
        // An approval request has its own ID and contains a task with another one.
        found.map(|name| format!("{}\n", visible(name)))
    };
    items(value).iter().filter_map(name).collect()
}

pub fn cells(value: &Value, columns: &[String]) -> Vec<Vec<String>> {
    let row = |item: &Value| columns.iter().map(|name| cell(dotted(item, name))).collect();
    items(value).iter().map(row).collect()
}

fn cell(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => visible(text),
        Some(other) => quiet_json(&other.to_string()),
    }
}

/// Formats all fields, or the given columns, as CSV. An apostrophe is put in front of a text that a
/// spreadsheet would treat as a formula.
pub fn csv(value: &Value, columns: &[String], has_headers: bool) -> String {
    let items = items(value);
    let all: BTreeSet<&String> =
        items.iter().filter_map(Value::as_object).flat_map(Map::keys).collect();
    let columns: Vec<String> = match columns {
        [] => all.into_iter().cloned().collect(),
        named => named.to_vec(),
    };
    let mut out = String::new();
    if has_headers {
        out.push_str(&record(&columns));
    }
    for item in items {
        let row: Vec<String> = columns.iter().map(|name| harmless(dotted(item, name))).collect();
        out.push_str(&record(&row));
    }
    out
}

fn harmless(value: Option<&Value>) -> String {
    let text = cell(value);
    let is_text = matches!(value, Some(Value::String(_)));
    if is_text && text.starts_with(['=', '+', '-', '@']) { format!("'{text}") } else { text }
}

fn record(fields: &[String]) -> String {
    let quoted = fields.iter().map(|field| {
        if field.contains([',', '"', '\n']) {
            format!("\"{}\"", field.replace('"', "\"\""))
        } else {
            field.clone()
        }
    });
    format!("{}\r\n", quoted.collect::<Vec<_>>().join(","))
}

pub fn yaml(value: &Value) -> String {
    let mut out = String::new();
    match value {
        Value::Object(_) | Value::Array(_) => block(&mut out, value, 0),
        plain => {
            let _ = writeln!(out, "{}", scalar(plain));
        }
    }
    out
}

fn block(out: &mut String, value: &Value, depth: usize) {
    match value {
        Value::Object(fields) if fields.is_empty() => out.push_str("{}\n"),
        Value::Array(items) if items.is_empty() => out.push_str("[]\n"),
        Value::Object(fields) => {
            for (at, (name, field)) in fields.iter().enumerate() {
                indent(out, depth, at);
                out.push_str(&scalar(&Value::String(name.clone())));
                out.push(':');
                inner(out, field, depth + 1);
            }
        }
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                indent(out, depth, at);
                out.push('-');
                // The first line of the value follows the dash on the same line.
                match item {
                    Value::Object(fields) if !fields.is_empty() => {
                        out.push(' ');
                        block(out, item, depth + 1);
                    }
                    other => inner(out, other, depth + 1),
                }
            }
        }
        plain => {
            let _ = writeln!(out, "{}", scalar(plain));
        }
    }
}

/// Indents a line, except the first one after a dash, which is already indented.
fn indent(out: &mut String, depth: usize, at: usize) {
    let follows_dash = at == 0 && out.ends_with("- ");
    if !follows_dash {
        out.push_str(&"  ".repeat(depth));
    }
}

fn inner(out: &mut String, value: &Value, depth: usize) {
    let is_nested = match value {
        Value::Object(fields) => !fields.is_empty(),
        Value::Array(items) => !items.is_empty(),
        _ => false,
    };
    out.push(if is_nested { '\n' } else { ' ' });
    block(out, value, depth);
}

/// Formats a scalar as YAML. A string is quoted like JSON unless it is unambiguous without quotes.
fn scalar(value: &Value) -> String {
    let Value::String(text) = value else { return value.to_string() };
    let words = ["true", "false", "null", "yes", "no", "on", "off", "y", "n", "nan", "inf"];
    let is_plain = text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "_-./".contains(c))
        && !words.contains(&text.to_lowercase().as_str());
    if is_plain {
        return text.clone();
    }
    let mut out = String::new();
    for c in value.to_string().chars() {
        match u32::from(c) {
            // Unlike JSON, YAML does not combine surrogate pairs.
            code @ 0x1_0000.. if is_hidden(c) => {
                let _ = write!(out, "\\U{code:08x}");
            }
            code if is_hidden(c) || matches!(code, 0xfffe | 0xffff) => {
                let _ = write!(out, "\\u{code:04x}");
            }
            _ => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn tasks() -> Value {
        json!([
            { "id": "task_1", "title": "One, \"two\"", "risk": { "score": 7 }, "tags": [] },
            { "id": "task_2", "title": "=1+1", "risk": { "score": 9 }, "ticket": null },
        ])
    }

    #[test]
    fn list_renders_as_jsonl_names_and_csv() {
        assert_eq!(jsonl(&tasks()).lines().count(), 2);
        assert_eq!(names(&tasks()), "task_1\ntask_2\n");
        let columns = ["id".to_owned(), "title".to_owned(), "risk.score".to_owned()];
        let expected = "id,title,risk.score\r\ntask_1,\"One, \"\"two\"\"\",7\r\ntask_2,'=1+1,9\r\n";
        assert_eq!(csv(&tasks(), &columns, true), expected);
        let whole = csv(&tasks(), &[], true);
        assert!(whole.starts_with("id,risk,tags,ticket,title\r\n"), "{whole}");
        assert!(!csv(&tasks(), &columns, false).contains("title"));
    }

    #[test]
    fn narrowed_value_keeps_only_the_named_fields() {
        let one = narrowed(&tasks(), &["risk.score".to_owned(), "gone".to_owned()]);
        assert_eq!(one[0], json!({ "risk.score": 7, "gone": null }));
    }

    #[test]
    fn yaml_is_indented_and_quotes_ambiguous_values() {
        let value = json!({
            "a": [{ "b": 1, "c": "yes" }, [], ["x y"]], "d": {}, "e": "plain-text", "f": null
        });
        let expected = "a:\n  - b: 1\n    c: \"yes\"\n  - []\n  -\n    - \"x y\"\nd: {}\n\
                        e: plain-text\nf: null\n";
        assert_eq!(yaml(&value), expected);
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            "\\PC*".prop_map(Value::from),
            "[ -~\u{1b}\n\u{202e}\u{e0041}\u{7f}\u{85}:#'\"-]*".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("[a-z0-9:. ]{0,6}", inner, 0..4)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn yaml_equals_json_and_has_no_escapes(value in any_json()) {
            let text = yaml(&value);
            let read: Value = serde_saphyr::from_str(&text).unwrap();
            prop_assert_eq!(read, value, "{}", text);
            prop_assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{:?}", text);
        }
    }
}
