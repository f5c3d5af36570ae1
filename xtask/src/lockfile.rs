//! The packages of `Cargo.lock`.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use serde::Deserialize;

const PATH: &str = "Cargo.lock";

#[derive(Debug, Default, Deserialize)]
pub struct Lockfile {
    #[serde(rename = "package")]
    pub packages: Vec<LockedPackage>,
}

#[derive(Debug, Deserialize)]
pub struct LockedPackage {
    pub name: String,
    pub version: String,
    /// `None` for packages of this workspace.
    pub source: Option<String>,
    /// The SHA-256 of the archive in the registry.
    pub checksum: Option<String>,
}

impl Lockfile {
    pub fn read(root: &Path) -> Result<Self> {
        let text =
            fs::read_to_string(root.join(PATH)).with_context(|| format!("cannot read {PATH}"))?;
        Self::parse(&text)
    }

    pub fn parse(text: &str) -> Result<Self> {
        toml::from_str(text).with_context(|| format!("cannot use {PATH}"))
    }

    /// Returns the packages that are not part of this workspace.
    pub fn external(&self) -> impl Iterator<Item = &LockedPackage> {
        self.packages.iter().filter(|package| package.source.is_some())
    }
}
