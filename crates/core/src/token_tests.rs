//! Every token round-trips, every small damage is detected, and the secret is never printed.

use proptest::prelude::*;

use super::*;

fn sample() -> Token {
    Token {
        kind: TokenKind::Agent,
        key_id: KeyId::from_bytes([7; 11]),
        secret: Secret::from_bytes([9; 32]),
    }
}

proptest! {
    #[test]
    fn token_round_trips_through_its_text(key: [u8; 11], secret: [u8; 32], is_agent: bool) {
        let kind = if is_agent { TokenKind::Agent } else { TokenKind::User };
        let token =
            Token { kind, key_id: KeyId::from_bytes(key), secret: Secret::from_bytes(secret) };
        let text = token.reveal();
        prop_assert_eq!(text.len(), 4 + 4 + 16 + 1 + 43 + 6);
        let read = Token::parse(&text).unwrap();
        prop_assert_eq!(read.kind, kind);
        prop_assert_eq!(&read.key_id, &token.key_id);
        prop_assert_eq!(read.secret.reveal(), token.secret.reveal());
    }

    #[test]
    fn token_digits_of_different_bytes_differ(a: [u8; 32], b: [u8; 32]) {
        let same = Secret::from_bytes(a).reveal() == Secret::from_bytes(b).reveal();
        prop_assert_eq!(a == b, same);
    }

    #[test]
    fn token_parser_never_panics(text: String) {
        let _ = Token::parse(&text);
        let _ = Token::parse(&format!("ade_usr_{text}"));
    }
}

#[test]
fn token_digits_encode_the_number() {
    assert_eq!(digits(&[0], 3), "000");
    assert_eq!(digits(&[61], 3), "00z");
    assert_eq!(digits(&[62], 3), "010");
    assert_eq!(digits(&[1, 0], 3), "048");
    // 2^32 − 1 in base 62, computed independently.
    assert_eq!(digits(&[255; 4], 6), "4gfFC3");
}

#[test]
fn token_checksum_is_crc32() {
    // The check value of CRC-32/ISO-HDLC for "123456789" is cbf43926.
    assert_eq!(checksum_of("123456789"), digits(&[0xcb, 0xf4, 0x39, 0x26], 6));
}

#[test]
fn token_checksum_detects_any_changed_character() {
    let text = sample().reveal();
    for at in 0..text.len() {
        let mut bytes = text.clone().into_bytes();
        bytes[at] = if bytes[at] == b'x' { b'y' } else { b'x' };
        let damaged = String::from_utf8(bytes).unwrap();
        assert!(Token::parse(&damaged).is_err(), "{at}");
    }
}

#[test]
fn token_that_is_malformed_is_refused_with_the_reason() {
    let text = sample().reveal();
    let cases = [
        (String::new(), TokenError::Prefix),
        (text.replace("ade_", "ghp_"), TokenError::Prefix),
        (text.replace("agt", "AGT"), TokenError::Prefix),
        (format!(" {text}"), TokenError::Prefix),
        (format!("{text} "), TokenError::Shape),
        (text[..text.len() - 1].to_owned(), TokenError::Shape),
        (text.replace("agt", "usr"), TokenError::Checksum),
        ("ade_usr_".to_owned(), TokenError::Shape),
    ];
    for (given, expected) in cases {
        assert_eq!(Token::parse(&given).unwrap_err(), expected, "{given}");
    }
}

#[test]
fn token_debug_and_errors_hide_the_secret() {
    let token = sample();
    let printed = format!("{token:?} {:?}", token.secret);
    assert!(!printed.contains(token.secret.reveal()), "{printed}");
    assert!(printed.contains(token.key_id.as_str()), "{printed}");
}

#[test]
fn token_secrets_are_redacted_from_text() {
    let token = sample().reveal();
    let shown = format!("{}…", &token[..25]);
    let text = format!("é {token}{token}, ade_ and {token}x ade_agt_");
    assert_eq!(redacted(&text), format!("é {shown}{shown}, ade_ and {shown}x ade_agt_"));
    assert_eq!(redacted(&token), shown);
    // Neither is a token: one has a typing error, and the other has no secret.
    let damaged = token.replacen("agt", "abt", 1);
    for other in [damaged.as_str(), &token[..60], "ade_", ""] {
        assert_eq!(redacted(other), other);
    }
}
