//! How people are told outside of the product.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::{Address, ConfigError, address, unreadable};

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Notify {
    pub page: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mail {
    url: Address,
    url_file: PathBuf,
    pub from: String,
}

impl Mail {
    pub fn url(&self) -> Result<Option<Address>, ConfigError> {
        address("mail.url", &self.url, &self.url_file)
    }
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Slack {
    pub api: String,
    token_file: PathBuf,
    signing_secret_file: PathBuf,
}

impl Slack {
    /// The token and the signing secret; both or nothing.
    pub fn secrets(&self) -> Result<Option<(Address, Address)>, ConfigError> {
        let token = secret("slack.token_file", &self.token_file)?;
        let signing = secret("slack.signing_secret_file", &self.signing_secret_file)?;
        match (token, signing) {
            (Some(token), Some(signing)) => Ok(Some((token, signing))),
            (None, None) => Ok(None),
            (Some(_), None) => Err(ConfigError::Missing {
                setting: "slack.signing_secret_file",
                what: "with what Slack signs its requests",
            }),
            (None, Some(_)) => Err(ConfigError::Missing {
                setting: "slack.token_file",
                what: "which token messages are sent with",
            }),
        }
    }
}

fn secret(setting: &str, file: &Path) -> Result<Option<Address>, ConfigError> {
    if file.as_os_str().is_empty() {
        return Ok(None);
    }
    let text = fs::read_to_string(file).map_err(|source| unreadable(setting, file, source))?;
    Ok(Some(Address::new(text.trim())))
}
