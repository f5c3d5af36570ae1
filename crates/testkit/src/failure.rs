//! The one error of setting things up: what was being done, and why it did not work.
//! A test has no use for more, since a setup that failed is a test that failed.

use std::fmt::Display;

use thiserror::Error;

#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{what}: {why}")]
pub struct Failure {
    what: String,
    why: String,
}

impl Failure {
    pub fn new(what: impl Display, why: impl Display) -> Self {
        Self { what: what.to_string(), why: why.to_string() }
    }
}

/// Ends the test with the failure's own words.
#[expect(clippy::panic, reason = "a setup that failed is a test that failed")]
pub(crate) fn or_fail<T>(outcome: Result<T, Failure>) -> T {
    match outcome {
        Ok(value) => value,
        Err(failure) => panic!("{failure}"),
    }
}
