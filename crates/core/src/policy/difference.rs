//! What a draft would change in a document, field by field, in the words of the document itself.

use serde::Serialize;
use serde_json::Value;

use super::document::Document;

/// One field that differs. Absent: the document on that side does not have it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FieldChange {
    /// Like `require[0].min`.
    pub path: String,
    pub before: Option<Value>,
    pub after: Option<Value>,
}

/// Nothing if they say the same.
pub fn difference(old: Option<&Document>, new: &Document) -> Vec<FieldChange> {
    let value = |document: &Document| serde_json::to_value(document).ok();
    let mut changes = Vec::new();
    compare(String::new(), old.and_then(value).as_ref(), value(new).as_ref(), &mut changes);
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
            let names: std::collections::BTreeSet<&String> = old.keys().chain(new.keys()).collect();
            for name in names {
                let inner = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                compare(inner, old.get(name), new.get(name), changes);
            }
        }
        // Lists of one length are compared place by place; otherwise the whole list is told, since
        // places have moved.
        (Some(Value::Array(old)), Some(Value::Array(new))) if old.len() == new.len() => {
            for (place, (old, new)) in old.iter().zip(new).enumerate() {
                compare(format!("{path}[{place}]"), Some(old), Some(new), changes);
            }
        }
        _ => changes.push(FieldChange { path, before: before.cloned(), after: after.cloned() }),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn document(text: &str) -> Document {
        Document::parse_yaml(text).unwrap()
    }

    #[test]
    fn only_what_differs_is_told_with_both_sides() {
        let old = document("name: a\nrequire: [{roles: [dba], min: 1}]\n");
        let new = document("name: a\nrequire: [{roles: [dba], min: 2}]\nreject_threshold: 2\n");
        let told = difference(Some(&old), &new);
        let told: Vec<_> = told
            .iter()
            .map(|change| (change.path.as_str(), &change.before, &change.after))
            .collect();
        let expected = [
            ("reject_threshold", &Some(json!(1)), &Some(json!(2))),
            ("require[0].min", &Some(json!(1)), &Some(json!(2))),
        ];
        assert_eq!(told, expected);
        assert_eq!(difference(Some(&old), &old), []);
    }

    #[test]
    fn a_new_document_is_one_change_and_a_longer_list_another() {
        let one = document("name: a\nrequire: [{roles: [dba], min: 1}]\n");
        let told = difference(None, &one);
        assert_eq!((told.len(), told[0].path.as_str(), &told[0].before), (1, "", &None));
        let two = document("name: a\nrequire: [{roles: [dba], min: 1}, {roles: [sre], min: 1}]\n");
        let told = difference(Some(&one), &two);
        assert_eq!((told.len(), told[0].path.as_str()), (1, "require"));
    }
}
