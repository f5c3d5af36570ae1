//! Compares two documents field by field and lists the differing fields with both values.

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::Value;

/// One field that differs. A value is absent if the document on that side does not have the field.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FieldChange {
    /// The path of the field, like `require[0].min`.
    pub path: String,
    pub before: Option<Value>,
    pub after: Option<Value>,
}

/// Returns the differing fields; empty if the documents are equal.
pub fn field_changes(before: Option<&Value>, after: Option<&Value>) -> Vec<FieldChange> {
    let mut changes = Vec::new();
    compare(String::new(), before, after, &mut changes);
    changes
}

fn compare(
    path: String,
    before: Option<&Value>,
    after: Option<&Value>,
    changes: &mut Vec<FieldChange>,
) {
    if before == after {
        return;
    }
    match (before, after) {
        (Some(Value::Object(old)), Some(Value::Object(new))) => {
            let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
            for name in names {
                let inner = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                compare(inner, old.get(name), new.get(name), changes);
            }
        }
        // Lists of equal length are compared item by item; otherwise the whole list is reported,
        // because items have moved.
        (Some(Value::Array(old)), Some(Value::Array(new))) if old.len() == new.len() => {
            for (place, (old, new)) in old.iter().zip(new).enumerate() {
                compare(format!("{path}[{place}]"), Some(old), Some(new), changes);
            }
        }
        _ => changes.push(FieldChange { path, before: before.cloned(), after: after.cloned() }),
    }
}
