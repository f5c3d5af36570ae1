//! Signed notes have an exact form, and no other form is accepted.

use proptest::prelude::*;

use super::*;

const NAME: &str = "audit.example.com/acme";

/// Computed independently: the key id of the bytes 0 to 31, and 64 bytes of 7.
const NOTE: &str = "one\n\ntwo\n\n\u{2014} audit.example.com/acme \
    rfDrAgcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=\n";

fn key_name() -> KeyName {
    KeyName::new(NAME).unwrap()
}

fn signature(number: u8) -> Signature {
    Signature {
        name: key_name(),
        key_id: NoteKeyId::from_bytes([1, 2, 3, number]),
        bytes: vec![number; 64],
    }
}

#[test]
fn note_key_id_follows_the_standard() {
    let key: [u8; 32] = std::array::from_fn(|place| u8::try_from(place).unwrap());
    let id = NoteKeyId::ed25519(&key_name(), &key);
    assert_eq!(id.bytes(), [0xad, 0xf0, 0xeb, 0x02]);
    assert_eq!(id.to_string(), "adf0eb02");
}

#[test]
fn note_text_follows_the_format() {
    let signature = Signature {
        name: key_name(),
        key_id: NoteKeyId::from_bytes([0xad, 0xf0, 0xeb, 0x02]),
        bytes: vec![7; 64],
    };
    let note = Note::new("one\n\ntwo\n".to_owned(), vec![signature.clone()]).unwrap();
    assert_eq!(note.to_string(), NOTE);
    assert_eq!(Note::parse(NOTE.as_bytes()), Ok(note.clone()));
    assert_eq!(note.text(), "one\n\ntwo\n");
    assert_eq!(note.signatures(), [signature]);
}

#[test]
fn note_key_names_have_no_blanks_and_no_plus() {
    for name in ["", "a b", "a\u{a0}b", "a+b", "a\nb", "a\u{1}b", "a\u{7f}b", "\u{2003}"] {
        let refused = KeyName::new(name).unwrap_err();
        let given = name.to_owned();
        assert_eq!(refused, NoteError::BadName { given });
    }
    assert_eq!(KeyName::new("é").unwrap().as_str(), "é");
    assert!(KeyName::new(&"x".repeat(NAME_MAX_BYTES)).is_ok());
    assert!(KeyName::new(&"x".repeat(NAME_MAX_BYTES + 1)).is_err());
}

#[test]
fn note_that_is_malformed_is_refused_with_the_reason() {
    let new = |text: &str, signatures| Note::new(text.to_owned(), signatures);
    let one = || vec![signature(1)];
    for text in ["", "one", "one\ttwo\n", "one\r\n", "\0\n"] {
        assert_eq!(new(text, one()), Err(NoteError::BadText), "{text:?}");
    }
    assert!(new("\n", one()).is_ok());
    assert_eq!(new("a\n", vec![]), Err(NoteError::Signatures { given: 0 }));
    let many = |count: usize| (0..u8::try_from(count).unwrap()).map(signature).collect();
    assert!(new("a\n", many(NOTE_SIGNATURES_MAX)).is_ok());
    let given = NOTE_SIGNATURES_MAX + 1;
    assert_eq!(new("a\n", many(given)), Err(NoteError::Signatures { given }));
    let empty = Signature { bytes: vec![], ..signature(1) };
    let name = key_name();
    assert_eq!(new("a\n", vec![empty]), Err(NoteError::EmptySignature { name }));
}

#[test]
fn note_signed_twice_by_one_key_is_refused() {
    let twice = vec![signature(1), signature(2), signature(1)];
    assert_eq!(
        Note::new("a\n".to_owned(), twice),
        Err(NoteError::SignedTwice {
            name: key_name(),
            key_id: NoteKeyId::from_bytes([1, 2, 3, 1])
        })
    );
    let other = Signature { name: KeyName::new("witness.example.com").unwrap(), ..signature(1) };
    assert!(Note::new("a\n".to_owned(), vec![signature(1), other]).is_ok());
}

#[test]
fn note_size_is_bounded_when_written_and_read() {
    let rest = Note::new("\n".to_owned(), vec![signature(1)]).unwrap();
    let room = NOTE_MAX_BYTES - rest.to_string().len();
    let with = |bytes: usize| format!("{}\n", "x".repeat(bytes));
    let largest = Note::new(with(room), vec![signature(1)]).unwrap();
    let text = largest.to_string();
    assert_eq!(text.len(), NOTE_MAX_BYTES);
    assert_eq!(Note::parse(text.as_bytes()), Ok(largest));
    let bytes = NOTE_MAX_BYTES + 1;
    let too_large = Err(NoteError::TooLarge { bytes });
    assert_eq!(Note::new(with(room + 1), vec![signature(1)]), too_large);
    assert_eq!(Note::parse(format!("x{text}").as_bytes()), too_large);
}

#[test]
fn note_in_another_spelling_is_refused() {
    let cases = [
        (NOTE.trim_end().to_owned(), "the end of the last line is missing"),
        (format!("{NOTE}\n"), "a blank line at the end"),
        (NOTE.replace('\u{2014}', "-"), "a hyphen for the dash"),
        (NOTE.replace("\u{2014} ", "\u{2014}"), "no blank after the dash"),
        (NOTE.replace("acme ", "acme  "), "two blanks"),
        (NOTE.replace("Bwc=\n", "Bwc\n"), "no padding"),
        (NOTE.replace("Bwc=\n", "Bwd=\n"), "stray bits"),
        (NOTE.replace("Bwc=\n", "Bwc= \n"), "a blank at the end"),
        (NOTE.replace('\n', "\r\n"), "other line ends"),
        (NOTE.replace("\n\n", "\n"), "no blank line"),
        (NOTE.replace("one", "o\u{1}e"), "a control byte"),
        ("a\n\n\u{2014} n rfDr\n".to_owned(), "three bytes"),
        ("a\n\n\u{2014} n rfDrAg==\n".to_owned(), "a key id only"),
        ("a\n\n".to_owned(), "no signature"),
        ("a\n\n\n".to_owned(), "an empty signature line"),
        (String::new(), "nothing"),
    ];
    for (text, what) in cases {
        assert!(Note::parse(text.as_bytes()).is_err(), "{what}");
    }
    let broken = [NOTE.as_bytes(), b"\xff"].concat();
    assert_eq!(Note::parse(&broken), Err(NoteError::Malformed("the note is not UTF-8")));
    assert!(Note::parse("a\n\n\u{2014} n rfDrAgE=\n".as_bytes()).is_ok());
}

fn signatures() -> impl Strategy<Value = Signature> {
    let name = "[a-z./é]{1,20}".prop_map(|name| KeyName::new(&name).unwrap());
    let bytes = prop::collection::vec(any::<u8>(), 1..80);
    (name, any::<[u8; 4]>(), bytes).prop_map(|(name, key_id, bytes)| Signature {
        name,
        key_id: NoteKeyId::from_bytes(key_id),
        bytes,
    })
}

fn notes() -> impl Strategy<Value = Note> {
    let text = "([^\\x00-\\x1f]{0,10}\n){1,6}";
    let signatures = prop::collection::vec(signatures(), 1..5);
    (text, signatures)
        .prop_filter_map("a key signs once", |(text, signatures)| Note::new(text, signatures).ok())
}

proptest! {
    #[test]
    fn note_round_trips_through_its_text(note in notes()) {
        prop_assert_eq!(Note::parse(note.to_string().as_bytes()), Ok(note));
    }

    #[test]
    fn note_parser_never_panics(bytes: Vec<u8>) {
        prop_assert!(Note::parse(&bytes).is_err());
    }

    #[test]
    fn note_parsed_is_written_unchanged(note in notes(), at: prop::sample::Index, byte: u8) {
        let mut bytes = note.to_string().into_bytes();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        if let Ok(other) = Note::parse(&bytes) {
            prop_assert_eq!(other.to_string().into_bytes(), bytes);
        }
    }
}
