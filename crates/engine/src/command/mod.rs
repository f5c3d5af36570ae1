//! Use cases, one function per verb: load, let the core decide, commit, wake. Results are wire
//! types; permissions are checked inside the transaction that uses them.

pub(crate) mod account_notice;
pub mod admin_command;
pub(crate) mod assess;
pub(crate) mod cause;
pub(crate) mod confirmation;
pub(crate) mod idempotency;
pub mod installation_freeze;
pub mod permission;
pub(crate) mod presence;
pub(crate) mod present;
pub(crate) mod proposal;
pub(crate) mod run;
pub mod schedule;
mod settle;
pub(crate) mod setup;
pub(crate) mod signed_endpoint;
pub mod task_command;

use ade_core::limits::{NAME_MAX_BYTES, REASON_MAX_BYTES};
use serde::Serialize;

use crate::error::Error;
pub use crate::reply::Reply;

pub(crate) fn json(body: &impl Serialize) -> Result<String, Error> {
    serde_json::to_string(body).map_err(|error| Error::invalid("answer", error))
}

/// Checks a text for people: if given, it must not be empty or too long.
pub(crate) fn check_reason(field: &str, reason: Option<&str>) -> Result<(), Error> {
    if reason.is_some_and(|reason| reason.trim().is_empty() || reason.len() > REASON_MAX_BYTES) {
        return Err(Error::invalid(field, format!("must be 1 to {REASON_MAX_BYTES} bytes")));
    }
    Ok(())
}

/// The key after which a list starts, and the wanted number of items.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span<K> {
    pub after: Option<K>,
    pub limit: u32,
}

/// A page, and the key of its last item if there are more items.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paged<T, K> {
    pub items: Vec<T>,
    pub next: Option<K>,
}

/// Builds a page from a query for one item more than wanted; the extra item shows that there are
/// more.
pub(crate) fn paged<T, K>(mut items: Vec<T>, limit: u32, key: impl Fn(&T) -> K) -> Paged<T, K> {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let has_more = items.len() > limit;
    items.truncate(limit);
    let next = items.last().filter(|_| has_more).map(key);
    Paged { items, next }
}

pub(crate) fn check_name(field: &str, name: &str) -> Result<(), Error> {
    if name.trim().is_empty() || name.len() > NAME_MAX_BYTES {
        let problem = format!("must be 1 to {NAME_MAX_BYTES} bytes and not blank");
        return Err(Error::invalid(field, problem));
    }
    Ok(())
}
