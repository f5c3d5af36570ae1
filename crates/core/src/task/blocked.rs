//! The resources of a task that others hold, and who holds them.

use std::fmt;

use serde::Serialize;

use crate::change::Digest;
use crate::ids::{AgentId, TaskId, UserId};
use crate::lock::Owner;
use crate::resource::ResourceRef;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blocked {
    pub resource: ResourceRef,
    pub by: Holder,
}

/// The holder of a blocking lock, in a form that everyone of the tenant may see. Leases and
/// sessions are never shown, because they prove ownership.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Holder {
    Task(TaskId),
    Agent(AgentId),
    User(UserId),
    /// The owner is unknown; this is the hash of its id.
    Unnamed(Digest),
}

impl Holder {
    /// Creates the holder. `principal` is the owner's principal, as stored in PostgreSQL.
    pub fn of(owner: Owner, principal: &str) -> Self {
        let named = match owner {
            Owner::Task(task) => Some(Self::Task(task)),
            Owner::Agent(_) => principal.parse().ok().map(Self::Agent),
            Owner::User(_) => principal.parse().ok().map(Self::User),
        };
        named.unwrap_or_else(|| Self::Unnamed(Digest::of(owner.to_string().as_bytes())))
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Task(id) => fmt::Display::fmt(id, f),
            Self::Agent(id) => fmt::Display::fmt(id, f),
            Self::User(id) => fmt::Display::fmt(id, f),
            Self::Unnamed(hash) => fmt::Display::fmt(hash, f),
        }
    }
}
