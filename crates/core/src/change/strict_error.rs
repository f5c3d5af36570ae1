//! Why a JSON text is refused, and where.

use std::fmt;

use thiserror::Error;

use crate::limits::{JSON_DEPTH_MAX, PAYLOAD_MAX_BYTES};

/// Keys by which `serde_json` passes numbers and raw text to itself when another crate enables
/// those features. As data they would have another meaning there.
pub(super) const RESERVED_PREFIX: &str = "$serde_json::private::";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    pub line: usize,
    pub column: usize,
}

/// Why a text is refused, and where: the path inside the document, as far as it was parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StrictError {
    pub fault: JsonFault,
    /// The path, for example `parameters.env[2]`; empty at the top level.
    pub path: String,
    /// The position in the text; `None` for a value that was not parsed from text.
    pub position: Option<Position>,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum JsonFault {
    #[error("{bytes} bytes are too many: send at most {PAYLOAD_MAX_BYTES}")]
    TooLarge { bytes: usize },
    #[error("invalid UTF-8 at byte {offset}")]
    NotUtf8 { offset: usize },
    #[error("the document starts with a byte order mark: remove it")]
    ByteOrderMark,
    #[error("invalid JSON ({reason})")]
    Syntax { reason: String },
    #[error("unexpected data after the end of the document: send a single document")]
    TrailingBytes,
    #[error("duplicate key in an object: keep one")]
    DuplicateKey,
    #[error("keys that start with `{RESERVED_PREFIX}` are reserved")]
    ReservedKey,
    #[error("nested deeper than {JSON_DEPTH_MAX} levels")]
    TooDeep,
    #[error("{number} is beyond ±2^53 and would lose precision: send it as a string")]
    NumberTooLarge { number: String },
    #[error("unexpected document ({reason})")]
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

pub(super) fn position_of(error: &serde_json::Error) -> Position {
    Position { line: error.line(), column: error.column() }
}

/// Returns the message of the parser without the position it appends.
pub(super) fn reason_of(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    text.strip_suffix(&place).unwrap_or(&text).to_owned()
}
