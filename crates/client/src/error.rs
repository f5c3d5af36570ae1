//! What can go wrong with a call. A refusal keeps everything the server said, also under a code
//! that this program does not know yet.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use ade_api::code::Code;
use ade_api::problem::NextAction;
use serde::Deserialize;
use serde_json::Value;
use thiserror::Error;

#[derive(Debug, Clone, Error)]
pub enum Error {
    #[error("{}", .0.detail)]
    Refused(Box<Refusal>),
    #[error("the server at {server} cannot be reached: {why}")]
    Unreachable { server: String, why: String },
    #[error("{server} answered {status}, but not like a server of this kind: {why}")]
    Unreadable { server: String, status: u16, why: String },
    #[error("`{given}` is no address of a server: write it like https://ade.example.org")]
    Address { given: String },
    #[error("cannot make the call: {why}")]
    Unusable { why: String },
    /// Told by the state of a lease, which is an answer and no refusal.
    #[error("the lease is {state}")]
    LeaseOver { state: &'static str },
}

/// An answer of `application/problem+json`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Refusal {
    /// Text, not [`Code`]: a newer server may have more of them.
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

impl Refusal {
    pub fn is(&self, code: Code) -> bool {
        self.code == code.as_str()
    }
}

impl Error {
    pub fn refusal(&self) -> Option<&Refusal> {
        match self {
            Self::Refused(refusal) => Some(refusal),
            Self::Unreachable { .. }
            | Self::Unreadable { .. }
            | Self::Address { .. }
            | Self::Unusable { .. }
            | Self::LeaseOver { .. } => None,
        }
    }

    pub fn is(&self, code: Code) -> bool {
        self.refusal().is_some_and(|refusal| refusal.is(code))
    }

    /// Nobody who could know has answered: the same call, with the same key, may be sent again.
    pub fn is_passing(&self) -> bool {
        match self {
            Self::Unreachable { .. } => true,
            // What stands in front of a server answers so while there is none.
            Self::Unreadable { status, .. } => (500..600).contains(status),
            Self::Refused(refusal) => {
                matches!(refusal.status, 429 | 503) || refusal.is(Code::IdempotencyInFlight)
            }
            Self::Address { .. } | Self::Unusable { .. } | Self::LeaseOver { .. } => false,
        }
    }
}

/// With everything underneath: the first line alone seldom says why.
pub fn whole(error: &dyn std::error::Error) -> String {
    let mut told = error.to_string();
    let mut below = error.source();
    while let Some(source) = below {
        let _ = write!(told, ": {source}");
        below = source.source();
    }
    told
}
