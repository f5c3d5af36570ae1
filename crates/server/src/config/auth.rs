//! Authentication settings: the pepper of tokens, the identity providers, and who must confirm
//! decisions with a passkey.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ade_core::limits::{
    AUTHORITY_AGE_MAX, AUTHORITY_AGE_MIN, DECIDE_WITHIN_MIN, PEPPER_MIN_BYTES, SESSION_TTL,
};
use ade_core::step_up::Rule;
use ade_engine::services::identity::{Passkeys, Provider, ProviderSettings};
use serde::Deserialize;

use super::{ConfigError, unreadable};

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Auth {
    pepper_file: PathBuf,
    pepper_previous_file: PathBuf,
    step_up: Rule,
    decide_within_s: u64,
    authority_age_s: u64,
    providers: BTreeMap<String, IdentityProvider>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct IdentityProvider {
    /// The label of the sign-in button; defaults to the name.
    title: Option<String>,
    issuer: String,
    client_id: String,
    #[serde(default)]
    client_secret_file: PathBuf,
    #[serde(default = "scopes")]
    scopes: Vec<String>,
    #[serde(default = "groups_claim")]
    groups_claim: String,
    #[serde(default)]
    allow_loopback: bool,
    tenants: Option<Vec<String>>,
}

fn scopes() -> Vec<String> {
    ["openid", "profile", "email"].map(str::to_owned).to_vec()
}

fn groups_claim() -> String {
    "groups".to_owned()
}

impl IdentityProvider {
    fn open(&self, name: &str) -> Result<Provider, ConfigError> {
        let file = &self.client_secret_file;
        let setting = format!("auth.providers.{name}.client_secret_file");
        let client_secret = if file.as_os_str().is_empty() {
            None
        } else {
            let text =
                fs::read_to_string(file).map_err(|error| unreadable(&setting, file, error))?;
            Some(text.trim().to_owned())
        };
        let settings = ProviderSettings {
            name: name.to_owned(),
            title: self.title.clone().unwrap_or_else(|| name.to_owned()),
            issuer: self.issuer.clone(),
            client_id: self.client_id.clone(),
            client_secret,
            scopes: self.scopes.clone(),
            groups_claim: self.groups_claim.clone(),
            allow_loopback: self.allow_loopback,
            tenants: self.tenants.clone().into(),
        };
        Provider::new(settings)
            .map_err(|source| ConfigError::Provider { name: name.to_owned(), source })
    }
}

/// The secret that is included in the hash of a token.
#[derive(Clone, PartialEq, Eq)]
pub struct Pepper(Vec<u8>);

impl Auth {
    pub fn pepper(&self) -> Result<Pepper, ConfigError> {
        if self.pepper_file.as_os_str().is_empty() {
            let what = "give the file with the random bytes for token hashes";
            return Err(ConfigError::Missing { setting: "auth.pepper_file", what });
        }
        read_pepper("auth.pepper_file", &self.pepper_file)
    }

    /// Returns the previous pepper, while it is being replaced.
    pub fn pepper_previous(&self) -> Result<Option<Pepper>, ConfigError> {
        if self.pepper_previous_file.as_os_str().is_empty() {
            return Ok(None);
        }
        read_pepper("auth.pepper_previous_file", &self.pepper_previous_file).map(Some)
    }

    /// Returns the passkey settings. `page` is the public address of this installation.
    pub fn passkeys(&self, page: &str) -> Result<Passkeys, ConfigError> {
        let decide_within = Duration::from_secs(self.decide_within_s);
        if !(DECIDE_WITHIN_MIN..=SESSION_TTL).contains(&decide_within) {
            return Err(ConfigError::DecideWithin { seconds: self.decide_within_s });
        }
        let passkeys = Passkeys::new(self.step_up, decide_within, page);
        passkeys.map_err(|source| ConfigError::Passkeys { source })
    }

    /// Returns how old roles, and passkeys enrolled after a reset, must be to count for tasks of
    /// high and critical risk.
    pub fn authority_age(&self) -> Result<Duration, ConfigError> {
        let age = Duration::from_secs(self.authority_age_s);
        if !(AUTHORITY_AGE_MIN..=AUTHORITY_AGE_MAX).contains(&age) {
            return Err(ConfigError::AuthorityAge { seconds: self.authority_age_s });
        }
        Ok(age)
    }

    pub(super) fn without_tenants(&self) -> impl Iterator<Item = &String> {
        let unbound = self.providers.iter().filter(|(_, provider)| provider.tenants.is_none());
        unbound.map(|(name, _)| name)
    }

    pub fn providers(&self) -> Result<Vec<Provider>, ConfigError> {
        self.providers.iter().map(|(name, provider)| provider.open(name)).collect()
    }
}

fn read_pepper(setting: &'static str, file: &Path) -> Result<Pepper, ConfigError> {
    let bytes = fs::read(file).map_err(|source| unreadable(setting, file, source))?;
    if bytes.len() < PEPPER_MIN_BYTES {
        return Err(ConfigError::ShortPepper { setting, bytes: bytes.len() });
    }
    Ok(Pepper(bytes))
}

impl Pepper {
    /// Returns the bytes for hashing. They must not be logged.
    pub fn reveal(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Pepper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(pepper)")
    }
}
