//! Who makes a request, from where, and with which scopes. The server's authentication layer
//! creates one caller per request; workers create their own.

use std::collections::BTreeSet;

use ade_core::access::Scope;
use ade_core::actor::Actor;
use ade_core::audit::Where;
use ade_core::change::Digest;
use ade_core::ids::TenantId;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    pub tenant: TenantId,
    pub actor: Actor,
    pub scopes: BTreeSet<Scope>,
    pub place: Where,
}

impl Caller {
    /// Returns the id of the presented key; `None` for a worker.
    pub fn key_id(&self) -> Option<&str> {
        self.actor.credential().map(|credential| credential.key_id.as_str())
    }

    /// Returns the owner of idempotency keys: keys of different principals never collide.
    pub fn principal(&self) -> String {
        self.actor.label()
    }
}

/// One unsafe request, with the parts by which a repetition is recognized.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdempotentRequest {
    /// The operation, and the object if the path names one.
    pub route: String,
    pub key: Option<String>,
    pub body: Digest,
}
