//! Who may come in: the pepper of tokens, identity providers that vouch for people, and whom a
//! passkey is asked of.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use ade_core::limits::PEPPER_MIN_BYTES;
use ade_core::step_up::Rule;
use ade_engine::identity::{Passkeys, Provider, Settings};
use serde::Deserialize;

use super::{ConfigError, unreadable};

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Auth {
    pepper_file: PathBuf,
    pepper_previous_file: PathBuf,
    step_up: Rule,
    providers: BTreeMap<String, IdentityProvider>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct IdentityProvider {
    /// What people see on the button; the name if left out.
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
        let settings = Settings {
            name: name.to_owned(),
            title: self.title.clone().unwrap_or_else(|| name.to_owned()),
            issuer: self.issuer.clone(),
            client_id: self.client_id.clone(),
            client_secret,
            scopes: self.scopes.clone(),
            groups_claim: self.groups_claim.clone(),
            allow_loopback: self.allow_loopback,
        };
        Provider::new(settings)
            .map_err(|source| ConfigError::Provider { name: name.to_owned(), source })
    }
}

/// What is mixed into the hash of a token.
#[derive(Clone, PartialEq, Eq)]
pub struct Pepper(Vec<u8>);

impl Auth {
    pub fn pepper(&self) -> Result<Pepper, ConfigError> {
        if self.pepper_file.as_os_str().is_empty() {
            let what = "which file holds the random bytes for the hashes of tokens";
            return Err(ConfigError::Missing { setting: "auth.pepper_file", what });
        }
        read_pepper("auth.pepper_file", &self.pepper_file)
    }

    /// The one that is being replaced, if any.
    pub fn pepper_previous(&self) -> Result<Option<Pepper>, ConfigError> {
        if self.pepper_previous_file.as_os_str().is_empty() {
            return Ok(None);
        }
        read_pepper("auth.pepper_previous_file", &self.pepper_previous_file).map(Some)
    }

    /// `page` is where people find this installation.
    pub fn passkeys(&self, page: &str) -> Result<Passkeys, ConfigError> {
        Passkeys::new(self.step_up, page).map_err(|source| ConfigError::Passkeys { source })
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
    /// For the hash; not for a log.
    pub fn reveal(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Pepper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(pepper)")
    }
}
