//! Use cases, one function per verb: load, let the core decide, commit, wake. Answers are wire
//! types; permission is asked inside the transaction that uses it.

pub mod act;
pub mod agents;
pub mod approvals;
pub mod audit;
pub mod batches;
mod command;
pub mod deadline;
pub mod decision;
pub mod delegations;
pub mod device;
pub mod executions;
pub mod freezes;
pub mod group_roles;
pub mod groups;
pub mod inbound;
pub mod leaks;
pub mod locks;
pub mod me;
pub(crate) mod messages;
pub mod notifications;
pub mod on_call;
pub mod overrides;
pub mod passkeys;
pub mod policies;
pub mod preferences;
pub mod resolution;
pub mod resources;
pub mod sessions;
pub mod settings;
mod settlement;
pub mod simulation;
pub mod stats;
pub mod status;
pub mod step_up;
pub mod tasks;
pub mod tokens;
pub mod users;
pub mod webhooks;

use ade_core::limits::REASON_MAX_BYTES;
use ade_store::idempotency::Answer;
use serde::Serialize;

use crate::error::Error;

/// The answer to something that changed the record: what was kept under the caller's key, word
/// for word, or what will be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    pub status: u16,
    pub body: String,
    /// Given before, to the same request.
    pub is_repeated: bool,
}

impl Reply {
    fn repeated(answer: Answer) -> Self {
        Self { status: answer.status, body: answer.body, is_repeated: true }
    }
}

fn json(body: &impl Serialize) -> Result<String, Error> {
    serde_json::to_string(body).map_err(|error| Error::invalid("answer", error))
}

/// What somebody says for people to read later: where it is given it says something, and no more
/// than is kept.
fn check_reason(field: &str, said: Option<&str>) -> Result<(), Error> {
    if said.is_some_and(|said| said.trim().is_empty() || said.len() > REASON_MAX_BYTES) {
        return Err(Error::invalid(field, format!("1 to {REASON_MAX_BYTES} bytes")));
    }
    Ok(())
}

/// What a list starts after and how much of it is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span<K> {
    pub after: Option<K>,
    pub limit: u32,
}

/// A page, and the key of its last item if there is more behind it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paged<T, K> {
    pub items: Vec<T>,
    pub next: Option<K>,
}

/// Asks for one more than wanted; if it comes, there is more.
fn paged<T, K>(mut items: Vec<T>, limit: u32, key: impl Fn(&T) -> K) -> Paged<T, K> {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let has_more = items.len() > limit;
    items.truncate(limit);
    let next = items.last().filter(|_| has_more).map(key);
    Paged { items, next }
}
