//! The one JSON reader for everything that is hashed: what two readers could understand in two
//! ways is refused, with the place. A [`StrictValue`] therefore has exactly one meaning and one
//! canonical form; its equality is equality of canonical bytes. Typed documents come through
//! [`read`]. Not here: the canonical bytes (`canonical`), texts that look alike (for display).

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{DeserializeOwned, DeserializeSeed, Error as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use thiserror::Error;

use super::canonical::{self, CanonicalError};
use super::strict_reader::{Place, Reader};
use crate::limits::{JSON_DEPTH_MAX, PAYLOAD_MAX_BYTES};

/// Keys by which `serde_json` passes numbers and raw text to itself when another crate switches
/// those features on. Read as data here, they would be read as something else over there.
pub(super) const RESERVED_PREFIX: &str = "$serde_json::private::";

/// A JSON value that came through the checks of this file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StrictValue(Node);

/// Ordered by key, whatever `preserve_order` says elsewhere in the build.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Node {
    Null,
    Bool(bool),
    /// Every whole number, also one written `1.0` or `-0`: one value, one form.
    Integer(i64),
    /// Finite, and not a whole number.
    Fraction(f64),
    Text(String),
    List(Vec<Node>),
    Object(BTreeMap<String, Node>),
}

// A fraction is never NaN.
impl Eq for Node {}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    pub line: usize,
    pub column: usize,
}

/// Why a text is refused, and where: the path inside the document as far as it was understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StrictError {
    pub fault: Fault,
    /// For example `parameters.env[2]`; empty at the top.
    pub path: String,
    /// Absent for a value that never was text.
    pub position: Option<Position>,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Fault {
    #[error("{bytes} bytes are too many: send at most {PAYLOAD_MAX_BYTES}")]
    TooLarge { bytes: usize },
    #[error("this is not UTF-8 from byte {offset} on")]
    NotUtf8 { offset: usize },
    #[error("the text starts with a byte order mark: send it without")]
    ByteOrderMark,
    #[error("this is not JSON ({reason})")]
    Syntax { reason: String },
    #[error("something follows the end of the document: send one document")]
    TrailingBytes,
    #[error("the key stands twice in one object: which one holds is anybody's guess")]
    DuplicateKey,
    #[error("keys that start with `{RESERVED_PREFIX}` mean something else to other readers")]
    ReservedKey,
    #[error("this is nested deeper than {JSON_DEPTH_MAX} levels")]
    TooDeep,
    #[error("{number} is beyond ±2^53, where neighbours look alike: send it as a string")]
    NumberTooLarge { number: String },
    #[error("this is not the document expected here ({reason})")]
    Shape { reason: String },
}

impl fmt::Display for StrictError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        write!(f, "{}", self.fault)?;
        if let Some(Position { line, column }) = self.position {
            write!(f, ", at line {line} column {column}")?;
        }
        Ok(())
    }
}

impl std::error::Error for StrictError {}

impl StrictValue {
    pub fn parse(bytes: &[u8]) -> Result<Self, StrictError> {
        if bytes.len() > PAYLOAD_MAX_BYTES {
            let bytes = bytes.len();
            return Err(StrictError::at_top(Fault::TooLarge { bytes }));
        }
        parse_text(text_of(bytes)?)
    }

    /// For values that a program built; held to the same rules as a text.
    pub fn from_json(value: &serde_json::Value) -> Result<Self, StrictError> {
        let mut place = Place::default();
        let read = Reader { place: &mut place }.deserialize(value);
        let node = read.map_err(|error| StrictError { position: None, ..place.located(&error) })?;
        let bytes = value.to_string().len();
        if bytes > PAYLOAD_MAX_BYTES {
            return Err(StrictError::at_top(Fault::TooLarge { bytes }));
        }
        Ok(Self(node))
    }

    /// The RFC 8785 bytes: what is hashed, and the form to store and to hand to executors.
    pub fn canonical(&self) -> Result<Vec<u8>, CanonicalError> {
        canonical::to_bytes(self)
    }
}

/// The checks of this file on a document that is not hashed and whose size the caller has bounded.
pub fn check(bytes: &[u8]) -> Result<(), StrictError> {
    parse_text(text_of(bytes)?).map(|_| ())
}

/// Reads a typed document: strict first, so that what the type would overlook is refused too.
pub fn read<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, StrictError> {
    StrictValue::parse(bytes)?;
    serde_json::from_slice(bytes).map_err(|error| StrictError {
        fault: Fault::Shape { reason: reason_of(&error) },
        path: String::new(),
        position: Some(position_of(&error)),
    })
}

impl StrictError {
    fn at_top(fault: Fault) -> Self {
        Self { fault, path: String::new(), position: None }
    }
}

fn parse_text(text: &str) -> Result<StrictValue, StrictError> {
    let mut place = Place::default();
    let mut json = serde_json::Deserializer::from_str(text);
    let read = Reader { place: &mut place }.deserialize(&mut json);
    let node = read.map_err(|error| place.located(&error))?;
    json.end().map_err(|error| StrictError {
        fault: Fault::TrailingBytes,
        path: String::new(),
        position: Some(position_of(&error)),
    })?;
    Ok(StrictValue(node))
}

fn text_of(bytes: &[u8]) -> Result<&str, StrictError> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let offset = error.valid_up_to();
        StrictError::at_top(Fault::NotUtf8 { offset })
    })?;
    if text.starts_with('\u{feff}') {
        return Err(StrictError::at_top(Fault::ByteOrderMark));
    }
    Ok(text)
}

pub(super) fn position_of(error: &serde_json::Error) -> Position {
    Position { line: error.line(), column: error.column() }
}

/// The parser's words without its own way of giving the place.
pub(super) fn reason_of(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    text.strip_suffix(&place).unwrap_or(&text).to_owned()
}

impl Serialize for StrictValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl Serialize for Node {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Integer(value) => serializer.serialize_i64(*value),
            Self::Fraction(value) => serializer.serialize_f64(*value),
            Self::Text(value) => serializer.serialize_str(value),
            Self::List(items) => serializer.collect_seq(items),
            Self::Object(members) => serializer.collect_map(members),
        }
    }
}

/// A value inside a typed document; size, byte order mark and what follows are the document's.
impl<'de> Deserialize<'de> for StrictValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut place = Place::default();
        let read = Reader { place: &mut place }.deserialize(deserializer);
        match (read, &place.fault) {
            (Ok(node), _) => Ok(Self(node)),
            (Err(error), None) => Err(error),
            (Err(_), Some(fault)) => Err(D::Error::custom(format!("{place}: {fault}"))),
        }
    }
}

#[cfg(test)]
#[path = "strict_json_tests.rs"]
mod tests;
