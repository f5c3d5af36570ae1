//! Who asks, from where, and with which rights of their token. The server's door makes one for
//! each request; sessions will make the same.

use std::collections::BTreeSet;

use ade_core::access::Class;
use ade_core::actor::Actor;
use ade_core::audit::Where;
use ade_core::change::Digest;
use ade_core::ids::TenantId;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    pub tenant: TenantId,
    pub actor: Actor,
    pub scopes: BTreeSet<Class>,
    /// Names the token that was shown; nothing of a worker.
    pub key_id: Option<String>,
    pub place: Where,
}

impl Caller {
    /// Whose idempotency keys these are: those of another never meet them.
    pub fn principal(&self) -> String {
        self.actor.label()
    }
}

/// One unsafe request, as far as a repetition of it must be recognised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    /// The operation, and the object if its path names one.
    pub route: String,
    pub key: Option<String>,
    pub body: Digest,
}
