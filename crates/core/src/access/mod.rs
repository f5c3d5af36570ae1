//! Who may do what: the actions, the question and the refusal. The `cedar` feature adds [`Access`],
//! which answers; clients leave it out, so that they do not link a policy engine.

mod action;
#[cfg(feature = "cedar")]
mod cedar;
mod question;
#[cfg(not(feature = "cedar"))]
mod without_cedar;

use thiserror::Error;

pub use self::action::{Action, Scope};
#[cfg(feature = "cedar")]
pub use self::cedar::{Access, AccessError};
pub use self::question::{Object, Question, TaskRelation};
#[cfg(not(feature = "cedar"))]
pub use self::without_cedar::NoAccess as Access;

/// A denial, worded for the actor who was denied.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{action} is not permitted: {detail}")]
pub struct Denied {
    pub action: Action,
    /// The forbid rule that denied; `None` if no rule permits the action.
    pub rule: Option<String>,
    pub detail: String,
}
