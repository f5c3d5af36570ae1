//! Glob patterns for task types and resources. `/` is a separator: `*` stays inside one segment and
//! `**` crosses segments, in any position. A pattern is identified by its text; the compiled form
//! is only used for matching.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::iter::Peekable;
use std::str::{Chars, FromStr};

use globset::{GlobBuilder, GlobSet};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use thiserror::Error;

use crate::limits::PATTERN_MAX_BYTES;
use crate::resource::ResourceRef;

#[derive(Clone)]
pub struct Pattern {
    text: String,
    compiled: GlobSet,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PatternError {
    #[error("the pattern is empty: omit it, or write `**` to match everything")]
    Empty,
    #[error("the pattern has {bytes} bytes: at most {PATTERN_MAX_BYTES}")]
    TooLong { bytes: usize },
    #[error("`{given}` contains a control character: use printable text")]
    Unprintable { given: String },
    #[error("`{given}` is not a valid glob: {why}")]
    Malformed { given: String, why: String },
}

impl Pattern {
    pub fn new(text: &str) -> Result<Self, PatternError> {
        if text.is_empty() {
            return Err(PatternError::Empty);
        }
        if text.len() > PATTERN_MAX_BYTES {
            return Err(PatternError::TooLong { bytes: text.len() });
        }
        if text.chars().any(char::is_control) {
            return Err(PatternError::Unprintable { given: text.escape_debug().to_string() });
        }
        let malformed = |error: globset::Error| PatternError::Malformed {
            given: text.to_owned(),
            why: error.kind().to_string(),
        };
        let glob = GlobBuilder::new(&crossing(text))
            .literal_separator(true)
            .backslash_escape(true)
            .build()
            .map_err(malformed)?;
        // A set of one glob: unlike a single matcher it returns an error instead of a panic for a
        // glob that it cannot compile (too many nested braces).
        let compiled = GlobSet::builder().add(glob).build().map_err(malformed)?;
        Ok(Self { text: text.to_owned(), compiled })
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    pub fn matches_text(&self, text: &str) -> bool {
        self.compiled.is_match(text)
    }

    /// Matches against `type:id`; a pattern without a colon also matches the id alone.
    pub fn matches_resource(&self, resource: &ResourceRef) -> bool {
        self.matches_text(&resource.to_string())
            || (!self.text.contains(':') && self.matches_text(resource.id()))
    }
}

/// Rewrites `**` for the glob library, which lets it cross a `/` only where it is a whole segment,
/// so that `database:**` would silently miss `database:eu/orders`. Elsewhere it is expanded here
/// into one segment or several.
fn crossing(text: &str) -> String {
    const ANYTHING: &str = "{*,*/**/*}";
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    let mut at_segment = true;
    while let Some(character) = rest.next() {
        match character {
            '\\' => {
                out.push(character);
                out.extend(rest.next());
            }
            '[' => {
                out.push(character);
                copy_class(&mut rest, &mut out);
            }
            '*' if rest.peek() == Some(&'*') => {
                let mut stars = 1;
                while rest.next_if_eq(&'*').is_some() {
                    stars += 1;
                }
                let ends_segment = rest.peek().is_none_or(|next| *next == '/');
                let is_segment = stars == 2 && at_segment && ends_segment;
                out.push_str(if is_segment { "**" } else { ANYTHING });
            }
            other => out.push(other),
        }
        at_segment = character == '/';
    }
    out
}

/// Copies a character class. A star in brackets is a plain star, and a bracket that comes first
/// does not close the class.
fn copy_class(rest: &mut Peekable<Chars<'_>>, out: &mut String) {
    out.extend(rest.next_if(|next| matches!(next, '!' | '^')));
    out.extend(rest.next_if_eq(&']'));
    for character in rest.by_ref() {
        out.push(character);
        if character == ']' {
            return;
        }
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.text, f)
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Pattern {}

impl PartialOrd for Pattern {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Pattern {
    fn cmp(&self, other: &Self) -> Ordering {
        self.text.cmp(&other.text)
    }
}

impl Hash for Pattern {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.text.hash(state);
    }
}

impl FromStr for Pattern {
    type Err = PatternError;

    fn from_str(text: &str) -> Result<Self, PatternError> {
        Self::new(text)
    }
}

impl Serialize for Pattern {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for Pattern {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::new(&text).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
#[path = "pattern_tests.rs"]
mod tests;
