//! Who may come in: the pepper of tokens, and identity providers that vouch for people.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::PathBuf;

use ade_engine::identity::{Provider, Settings};
use serde::Deserialize;

use super::{ConfigError, unreadable};

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Auth {
    pepper_file: PathBuf,
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

pub(super) const PEPPER_MIN_BYTES: usize = 32;

impl Auth {
    pub fn pepper(&self) -> Result<Pepper, ConfigError> {
        if self.pepper_file.as_os_str().is_empty() {
            let what = "which file holds the random bytes for the hashes of tokens";
            return Err(ConfigError::Missing { setting: "auth.pepper_file", what });
        }
        let bytes = fs::read(&self.pepper_file)
            .map_err(|source| unreadable("auth.pepper_file", &self.pepper_file, source))?;
        if bytes.len() < PEPPER_MIN_BYTES {
            return Err(ConfigError::ShortPepper { bytes: bytes.len() });
        }
        Ok(Pepper(bytes))
    }

    pub fn providers(&self) -> Result<Vec<Provider>, ConfigError> {
        self.providers.iter().map(|(name, provider)| provider.open(name)).collect()
    }
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
