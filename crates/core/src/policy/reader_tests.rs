//! The characters that a word may contain.

use super::*;

#[test]
fn policy_word_with_invisible_characters_is_refused() {
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
        Err("` a` must not contain control characters or surrounding spaces".to_owned())
    );
    assert_eq!(word(""), Err("`` must have 1 to 128 bytes".to_owned()));
}
