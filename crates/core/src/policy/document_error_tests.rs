//! The display of errors, and the text that they quote.

use super::*;

#[test]
fn policy_error_shows_all_known_details() {
    let mut error = DocumentError {
        line: 3,
        column: 9,
        path: "require[0].min".to_owned(),
        message: "no".to_owned(),
    };
    assert_eq!(error.to_string(), "line 3, column 9: require[0].min: no");
    assert_eq!(
        serde_json::to_string(&error).unwrap(),
        r#"{"line":3,"column":9,"path":"require[0].min","message":"no"}"#
    );
    error.path = String::new();
    assert_eq!(error.to_string(), "line 3, column 9: no");
    error.line = 0;
    assert_eq!(error.to_string(), "no");
    let both = DocumentErrors { errors: vec![error.clone(), error] };
    assert_eq!(both.to_string(), "no\nno");
}

#[test]
fn policy_error_quotes_are_escaped_and_cut() {
    let quote = |text: &str| DocumentError::at(Position::default(), text, text);
    let escaped = quote("a\u{1b}\nb");
    assert_eq!(escaped.message, r"a\u{1b}\nb");
    assert_eq!(escaped.path, r"a\u{1b}\nb");
    let longest = "é".repeat(POLICY_ERROR_MAX_CHARS);
    assert_eq!(quote(&longest).message, longest);
    assert_eq!(quote(&format!("{longest}x")).message, format!("{longest}…"));
}
