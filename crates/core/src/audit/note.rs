//! A signed note (C2SP signed-note): text, a blank line, and one line per signature. It has a
//! single encoding, so parsing and printing returns the same bytes. Signing and verifying are not
//! part of this module; a key is known by its name and a short id.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};
use thiserror::Error;

use crate::limits::{NAME_MAX_BYTES, NOTE_MAX_BYTES, NOTE_SIGNATURES_MAX};

/// Every signature line begins with an em dash and a space.
const OPENING: &str = "\u{2014} ";

/// The byte that identifies Ed25519 in a key id.
const ED25519: [u8; 1] = [1];

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NoteError {
    #[error(
        "`{given}` is not a valid key name: use 1 to {NAME_MAX_BYTES} bytes without \
             whitespace or `+`"
    )]
    BadName { given: String },
    #[error("the signature by {name} is empty")]
    EmptySignature { name: KeyName },
    #[error("two signatures by {name} with key {key_id}: remove one of them")]
    SignedTwice { name: KeyName, key_id: NoteKeyId },
    #[error("a note has 1 to {NOTE_SIGNATURES_MAX} signatures, got {given}")]
    Signatures { given: usize },
    #[error("a note has at most {NOTE_MAX_BYTES} bytes, got {bytes}")]
    TooLarge { bytes: usize },
    #[error("the text of a note must end with a newline and must not contain control characters")]
    BadText,
    #[error("not a signed note: {0}")]
    Malformed(&'static str),
}

/// The name of a key, best the address of the log without a scheme: `audit.example.com/acme`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct KeyName(String);

impl KeyName {
    pub fn new(name: &str) -> Result<Self, NoteError> {
        let holds = !name.is_empty()
            && name.len() <= NAME_MAX_BYTES
            && !name.contains(|c: char| c.is_whitespace() || c.is_control() || c == '+');
        if holds {
            Ok(Self(name.to_owned()))
        } else {
            let given = name.to_owned();
            Err(NoteError::BadName { given })
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for KeyName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Distinguishes keys of the same name. Four bytes prove nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct NoteKeyId([u8; 4]);

impl NoteKeyId {
    pub const fn from_bytes(bytes: [u8; 4]) -> Self {
        Self(bytes)
    }

    pub const fn bytes(self) -> [u8; 4] {
        self.0
    }

    pub fn ed25519(name: &KeyName, public_key: &[u8; 32]) -> Self {
        let mut hasher = Sha256::new();
        hasher.update(name.as_str());
        hasher.update(b"\n");
        hasher.update(ED25519);
        hasher.update(public_key);
        let [a, b, c, d, ..]: [u8; 32] = hasher.finalize().into();
        Self([a, b, c, d])
    }
}

impl fmt::Display for NoteKeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x}", u32::from_be_bytes(self.0))
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signature {
    pub name: KeyName,
    pub key_id: NoteKeyId,
    pub bytes: Vec<u8>,
}

impl Signature {
    fn parse(line: &str) -> Result<Self, NoteError> {
        let (name, encoded) =
            line.strip_prefix(OPENING).and_then(|rest| rest.split_once(' ')).ok_or(
                NoteError::Malformed("a signature line consists of a dash, a name and base64"),
            )?;
        let name = KeyName::new(name)?;
        let decoded = STANDARD
            .decode(encoded)
            .map_err(|_| NoteError::Malformed("a signature is not valid base64"))?;
        let (key_id, bytes) = decoded
            .split_first_chunk()
            .ok_or(NoteError::Malformed("a signature is too short to contain a key id"))?;
        Ok(Self { name, key_id: NoteKeyId(*key_id), bytes: bytes.to_vec() })
    }
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = [self.key_id.0.as_slice(), &self.bytes].concat();
        write!(f, "{OPENING}{} {}", self.name, STANDARD.encode(bytes))
    }
}

/// A text with signatures. The type does not imply that a signature is valid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    text: String,
    signatures: Vec<Signature>,
}

impl Note {
    pub fn new(text: String, signatures: Vec<Signature>) -> Result<Self, NoteError> {
        let is_text = text.ends_with('\n') && !text.contains(|c: char| c < ' ' && c != '\n');
        if !is_text {
            return Err(NoteError::BadText);
        }
        let given = signatures.len();
        if given == 0 || given > NOTE_SIGNATURES_MAX {
            return Err(NoteError::Signatures { given });
        }
        for (place, signature) in signatures.iter().enumerate() {
            let key = (&signature.name, signature.key_id);
            if signature.bytes.is_empty() {
                let name = signature.name.clone();
                return Err(NoteError::EmptySignature { name });
            }
            let mut earlier = signatures.iter().take(place);
            if earlier.any(|earlier| (&earlier.name, earlier.key_id) == key) {
                return Err(NoteError::SignedTwice {
                    name: signature.name.clone(),
                    key_id: signature.key_id,
                });
            }
        }
        let note = Self { text, signatures };
        let bytes = note.to_string().len();
        if bytes > NOTE_MAX_BYTES {
            return Err(NoteError::TooLarge { bytes });
        }
        Ok(note)
    }

    pub fn parse(bytes: &[u8]) -> Result<Self, NoteError> {
        if bytes.len() > NOTE_MAX_BYTES {
            return Err(NoteError::TooLarge { bytes: bytes.len() });
        }
        let whole = std::str::from_utf8(bytes)
            .map_err(|_| NoteError::Malformed("the note is not UTF-8"))?;
        // Splits at the last blank line, because the text itself may have some.
        let (text, signatures) = whole
            .rsplit_once("\n\n")
            .ok_or(NoteError::Malformed("the blank line before the signatures is missing"))?;
        let signatures = signatures
            .strip_suffix('\n')
            .ok_or(NoteError::Malformed("the last line does not end with a newline"))?;
        let signatures = signatures.split('\n').map(Signature::parse).collect::<Result<_, _>>()?;
        Self::new(format!("{text}\n"), signatures)
    }

    /// Returns the signed text: the lines above the blank line, including their line ends.
    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn signatures(&self) -> &[Signature] {
        &self.signatures
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.text)?;
        self.signatures.iter().try_for_each(|signature| writeln!(f, "{signature}"))
    }
}

#[cfg(test)]
#[path = "note_tests.rs"]
mod tests;
