//! The changes that a draft makes to a policy document, field by field.

use super::document::Document;
use crate::change::{FieldChange, field_changes};

/// Returns the changed fields; empty if the documents are equal.
pub fn difference(old: Option<&Document>, new: &Document) -> Vec<FieldChange> {
    let value = |document: &Document| serde_json::to_value(document).ok();
    field_changes(old.and_then(value).as_ref(), value(new).as_ref())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn document(text: &str) -> Document {
        Document::parse_yaml(text).unwrap()
    }

    #[test]
    fn policy_difference_lists_changed_fields_with_both_sides() {
        let old = document("name: a\nrequire: [{roles: [dba], min: 1}]\n");
        let new = document("name: a\nrequire: [{roles: [dba], min: 2}]\nreject_threshold: 2\n");
        let changes = difference(Some(&old), &new);
        let changes: Vec<_> = changes
            .iter()
            .map(|change| (change.path.as_str(), &change.before, &change.after))
            .collect();
        let expected = [
            ("reject_threshold", &Some(json!(1)), &Some(json!(2))),
            ("require[0].min", &Some(json!(1)), &Some(json!(2))),
        ];
        assert_eq!(changes, expected);
        assert_eq!(difference(Some(&old), &old), []);
    }

    #[test]
    fn policy_difference_of_new_documents_and_lists_is_one_change() {
        let one = document("name: a\nrequire: [{roles: [dba], min: 1}]\n");
        let changes = difference(None, &one);
        assert_eq!((changes.len(), changes[0].path.as_str(), &changes[0].before), (1, "", &None));
        let two = document("name: a\nrequire: [{roles: [dba], min: 1}, {roles: [sre], min: 1}]\n");
        let changes = difference(Some(&one), &two);
        assert_eq!((changes.len(), changes[0].path.as_str()), (1, "require"));
    }
}
