//! The listeners of this process: what they may see, and how they are disconnected.

use std::sync::{Arc, Mutex, PoisonError};

use ade_store::tenant_config::TenantConfig;
use tokio::sync::watch;

use crate::caller::Caller;

/// Why a listener was disconnected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The token is no longer valid.
    Revoked,
    /// The account was deactivated, or can no longer read.
    Denied,
    /// The permissions could not be checked.
    Unchecked,
    /// This process is shutting down.
    Draining,
}

impl End {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Revoked => "revoked",
            Self::Denied => "denied",
            Self::Unchecked => "unchecked",
            Self::Draining => "draining",
        }
    }
}

/// What a listener may see, according to the rules at the last check.
#[derive(Debug, Clone)]
pub struct Rights {
    pub book: Arc<TenantConfig>,
    /// Whether tasks of unrelated people are visible. It is computed once and not for each event.
    pub sees_all: bool,
}

#[derive(Debug)]
pub struct Seat {
    pub caller: Caller,
    rights: Mutex<Rights>,
    pub end: watch::Sender<Option<End>>,
}

impl Seat {
    pub fn new(caller: Caller, rights: Rights) -> Self {
        Self { caller, rights: Mutex::new(rights), end: watch::channel(None).0 }
    }

    pub fn set_rights(&self, rights: Rights) {
        *self.rights.lock().unwrap_or_else(PoisonError::into_inner) = rights;
    }

    pub fn rights(&self) -> Rights {
        self.rights.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn leave(&self, end: End) {
        self.end.send_if_modified(|known| {
            let is_first = known.is_none();
            known.get_or_insert(end);
            is_first
        });
    }
}
