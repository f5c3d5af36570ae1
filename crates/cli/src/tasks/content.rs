//! The content that a vote is bound to: type, parameters, resources with their modes, and every
//! change with its values. Nothing is left out or cut, and each line says to which field it
//! belongs, so that no text can pass for a field.

use std::fmt::Write as _;

use ade_api::tasks::{AffectedRows, Change, Effect, Mode, Task, TouchedResource};
use ade_core::change::{ChangeKind, Origin};
use serde_json::Value;

use crate::output::Paint;
use crate::text::visible;

/// The column in which the values of a block begin.
const INDENT: &str = "           ";
/// Starts a line of a text with several lines.
const BAR: &str = "│";

/// Returns what would run, on what, and with which effect.
pub fn content(task: &Task, paint: Paint) -> String {
    let mut out = String::new();
    let resources: Vec<String> = task.resources.iter().map(touched).collect();
    let _ = writeln!(out, "  {:<8} {}", "runs", paint.bold(&visible(&task.summary.task_type)));
    out.push_str(&parameters(&task.parameters));
    let _ = writeln!(out, "  {:<8} {}", "touches", resources.join(", "));
    out.push_str(&effect(&task.effect, paint));
    out
}

fn touched(touched: &TouchedResource) -> String {
    let mode = touched.mode.unwrap_or(Mode::Exclusive).as_str();
    format!("{} ({mode})", touched.resource)
}

fn parameters(parameters: &Value) -> String {
    let mut out = String::new();
    match parameters {
        Value::Object(fields) if fields.is_empty() => {
            let _ = writeln!(out, "{INDENT}no parameters");
        }
        Value::Object(fields) => {
            for (name, value) in fields {
                field(&mut out, INDENT, &key(name), value);
            }
        }
        value => field(&mut out, INDENT, "parameters", value),
    }
    out
}

/// Returns the name of a field. A name that could be taken for something else is quoted.
fn key(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    if !name.is_empty() && name.chars().all(is_plain) {
        return name.to_owned();
    }
    visible(&Value::String(name.to_owned()).to_string())
}

/// Writes a value behind its name: one line as it is, several lines below each other.
fn field(out: &mut String, indent: &str, name: &str, value: &Value) {
    let text = match value {
        Value::String(text) => text.clone(),
        other => serde_json::to_string_pretty(other).unwrap_or_default(),
    };
    if !text.contains('\n') {
        let _ = writeln!(out, "{indent}{name}: {}", visible(&text));
        return;
    }
    let _ = writeln!(out, "{indent}{name}:");
    for line in text.split('\n') {
        let _ = writeln!(out, "{indent}{BAR} {}", visible(line));
    }
}

pub fn effect(effect: &Effect, paint: Paint) -> String {
    let counts = effect.counts;
    let origin = match effect.origin {
        Origin::Observed => "observed by a preview",
        Origin::Declared => "declared by the author, not checked",
    };
    let mut out = format!(
        "  {:<8} {} to add, {} to change, {} to remove; {} cannot be undone ({origin})\n",
        "effect", counts.adds, counts.changes, counts.removes, counts.irreversible
    );
    for one in &effect.changes {
        change(&mut out, one, paint);
    }
    for warning in &effect.warnings {
        let _ = writeln!(out, "  {:<8} {}", "warning", paint.yellow(&visible(warning)));
    }
    for error in &effect.errors {
        let _ = writeln!(out, "  {:<8} {}", "error", paint.red(&visible(error)));
    }
    out
}

fn change(out: &mut String, change: &Change, paint: Paint) {
    let mark = match change.action {
        ChangeKind::Add => paint.green("+"),
        ChangeKind::Change => paint.yellow("~"),
        ChangeKind::Remove => paint.red("-"),
    };
    let forever =
        if change.irreversible { paint.red(" (cannot be undone)") } else { String::new() };
    let summary = visible(&change.summary);
    let _ = writeln!(out, "{INDENT}{mark} {}  {summary}{forever}", change.resource);
    let indent = format!("{INDENT}    ");
    if let Some(rows) = change.rows {
        let _ = writeln!(out, "{indent}rows: {}", rows_of(rows));
    }
    for (name, value) in [("before", &change.before), ("after", &change.after)] {
        if let Some(value) = value {
            field(out, &indent, name, value);
        }
    }
}

/// Describes the rows that a change touches, also what is unknown: the digest covers it.
fn rows_of(rows: AffectedRows) -> String {
    let count = rows.count.map_or_else(|| "unknown number".to_owned(), |count| count.to_string());
    match rows.percent {
        Some(percent) => format!("{count}, up to {percent} % of the table"),
        None => format!("{count}, unknown share of the table"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn parameters_of_every_kind_are_written_in_full() {
        let sql = format!("DROP TABLE customer;\n{}", "-- quiet\n".repeat(500));
        let text = parameters(&json!({
            "sql": sql, "argv": ["rm", "-r"], "n": 1, "none": null, "long": "x".repeat(9_000)
        }));
        assert!(text.contains("sql:\n           │ DROP TABLE customer;\n"), "{text}");
        assert_eq!(text.matches("-- quiet").count(), 500);
        assert!(text.contains("           │   \"rm\",\n"), "{text}");
        assert!(text.contains(&format!("long: {}\n", "x".repeat(9_000))));
        assert!(text.contains("n: 1\n") && text.contains("none: null\n"), "{text}");
        assert_eq!(parameters(&json!({})), "           no parameters\n");
    }

    #[test]
    fn parameters_cannot_pass_for_other_fields() {
        let text = parameters(&json!({
            "note": "harmless\n  effect   nothing",
            "│ a": "\u{1b}[2J",
            "x: y\nsql": "SELECT 1",
        }));
        let expected = "           note:\n           │ harmless\n           │   effect   nothing\n\
                        \x20          \"│ a\": ‹U+001B›[2J\n           \"x: y\\nsql\": SELECT 1\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn rows_that_are_unknown_are_named() {
        let text = |count, percent| rows_of(AffectedRows { count, percent });
        assert_eq!(text(Some(3), None), "3, unknown share of the table");
        assert_eq!(text(None, Some(100)), "unknown number, up to 100 % of the table");
    }

    #[test]
    fn effect_shows_every_change_with_its_values() {
        let change = |nth: usize| {
            json!({
                "resource": "host:a", "action": "change", "irreversible": nth == 40,
                "summary": format!("change {nth}"), "before": nth, "after": { "rows": nth },
                "rows": { "count": nth, "percent": 5 }
            })
        };
        let counts = json!({ "adds": 0, "changes": 50, "removes": 0, "irreversible": 1 });
        let effect: Effect = serde_json::from_value(json!({
            "origin": "declared", "counts": counts, "warnings": ["w"], "errors": ["e"],
            "changes": (0..50).map(change).collect::<Vec<_>>()
        }))
        .unwrap();
        let text = super::effect(&effect, Paint::OFF);
        for nth in 0..50 {
            assert!(text.contains(&format!("~ host:a  change {nth}")), "{nth}");
            assert!(text.contains(&format!("before: {nth}\n")), "{nth}");
            assert!(text.contains(&format!("rows: {nth}, up to 5 % of the table\n")), "{nth}");
            assert!(text.contains(&format!("│   \"rows\": {nth}\n")), "{nth}");
        }
        assert!(text.contains("change 40 (cannot be undone)"), "{text}");
        assert!(text.contains("warning  w") && text.contains("error    e"), "{text}");
    }
}
