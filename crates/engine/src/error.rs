//! Why an operation did not happen, in words of the domain. Which HTTP status each becomes is
//! known in one place, and that is not here.

use ade_api::batches::BatchVerdict;
use ade_core::access::Denied;
use ade_core::flag::Flag;
use ade_core::policy::DocumentError;
use ade_core::task::Refusal;
use thiserror::Error;

use crate::secret::SecretError;

#[derive(Debug, Error)]
pub enum Error {
    /// Also for what exists and is none of the caller's business.
    #[error("there is no such {what}")]
    NotFound { what: &'static str },
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error(transparent)]
    Denied(#[from] Denied),
    #[error("{field}: {problem}")]
    Invalid { field: String, problem: String },
    #[error("the policy has {} error(s)", .errors.len())]
    Document { errors: Vec<DocumentError> },
    #[error("{} of {} items are refused, so nothing was written", refused(.items), .items.len())]
    BatchRefused { items: Vec<BatchVerdict> },
    #[error("the flag `{flag}` is off, so nothing was written")]
    FeatureOff { flag: Flag },
    #[error("it is at version {found}, not {expected}: load it again and decide anew")]
    VersionMoved { expected: u64, found: u64 },
    #[error("this idempotency key was used for another request: use a fresh one")]
    KeyReused,
    #[error("the first request with this idempotency key is still on its way: ask again")]
    KeyInFlight,
    #[error("{what} `{name}` exists already")]
    Taken { what: &'static str, name: String },
    #[error("this {what} takes no more changes: {why}")]
    Closed { what: &'static str, why: &'static str },
    #[error("{principal} has two active tokens: revoke one first")]
    TooManyTokens { principal: String },
    #[error("the preview by `{executor}` could not run: {problem}")]
    PreviewFailed { executor: &'static str, problem: String },
    #[error(transparent)]
    Secret(#[from] SecretError),
    #[error(transparent)]
    Store(#[from] ade_store::Error),
}

impl Error {
    pub fn invalid(field: impl Into<String>, problem: impl std::fmt::Display) -> Self {
        Self::Invalid { field: field.into(), problem: problem.to_string() }
    }
}

fn refused(items: &[BatchVerdict]) -> usize {
    items.iter().filter(|item| item.refusal.is_some()).count()
}
