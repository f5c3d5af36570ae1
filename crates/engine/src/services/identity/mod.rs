//! Sign-in through an identity provider (authorization code with PKCE, state, nonce and issuer),
//! and confirmation of critical actions with a passkey. The core decides which tokens and passkey
//! responses are accepted.

mod id_token;
pub(crate) mod passkey;
pub(crate) mod provider;

use ade_store::tenants::TenantIdentity;

pub use id_token::Identity;
pub use passkey::{PasskeyError, Passkeys};
pub use provider::{Provider, ProviderError, ProviderSettings};

/// The identity providers that this installation trusts.
#[derive(Debug, Default)]
pub struct Providers {
    all: Vec<Provider>,
    /// The address to which providers send browsers back.
    pub(crate) callback: String,
}

impl Providers {
    /// Creates the set. `page` is the public URL of this installation.
    pub fn new(all: Vec<Provider>, page: &str) -> Self {
        Self { all, callback: format!("{}/auth/callback", page.trim_end_matches('/')) }
    }

    pub fn iter(&self) -> impl Iterator<Item = &Provider> {
        self.all.iter()
    }

    /// Returns whether people of this issuer sign in to the tenant. An account without a provider
    /// belongs to its tenant alone.
    pub(crate) fn serve(&self, issuer: &str, tenant: &TenantIdentity) -> bool {
        let mut own = self.all.iter().filter(|provider| provider.issuer() == issuer).peekable();
        own.peek().is_none() || own.any(|provider| provider.serves(tenant))
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Provider> {
        self.all.iter().find(|provider| provider.name() == name)
    }
}
