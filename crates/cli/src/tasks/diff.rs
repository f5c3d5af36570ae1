//! The revisions of a task and the differences between two of them.

use std::fmt::Write as _;

use ade_api::tasks::{Change, Counts, Revision};
use ade_client::Client;
use ade_core::change::{ChangeKind, Digest};
use ade_core::task_ref::TaskRef;
use comfy_table::Cell;
use serde::Serialize;
use serde_json::Value;

use super::Ended;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::look;
use crate::output::Paint;
use crate::text::{cut, visible};

/// The maximum length of a value on a line.
const VALUE_CHARS: usize = 60;

pub async fn revisions(client: &Client, id: TaskRef, cx: &Context) -> Ended {
    let all = client.tasks().revisions(id).await?;
    let output = &cx.output;
    let row = |head: &ade_api::tasks::RevisionHead| {
        vec![
            Cell::new(head.revision),
            Cell::new(look::risk(head.risk)),
            Cell::new(output.when(head.created_at)),
            Cell::new(head.editor_id.map(|editor| editor.to_string()).unwrap_or_default()),
            Cell::new(if output.is_wide() { head.digest.to_string() } else { short(head.digest) }),
        ]
    };
    let next = format!("ade tasks get {id}");
    let head = ["REV", "RISK", "CREATED", "EDITOR", "DIGEST"];
    output.list(&all.items, &head, row, ("No revisions.", &next))?;
    Ok(Exit::Done)
}

/// Shortens a digest for display.
pub fn short(digest: Digest) -> String {
    let text = digest.to_string();
    let hex = text.split(':').next_back().unwrap_or(&text);
    hex.chars().take(12).collect()
}

#[derive(Debug, Serialize)]
struct Difference {
    from: u32,
    to: u32,
    is_same_effect: bool,
    fields: Vec<Field>,
    effect: Vec<Line>,
    counts: Counts,
}

#[derive(Debug, PartialEq, Serialize)]
struct Field {
    name: String,
    before: Value,
    after: Value,
}

/// A change of the effect, in one of the revisions or in both.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct Line {
    is: Is,
    change: Change,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Is {
    Gone,
    New,
    Kept,
}

pub async fn diff(
    client: &Client,
    id: TaskRef,
    asked: Option<&str>,
    reports_by_exit_code: bool,
    cx: &Context,
) -> Ended {
    let newest = client.tasks().get(id).await?.summary.revision;
    let (from, to) = range(asked, newest)?;
    let new = client.tasks().revision(id, to).await?;
    let old = match from {
        0 => None,
        from => Some(client.tasks().revision(id, from).await?),
    };
    let difference = compare(old.as_ref(), &new);
    cx.output.show(&difference, || difference_text(&difference, cx.output.paint))?;
    let is_same = difference.fields.is_empty() && difference.is_same_effect;
    Ok(if reports_by_exit_code && !is_same { Exit::Failed } else { Exit::Done })
}

/// Parses `a..b`, or `b` for `b-1..b`; defaults to the last two revisions. Revision 0 is empty.
fn range(asked: Option<&str>, newest: u32) -> Result<(u32, u32), Failure> {
    let wrong = || {
        Failure::new(Exit::Usage, format!("invalid revision range; revisions are 1 to {newest}"))
            .or_next("ade tasks diff TASK --rev 1..2")
    };
    let number = |text: &str| text.parse::<u32>().map_err(|_| wrong());
    let (from, to) = match asked {
        None => (newest.saturating_sub(1), newest),
        Some(text) => match text.split_once("..") {
            Some((from, to)) => (number(from)?, number(to)?),
            None => (number(text)?.saturating_sub(1), number(text)?),
        },
    };
    let is_there = |at: u32| at <= newest;
    if to >= 1 && is_there(to) && is_there(from) { Ok((from, to)) } else { Err(wrong()) }
}

fn compare(old: Option<&Revision>, new: &Revision) -> Difference {
    let value = |revision: Option<&Revision>| {
        let value = revision.and_then(|revision| serde_json::to_value(revision).ok());
        value.unwrap_or(Value::Null)
    };
    let (before, after) = (value(old), value(Some(new)));
    let mut fields = Vec::new();
    for name in ["type", "parameters", "resources", "tags"] {
        let at = |value: &Value| value.get(name).cloned().unwrap_or(Value::Null);
        differences(name, &at(&before), &at(&after), &mut fields);
    }
    let none = Vec::new();
    let was = old.map_or(&none, |old| &old.effect.changes);
    let is = &new.effect.changes;
    let gone = was.iter().filter(|change| !is.contains(change));
    let mut effect: Vec<Line> =
        gone.map(|change| Line { is: Is::Gone, change: change.clone() }).collect();
    effect.extend(is.iter().map(|change| {
        let kept = if was.contains(change) { Is::Kept } else { Is::New };
        Line { is: kept, change: change.clone() }
    }));
    Difference {
        from: old.map_or(0, |old| old.head.revision),
        to: new.head.revision,
        is_same_effect: old.is_some_and(|old| old.effect.changes == *is),
        fields,
        effect,
        counts: new.effect.counts,
    }
}

/// Collects the differences field by field, recursing while both values are objects.
fn differences(name: &str, before: &Value, after: &Value, found: &mut Vec<Field>) {
    if before == after {
        return;
    }
    if let (Value::Object(old), Value::Object(new)) = (before, after) {
        let mut names: Vec<&String> = old.keys().chain(new.keys()).collect();
        names.sort();
        names.dedup();
        for inner in names {
            let at = |of: &serde_json::Map<String, Value>| of.get(inner).cloned();
            let (old, new) = (at(old).unwrap_or(Value::Null), at(new).unwrap_or(Value::Null));
            differences(&format!("{name}.{inner}"), &old, &new, found);
        }
        return;
    }
    found.push(Field { name: name.to_owned(), before: before.clone(), after: after.clone() });
}

fn difference_text(difference: &Difference, paint: Paint) -> String {
    let mut out = format!("revision {} → {}\n", difference.from, difference.to);
    for Field { name, before, after } in &difference.fields {
        let value = |value: &Value| cut(&visible(&value.to_string()), VALUE_CHARS);
        let arrow = format!("{} → {}", value(before), value(after));
        let _ = writeln!(out, "  {} {}: {arrow}", paint.yellow("~"), visible(name));
    }
    for line in difference.effect.iter().filter(|line| line.is != Is::Kept) {
        let (word, mark) = match line.is {
            Is::Gone => ("no longer", paint.dim("·")),
            Is::New | Is::Kept => ("now", mark(line.change.action, paint)),
        };
        let forever =
            if line.change.irreversible { paint.red(" (cannot be undone)") } else { String::new() };
        let summary = visible(&line.change.summary);
        let _ = writeln!(out, "  {mark} {word:<9} {}  {summary}{forever}", line.change.resource);
    }
    let kept = difference.effect.iter().filter(|line| line.is == Is::Kept).count();
    if kept > 0 {
        let _ = writeln!(out, "  {}", paint.dim(&format!("{kept} unchanged change(s)")));
    }
    let Counts { adds, changes, removes, irreversible } = difference.counts;
    let last = format!(
        "Effect: {adds} to add, {changes} to change, {removes} to remove \
         ({irreversible} irreversible)."
    );
    let _ = writeln!(out, "{}", paint.bold(&last));
    out
}

fn mark(kind: ChangeKind, paint: Paint) -> String {
    match kind {
        ChangeKind::Add => paint.green("+"),
        ChangeKind::Change => paint.yellow("~"),
        ChangeKind::Remove => paint.red("-"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn diff_range_is_two_revisions_or_one_and_its_predecessor() {
        let read = |asked| range(asked, 3).ok();
        assert_eq!(read(None), Some((2, 3)));
        assert_eq!(read(Some("1..3")), Some((1, 3)));
        assert_eq!(read(Some("1")), Some((0, 1)));
        for wrong in ["4", "0", "1..9", "x", "..", "9..1"] {
            assert_eq!(read(Some(wrong)), None, "{wrong}");
        }
    }

    #[test]
    fn diff_compares_nested_fields() {
        let mut found = Vec::new();
        let (before, after) =
            (json!({ "a": { "b": 1, "c": 2 } }), json!({ "a": { "b": 1 }, "d": 0 }));
        differences("parameters", &before, &after, &mut found);
        let names: Vec<&str> = found.iter().map(|field| field.name.as_str()).collect();
        assert_eq!(names, ["parameters.a.c", "parameters.d"]);
    }
}
