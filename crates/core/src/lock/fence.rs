//! Why PostgreSQL refuses a hold when it is registered, or when it is asserted at the start of a
//! protected transaction. The `lock-model` crate has the rule as pure functions.

use thiserror::Error;

use super::token::{Epoch, FencingToken};
use crate::ids::LeaseId;
use crate::limits::LOCKS_PER_AGENT_MAX;
use crate::resource::ResourceRef;

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RegisterRefusal {
    #[error("the session has ended: open a new session and claim again")]
    SessionDead,
    #[error("the lock namespace is in epoch {current}, the token in another: acquire again")]
    StaleEpoch { current: Epoch },
    #[error("`{resource}` has already seen token {floor}: issue a higher token for the same grant")]
    TokenLow { resource: ResourceRef, floor: FencingToken },
    #[error("`{resource}` is held by a live holder: return to the queue")]
    Held { resource: ResourceRef, by: Vec<LeaseId> },
    #[error(
        "the agent holds {taken} resources, the limit is {LOCKS_PER_AGENT_MAX}: release this \
             lease"
    )]
    TooMany { taken: usize },
    #[error("the lease is already registered with different parameters: acquire a new lease")]
    LeaseSpent,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the lease has {open} of {expected} holds under this token: stop, it was fenced")]
pub struct NotHeld {
    pub open: usize,
    pub expected: usize,
}
