//! The response to a change, as it is stored and sent.

use ade_store::idempotency::IdempotentResponse;

/// The response to a change: the stored one of a repeated request, verbatim, or the one to be
/// stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    pub status: u16,
    pub body: String,
    /// Whether this is the stored response to the same request.
    pub is_repeated: bool,
}

impl Reply {
    pub(crate) fn repeated(answer: IdempotentResponse) -> Self {
        Self { status: answer.status, body: answer.body, is_repeated: true }
    }
}
