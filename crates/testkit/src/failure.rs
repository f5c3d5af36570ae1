//! The error of every setup step: what was being done, and why it failed. Tests need no finer
//! distinction, because a failed setup is a failed test.

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

/// Fails the test with the message of the failure.
#[expect(clippy::panic, reason = "a setup that failed is a test that failed")]
pub(crate) fn or_fail<T>(outcome: Result<T, Failure>) -> T {
    match outcome {
        Ok(value) => value,
        Err(failure) => panic!("{failure}"),
    }
}
