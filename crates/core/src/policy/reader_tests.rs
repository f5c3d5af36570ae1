//! How errors are shown, and what a word may hold.

use super::*;

#[test]
fn an_error_says_as_much_as_is_known() {
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
fn a_word_has_nothing_the_eye_cannot_see() {
    let longest = "x".repeat(NAME_MAX_BYTES);
    for good in ["a", "Domain Admins", "é", longest.as_str()] {
        assert_eq!(word(good), Ok(good.to_owned()));
    }
    let too_long = format!("{longest}x");
    for bad in ["", " a", "a ", "a\u{7}b", "\t", too_long.as_str()] {
        assert!(word(bad).is_err(), "{bad:?}");
    }
    assert_eq!(
        word(" a"),
        Err("` a` must not have control characters or blanks around it".to_owned())
    );
    assert_eq!(word(""), Err("`` must have 1 to 128 bytes".to_owned()));
}

#[test]
fn what_an_error_quotes_is_escaped_and_cut() {
    let quote = |text: &str| DocumentError::at(Position::default(), text, text);
    let escaped = quote("a\u{1b}\nb");
    assert_eq!(escaped.message, r"a\u{1b}\nb");
    assert_eq!(escaped.path, r"a\u{1b}\nb");
    let longest = "é".repeat(POLICY_ERROR_MAX_CHARS);
    assert_eq!(quote(&longest).message, longest);
    assert_eq!(quote(&format!("{longest}x")).message, format!("{longest}…"));
}
