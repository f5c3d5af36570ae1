//! What a draft would change in a document, field by field, in the words of the document itself.

use super::document::Document;
use crate::change::{FieldChange, field_changes};

/// Nothing if they say the same.
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
