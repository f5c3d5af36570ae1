//! The addresses of Redis, and how the server and its nodes authenticate each other.

use std::fs;
use std::path::{Path, PathBuf};

use ade_engine::{Nodes, OwnCertificate, is_node_guarded};
use serde::Deserialize;

use super::{Address, ConfigError, unreadable};

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Redis {
    urls: Vec<Address>,
    urls_file: PathBuf,
    authority_file: PathBuf,
    certificate_file: PathBuf,
    key_file: PathBuf,
    allow_plain: bool,
}

impl Redis {
    /// Returns the Redis nodes; empty if Redis is not used.
    pub fn nodes(&self) -> Result<Nodes, ConfigError> {
        let urls = self.urls()?;
        for url in urls.iter().filter(|_| !self.allow_plain) {
            // The address is not part of the error, because it may contain a password.
            let is_guarded = is_node_guarded(url.reveal()).map_err(|_| ConfigError::Address {
                setting: "redis.urls".to_owned(),
                why: "write it like rediss://ade@host:6379".to_owned(),
            })?;
            if !is_guarded {
                return Err(ConfigError::PlainWire {
                    setting: "redis.urls".to_owned(),
                    how: "use `rediss://` URLs",
                    allow: "redis.allow_plain".to_owned(),
                });
            }
        }
        let urls: Vec<String> = urls.iter().map(|url| url.reveal().to_owned()).collect();
        let authority = read("redis.authority_file", &self.authority_file)?;
        Ok(Nodes::from(urls).trusting(authority, self.own()?))
    }

    fn urls(&self) -> Result<Vec<Address>, ConfigError> {
        if self.urls_file.as_os_str().is_empty() {
            return Ok(self.urls.clone());
        }
        if !self.urls.is_empty() {
            return Err(ConfigError::Twice { setting: "redis.urls".to_owned() });
        }
        let text = fs::read_to_string(&self.urls_file)
            .map_err(|source| unreadable("redis.urls_file", &self.urls_file, source))?;
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        Ok(lines.map(Address::new).collect())
    }

    fn own(&self) -> Result<Option<OwnCertificate>, ConfigError> {
        let certificate = read("redis.certificate_file", &self.certificate_file)?;
        match (certificate, read("redis.key_file", &self.key_file)?) {
            (Some(certificate), Some(key)) => Ok(Some(OwnCertificate { certificate, key })),
            (None, None) => Ok(None),
            (Some(_), None) => Err(ConfigError::Half { setting: "redis.key_file" }),
            (None, Some(_)) => Err(ConfigError::Half { setting: "redis.certificate_file" }),
        }
    }
}

fn read(setting: &str, path: &Path) -> Result<Option<Vec<u8>>, ConfigError> {
    if path.as_os_str().is_empty() {
        return Ok(None);
    }
    fs::read(path).map(Some).map_err(|source| unreadable(setting, path, source))
}
