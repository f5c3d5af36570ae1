//! RFC 8785: one sequence of bytes per value, so that equal content has equal digests on every
//! machine. Not for hashing what a caller sent as text: that comes through `strict_json` first.

use serde::Serialize;
use thiserror::Error;

/// Nothing that came through the strict reader meets this; it is told instead of assumed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("this has no canonical form ({reason}): numbers must be finite and keys unique")]
pub struct CanonicalError {
    reason: String,
}

/// Numbers are written as doubles: integers beyond ±2^53 must be strings in the type given here.
pub(crate) fn to_bytes<T: Serialize>(value: &T) -> Result<Vec<u8>, CanonicalError> {
    serde_json_canonicalizer::to_vec(value)
        .map_err(|error| CanonicalError { reason: error.to_string() })
}

#[cfg(test)]
#[path = "canonical_tests.rs"]
mod tests;
