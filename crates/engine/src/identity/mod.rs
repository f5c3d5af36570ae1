//! People prove who they are to an identity provider, and it vouches for them here: authorization
//! code with PKCE, state, nonce and issuer. What weighs they confirm with a passkey. What is
//! believed of a token or of a passkey is decided by the core.

mod id_token;
pub(crate) mod passkey;
mod provider;
mod sign_in;

use std::collections::BTreeSet;

pub use passkey::{PasskeyError, Passkeys};
pub use provider::{Provider, ProviderError, Settings};
pub(crate) use sign_in::open as open_session;
pub use sign_in::{Arrival, Departure, Returned, SignInError, begin, end};

/// Those that this installation trusts, by name.
#[derive(Debug, Default)]
pub struct Providers {
    all: Vec<Provider>,
    /// Where they send browsers back to.
    callback: String,
}

impl Providers {
    /// `page` is where people find this installation.
    pub fn new(all: Vec<Provider>, page: &str) -> Self {
        Self { all, callback: format!("{}/auth/callback", page.trim_end_matches('/')) }
    }

    pub fn iter(&self) -> impl Iterator<Item = &Provider> {
        self.all.iter()
    }

    fn get(&self, name: &str) -> Option<&Provider> {
        self.all.iter().find(|provider| provider.name() == name)
    }
}

/// Somebody, as a provider vouches for them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    pub issuer: String,
    pub subject: String,
    pub name: Option<String>,
    /// Only one that the provider has checked.
    pub email: Option<String>,
    pub groups: BTreeSet<String>,
}
