//! The errors of a call. A refusal keeps everything the server returned, even if its code is not
//! known to this version.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use ade_api::cause::Cause;
use ade_api::code::Code;
use ade_api::locks::LeaseState;
use ade_api::problem::NextAction;
use serde::Deserialize;
use serde_json::{Value, json};
use thiserror::Error;

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Error {
    #[error("{}", .0.detail)]
    Refused(Box<ProblemDetails>),
    #[error("cannot reach the server at {server}: {why}")]
    Unreachable { server: String, why: String },
    #[error("{server} returned {status} with an unexpected response: {why}")]
    Unreadable { server: String, status: u16, why: String },
    #[error("`{given}` is not a server URL; use one such as https://ade.example.org")]
    Address { given: String },
    #[error("invalid request: {why}")]
    Unusable { why: String },
    /// The lease is over, according to the state in a successful response.
    #[error("the lease is {}{}", .state.as_str(), broken_by(.broken.as_ref()))]
    LeaseOver { state: LeaseState, broken: Option<Cause> },
    /// The lease cannot be extended any more, so its work must end.
    #[error("the lease has reached its maximum age")]
    LeaseSpent,
    /// The lease may be over: its heartbeats were not answered.
    #[error("no heartbeat was answered for {:.1} s", .silent.as_secs_f64())]
    LeaseSilent { silent: Duration },
}

fn broken_by(broken: Option<&Cause>) -> String {
    let Some(Cause { by, reason, .. }) = broken else { return String::new() };
    let why = reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
    format!(": {by} broke it{why}")
}

/// An error response in `application/problem+json` format.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ProblemDetails {
    /// The error code as text instead of [`Code`], because a newer server may use more codes.
    pub code: String,
    pub title: String,
    pub status: u16,
    pub detail: String,
    #[serde(default)]
    pub retriable: bool,
    pub next_action: NextAction,
    #[serde(default)]
    pub request_id: String,
    #[serde(flatten)]
    pub facts: BTreeMap<String, Value>,
}

impl ProblemDetails {
    pub fn is(&self, code: Code) -> bool {
        self.code == code.as_str()
    }
}

impl Error {
    pub fn refusal(&self) -> Option<&ProblemDetails> {
        match self {
            Self::Refused(refusal) => Some(refusal),
            Self::Unreachable { .. }
            | Self::Unreadable { .. }
            | Self::Address { .. }
            | Self::Unusable { .. }
            | Self::LeaseOver { .. }
            | Self::LeaseSpent
            | Self::LeaseSilent { .. } => None,
        }
    }

    /// Returns the code for programs: that of the server, or one for what its response lacks.
    pub fn code(&self) -> &str {
        match self {
            Self::Refused(refusal) => &refusal.code,
            Self::Unreachable { .. } => "unreachable",
            Self::Unreadable { .. } => "unreadable_response",
            Self::Address { .. } | Self::Unusable { .. } => "invalid_settings",
            Self::LeaseOver { .. } | Self::LeaseSilent { .. } => Code::LeaseLost.as_str(),
            Self::LeaseSpent => Code::LeaseHeldTooLong.as_str(),
        }
    }

    /// Returns the facts of the case, as the server names them.
    pub fn facts(&self) -> BTreeMap<String, Value> {
        match self {
            Self::Refused(refusal) => refusal.facts.clone(),
            Self::LeaseOver { state, broken } => {
                let facts = [("state", json!(state)), ("broken", json!(broken))];
                let facts = facts.into_iter().filter(|(_, value)| !value.is_null());
                facts.map(|(name, value)| (name.to_owned(), value)).collect()
            }
            Self::Unreachable { .. }
            | Self::Unreadable { .. }
            | Self::Address { .. }
            | Self::Unusable { .. }
            | Self::LeaseSpent
            | Self::LeaseSilent { .. } => BTreeMap::new(),
        }
    }

    pub fn is(&self, code: Code) -> bool {
        self.refusal().is_some_and(|refusal| refusal.is(code))
    }

    /// Checks whether the outcome is unknown, so that the call may be repeated with the same key.
    pub fn is_passing(&self) -> bool {
        match self {
            Self::Unreachable { .. } => true,
            // A proxy returns these codes while the server is down.
            Self::Unreadable { status, .. } => (500..600).contains(status),
            Self::Refused(refusal) => {
                matches!(refusal.status, 429 | 503) || refusal.is(Code::IdempotencyInFlight)
            }
            Self::Address { .. }
            | Self::Unusable { .. }
            | Self::LeaseOver { .. }
            | Self::LeaseSpent
            | Self::LeaseSilent { .. } => false,
        }
    }
}

/// Formats an error with all its sources.
pub fn whole(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut below = error.source();
    while let Some(source) = below {
        let _ = write!(text, ": {source}");
        below = source.source();
    }
    text
}
