//! The errors of a document with their positions. Quoted text is made printable and is cut.

use std::fmt;

use serde::Serialize;
use thiserror::Error;

use crate::limits::POLICY_ERROR_MAX_CHARS;

/// A position in the text, counted from one; zero if it is unknown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Position {
    pub line: u64,
    pub column: u64,
}

/// One error and its position. Line and column count from one; zero means unknown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Error)]
pub struct DocumentError {
    pub line: u64,
    pub column: u64,
    /// The path, like `require[0].min`; empty for the document itself.
    pub path: String,
    pub message: String,
}

/// All errors of one document, in the order of reading; never empty.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub struct DocumentErrors {
    pub errors: Vec<DocumentError>,
}

impl DocumentError {
    pub(super) fn at(at: Position, path: &str, message: &str) -> Self {
        Self {
            line: at.line,
            column: at.column,
            path: printable(path),
            message: printable(message),
        }
    }
}

/// Makes quoted text printable: a terminal must not interpret it, and a long quotation is cut.
fn printable(text: &str) -> String {
    let mut out = String::new();
    for character in text.chars().take(POLICY_ERROR_MAX_CHARS) {
        if character.is_control() {
            out.extend(character.escape_default());
        } else {
            out.push(character);
        }
    }
    if text.chars().nth(POLICY_ERROR_MAX_CHARS).is_some() {
        out.push('…');
    }
    out
}

impl fmt::Display for DocumentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line > 0 {
            write!(f, "line {}, column {}: ", self.line, self.column)?;
        }
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.message)
    }
}

impl DocumentErrors {
    pub(super) fn one(error: DocumentError) -> Self {
        Self { errors: vec![error] }
    }
}

impl fmt::Display for DocumentErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.errors.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            fmt::Display::fmt(error, f)?;
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "document_error_tests.rs"]
mod tests;
