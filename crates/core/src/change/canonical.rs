//! RFC 8785 canonical JSON: one sequence of bytes per value, so that equal content has equal
//! digests on every machine. Text sent by a caller must pass `strict_json` before it is hashed.

use serde::Serialize;
use thiserror::Error;

/// Values from the strict reader never cause this error; it is returned instead of being assumed
/// impossible.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the value has no canonical form ({reason}): numbers must be finite and keys unique")]
pub struct CanonicalError {
    reason: String,
}

/// Returns the canonical bytes. Numbers are written as doubles: integers beyond ±2^53 must be
/// strings in the given type.
pub(crate) fn to_bytes<T: Serialize>(value: &T) -> Result<Vec<u8>, CanonicalError> {
    serde_json_canonicalizer::to_vec(value)
        .map_err(|error| CanonicalError { reason: error.to_string() })
}

#[cfg(test)]
#[path = "canonical_tests.rs"]
mod tests;
