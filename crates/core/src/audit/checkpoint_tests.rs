//! Checkpoints have an exact text, and no other text is accepted.

use proptest::prelude::*;

use super::super::note::Note;
use super::super::tree::leaf_hash;
use super::*;

const TEXT: &str =
    "audit.example.com/acme\n20852163\niipcm3aIJ95alVLDigRMZpWcaPbS8htSYK9U0vh9uCc=\n";

fn checkpoint() -> Checkpoint {
    let root = leaf_hash(b"hello");
    Checkpoint::new("audit.example.com/acme", 20_852_163, root, &[]).unwrap()
}

#[test]
fn checkpoint_text_follows_the_format() {
    assert_eq!(checkpoint().to_string(), TEXT);
    let read = Checkpoint::parse(TEXT).unwrap();
    assert_eq!(read, checkpoint());
    assert_eq!(read.origin(), "audit.example.com/acme");
    assert_eq!(read.size(), 20_852_163);
    assert_eq!(read.root(), leaf_hash(b"hello"));
    assert!(read.extensions().is_empty());

    let extended = format!("{TEXT}one\ntwo words\n");
    let read = Checkpoint::parse(&extended).unwrap();
    assert_eq!(read.extensions(), ["one", "two words"]);
    assert_eq!(read.to_string(), extended);
}

#[test]
fn checkpoint_signature_is_a_note_over_its_text() {
    let note = format!("{TEXT}\n\u{2014} audit.example.com/acme rfDrAgE=\n");
    let note = Note::parse(note.as_bytes()).unwrap();
    assert_eq!(Checkpoint::parse(note.text()), Ok(checkpoint()));
}

#[test]
fn checkpoint_size_accepts_plain_digits_only() {
    for wrong in
        ["", "-1", "+1", "01", "00", "1 ", " 1", "1_0", "0x1", "1.0", "٣", "99999999999999999999"]
    {
        let text = TEXT.replace("20852163", wrong);
        let given = wrong.to_owned();
        assert_eq!(Checkpoint::parse(&text), Err(CheckpointError::BadSize { given }));
    }
    let root = leaf_hash(b"hello");
    assert!(Checkpoint::new("o", AUDIT_LEAVES_MAX, root, &[]).is_ok());
    let given = "9223372036854775808".to_owned();
    let too_large = Err(CheckpointError::BadSize { given });
    assert_eq!(Checkpoint::new("o", AUDIT_LEAVES_MAX + 1, root, &[]), too_large);
    let text = TEXT.replace("20852163", "9223372036854775808");
    assert_eq!(Checkpoint::parse(&text), too_large);
}

#[test]
fn checkpoint_of_an_empty_tree_has_the_empty_root() {
    let root = leaf_hash(b"hello");
    let refused = Checkpoint::new("o", 0, root, &[]).unwrap_err();
    assert_eq!(refused, CheckpointError::NotEmptyRoot { given: root });
    assert!(refused.to_string().contains("sha256:e3b0c442"), "{refused}");
    let empty = Checkpoint::new("o", 0, empty_root(), &[]).unwrap();
    assert_eq!(Checkpoint::parse(&empty.to_string()), Ok(empty));
}

#[test]
fn checkpoint_root_is_32_bytes_in_strict_base64() {
    let root = "iipcm3aIJ95alVLDigRMZpWcaPbS8htSYK9U0vh9uCc=";
    for wrong in [
        "",
        "iipcm3aIJ95alVLDigRMZpWcaPbS8htSYK9U0vh9uCc",
        "iipcm3aIJ95alVLDigRMZpWcaPbS8htSYK9U0vh9uCd=",
        "iipcm3aIJ95alVLDigRMZpWcaPbS8htSYK9U0vh9uA==",
        "iipcm3aIJ95alVLDigRMZpWcaPbS8htSYK9U0vh9uCcA",
        "iipcm3aIJ95alVLDigRMZpWcaPbS8htSYK9U0vh9-_c=",
    ] {
        let given = wrong.to_owned();
        let text = TEXT.replace(root, wrong);
        assert_eq!(Checkpoint::parse(&text), Err(CheckpointError::BadRoot { given }));
    }
}

#[test]
fn checkpoint_lines_are_nonempty_without_control_bytes() {
    let root = leaf_hash(b"hello");
    for wrong in ["", "a\nb", "a\tb", "a\r", "\0"] {
        let given = wrong.to_owned();
        let refused = Err(CheckpointError::BadLine { given });
        assert_eq!(Checkpoint::new(wrong, 1, root, &[]), refused);
        assert_eq!(Checkpoint::new("o", 1, root, &["fine", wrong]), refused);
    }
    let bad_line =
        |text: &str| matches!(Checkpoint::parse(text), Err(CheckpointError::BadLine { .. }));
    assert!(bad_line(&format!("{TEXT}\n")));
    assert!(bad_line(&format!("{TEXT}\nafter a blank line\n")));
    for short in ["", "\n", "o\n", "o\n1\n", TEXT.trim_end()] {
        assert_eq!(Checkpoint::parse(short), Err(CheckpointError::TooShort), "{short:?}");
    }
}

proptest! {
    #[test]
    fn checkpoint_round_trips_through_its_text(
        origin in "[^\\x00-\\x1f]{1,20}",
        size in 1..=AUDIT_LEAVES_MAX,
        root: [u8; 32],
        extensions in prop::collection::vec("[^\\x00-\\x1f]{1,20}", 0..3),
    ) {
        let extensions: Vec<&str> = extensions.iter().map(String::as_str).collect();
        let root = Digest::from_bytes(root);
        let checkpoint = Checkpoint::new(&origin, size, root, &extensions).unwrap();
        prop_assert_eq!(Checkpoint::parse(&checkpoint.to_string()), Ok(checkpoint));
    }

    #[test]
    fn checkpoint_parser_never_panics(text: String) {
        if let Ok(checkpoint) = Checkpoint::parse(&text) {
            prop_assert_eq!(checkpoint.to_string(), text);
        }
    }

    #[test]
    fn checkpoint_parsed_is_written_unchanged(at: prop::sample::Index, byte in 0_u8..128) {
        let mut bytes = format!("{TEXT}extension\n").into_bytes();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        let text = String::from_utf8(bytes).unwrap();
        if let Ok(checkpoint) = Checkpoint::parse(&text) {
            prop_assert_eq!(checkpoint.to_string(), text);
        }
    }
}
