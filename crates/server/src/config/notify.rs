//! Notifications by mail and Slack.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::{Address, ConfigError, address, unreadable};

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Notify {
    /// The public URL of the dashboard; the listen address if it is not set.
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
    /// Returns the token and the signing secret. Both must be set, or neither.
    pub fn secrets(&self) -> Result<Option<(Address, Address)>, ConfigError> {
        let token = secret("slack.token_file", &self.token_file)?;
        let signing = secret("slack.signing_secret_file", &self.signing_secret_file)?;
        match (token, signing) {
            (Some(token), Some(signing)) => Ok(Some((token, signing))),
            (None, None) => Ok(None),
            (Some(_), None) => Err(ConfigError::Missing {
                setting: "slack.signing_secret_file",
                what: "give the file with the secret that Slack signs its requests with",
            }),
            (None, Some(_)) => Err(ConfigError::Missing {
                setting: "slack.token_file",
                what: "give the file with the bot token that messages are sent with",
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
