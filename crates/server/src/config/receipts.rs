//! The keys that sign receipts.

use std::fs;
use std::path::PathBuf;

use serde::Deserialize;

use super::{ConfigError, unreadable};

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Receipts {
    key_files: Vec<PathBuf>,
    pub issuer: String,
}

impl Receipts {
    /// Returns the keys in PKCS#8 format. The first one signs.
    pub fn keys(&self) -> Result<Vec<Vec<u8>>, ConfigError> {
        let files = self.key_files.iter().filter(|file| !file.as_os_str().is_empty());
        let keys = files.map(|file| {
            let unread = |source| unreadable("receipts.key_files", file, source);
            let text = fs::read(file).map_err(unread)?;
            let key = pem::parse(text).map_err(|error| unread(std::io::Error::other(error)))?;
            Ok(key.into_contents())
        });
        keys.collect()
    }
}
