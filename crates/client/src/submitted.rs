//! The result of a call that changes the rules of a tenant: the server may let the change wait.

use ade_api::pending_changes::PendingChange;

/// The result of a change to the rules of a tenant.
#[derive(Debug, Clone, PartialEq)]
pub enum Submitted<T> {
    /// The change is in force; this is the changed object.
    Done(T),
    /// Nothing has changed yet: the change waits for a second admin, or until it takes effect.
    Pending(Box<PendingChange>),
}
