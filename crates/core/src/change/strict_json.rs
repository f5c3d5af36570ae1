//! The JSON reader for everything that is hashed. Input that two readers could interpret
//! differently is refused with its position. A [`StrictValue`] therefore has exactly one meaning
//! and one canonical form, and its equality is equality of canonical bytes. Typed documents are
//! read by [`read`]. The canonical bytes are produced in `canonical`; look-alike texts are a matter
//! of display.

use serde::de::{DeserializeOwned, DeserializeSeed, Error as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::canonical::{self, CanonicalError};
use super::strict_error::{JsonFault, StrictError, position_of, reason_of};
use super::strict_reader::{Node, ReadPosition, Reader};
use crate::limits::PAYLOAD_MAX_BYTES;

/// A JSON value that has passed the checks of this module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StrictValue(Node);

impl StrictValue {
    pub fn parse(bytes: &[u8]) -> Result<Self, StrictError> {
        if bytes.len() > PAYLOAD_MAX_BYTES {
            let bytes = bytes.len();
            return Err(StrictError::at_top(JsonFault::TooLarge { bytes }));
        }
        parse_text(text_of(bytes)?)
    }

    /// Converts a value that a program built. The same rules apply as for text.
    pub fn from_json(value: &serde_json::Value) -> Result<Self, StrictError> {
        let mut place = ReadPosition::default();
        let read = Reader { place: &mut place }.deserialize(value);
        let node = read.map_err(|error| StrictError { position: None, ..place.located(&error) })?;
        let bytes = value.to_string().len();
        if bytes > PAYLOAD_MAX_BYTES {
            return Err(StrictError::at_top(JsonFault::TooLarge { bytes }));
        }
        Ok(Self(node))
    }

    /// Returns the RFC 8785 bytes, which are hashed, stored and passed to executors.
    pub fn canonical(&self) -> Result<Vec<u8>, CanonicalError> {
        canonical::to_bytes(self)
    }
}

/// Applies the checks of this module to a document that is not hashed and whose size the caller has
/// bounded.
pub fn check(bytes: &[u8]) -> Result<(), StrictError> {
    parse_text(text_of(bytes)?).map(|_| ())
}

/// Reads a typed document. The strict checks run first, so that input that the type would ignore is
/// refused too.
pub fn read<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, StrictError> {
    StrictValue::parse(bytes)?;
    serde_json::from_slice(bytes).map_err(|error| StrictError {
        fault: JsonFault::Shape { reason: reason_of(&error) },
        path: String::new(),
        position: Some(position_of(&error)),
    })
}

impl StrictError {
    fn at_top(fault: JsonFault) -> Self {
        Self { fault, path: String::new(), position: None }
    }
}

fn parse_text(text: &str) -> Result<StrictValue, StrictError> {
    let mut place = ReadPosition::default();
    let mut json = serde_json::Deserializer::from_str(text);
    let read = Reader { place: &mut place }.deserialize(&mut json);
    let node = read.map_err(|error| place.located(&error))?;
    json.end().map_err(|error| StrictError {
        fault: JsonFault::TrailingBytes,
        path: String::new(),
        position: Some(position_of(&error)),
    })?;
    Ok(StrictValue(node))
}

fn text_of(bytes: &[u8]) -> Result<&str, StrictError> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let offset = error.valid_up_to();
        StrictError::at_top(JsonFault::NotUtf8 { offset })
    })?;
    if text.starts_with('\u{feff}') {
        return Err(StrictError::at_top(JsonFault::ByteOrderMark));
    }
    Ok(text)
}

impl Serialize for StrictValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

/// Reads a value inside a typed document. Size, byte order mark and trailing bytes are checked for
/// the document.
impl<'de> Deserialize<'de> for StrictValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut place = ReadPosition::default();
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
