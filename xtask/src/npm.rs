//! The packages of `web/package-lock.json` that are part of the dashboard.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;

pub const LOCKFILE: &str = "web/package-lock.json";
const FOLDER: &str = "node_modules/";

#[derive(Debug, Default, Deserialize)]
pub struct NpmLockfile {
    /// The packages by the directory in which npm installs them; the project itself has none.
    packages: BTreeMap<String, NpmPackage>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct NpmPackage {
    pub version: String,
    pub license: Option<String>,
    integrity: Option<String>,
    /// Only needed to build or test the dashboard.
    dev: bool,
    /// The same, but of an optional package.
    dev_optional: bool,
    dependencies: BTreeMap<String, String>,
    optional_dependencies: BTreeMap<String, String>,
    peer_dependencies: BTreeMap<String, String>,
}

impl NpmLockfile {
    pub fn read(root: &Path) -> Result<Self> {
        let text = fs::read_to_string(root.join(LOCKFILE))
            .with_context(|| format!("cannot read {LOCKFILE}"))?;
        Self::parse(&text)
    }

    pub fn parse(text: &str) -> Result<Self> {
        serde_json::from_str(text).with_context(|| format!("cannot use {LOCKFILE}"))
    }

    /// Returns the packages that the dashboard contains, by directory, each with the directories of
    /// those that it needs. The directory of the project is empty.
    pub fn shipped(&self) -> BTreeMap<&str, Vec<&str>> {
        let mut shipped = BTreeMap::new();
        let mut open = vec![""];
        while let Some(directory) = open.pop() {
            if shipped.contains_key(directory) {
                continue;
            }
            let needs = self.needs(directory);
            open.extend(&needs);
            shipped.insert(directory, needs);
        }
        shipped
    }

    pub fn package(&self, directory: &str) -> Option<&NpmPackage> {
        self.packages.get(directory)
    }

    fn needs(&self, directory: &str) -> Vec<&str> {
        let Some(package) = self.packages.get(directory) else { return Vec::new() };
        let names = package.dependencies.keys().chain(package.optional_dependencies.keys());
        let names = names.chain(package.peer_dependencies.keys());
        let found = names.filter_map(|name| self.find(directory, name));
        found
            .filter(|(_, package)| !package.dev && !package.dev_optional)
            .map(|(at, _)| at)
            .collect()
    }

    /// Finds a package as node does: in this directory, then in each directory above it.
    fn find(&self, directory: &str, name: &str) -> Option<(&str, &NpmPackage)> {
        let mut above = Some(directory);
        while let Some(from) = above {
            let slash = if from.is_empty() { "" } else { "/" };
            if let Some((at, package)) =
                self.packages.get_key_value(&format!("{from}{slash}{FOLDER}{name}"))
            {
                return Some((at, package));
            }
            above =
                from.rfind(FOLDER).and_then(|at| from.get(..at)).map(|up| up.trim_end_matches('/'));
        }
        None
    }
}

impl NpmPackage {
    /// Returns the SHA-512 of the archive in hexadecimal.
    pub fn sha512(&self) -> Option<String> {
        let hash = self.integrity.as_ref()?.strip_prefix("sha512-")?;
        let bytes = STANDARD.decode(hash).ok()?;
        Some(bytes.iter().fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        }))
    }
}

/// Returns the name of the package in this directory.
pub fn name_of(directory: &str) -> &str {
    directory.rsplit_once(FOLDER).map_or(directory, |(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: &str = r#"{"packages": {
        "": {"dependencies": {"@x/ui": "1"}, "devDependencies": {"lint": "1"}},
        "node_modules/@x/ui": {"version": "1.0.0", "integrity": "sha512-q83v",
            "dependencies": {"core": "2"}, "peerDependencies": {"types": "1"}},
        "node_modules/@x/ui/node_modules/core": {"version": "2.0.0"},
        "node_modules/core": {"version": "1.0.0", "dev": true},
        "node_modules/lint": {"version": "1.0.0", "dev": true, "dependencies": {"core": "1"}},
        "node_modules/types": {"version": "1.0.0", "devOptional": true}
    }}"#;

    #[test]
    fn npm_packages_for_development_are_not_shipped() {
        let lockfile = NpmLockfile::parse(SMALL).unwrap();
        let (ui, core) = ("node_modules/@x/ui", "node_modules/@x/ui/node_modules/core");
        let wanted = BTreeMap::from([("", vec![ui]), (ui, vec![core]), (core, vec![])]);
        assert_eq!(lockfile.shipped(), wanted);
        assert_eq!((name_of(ui), name_of(core)), ("@x/ui", "core"));
    }

    #[test]
    fn npm_hash_is_written_in_hexadecimal() {
        let lockfile = NpmLockfile::parse(SMALL).unwrap();
        let hash = |directory: &str| lockfile.package(directory).unwrap().sha512();
        assert_eq!(hash("node_modules/@x/ui").as_deref(), Some("abcdef"));
        assert_eq!(hash("node_modules/core"), None);
    }

    #[test]
    fn npm_packages_of_the_dashboard_are_found() {
        let lockfile = NpmLockfile::read(&crate::shell::root().unwrap()).unwrap();
        let shipped = lockfile.shipped();
        assert!(shipped.contains_key("node_modules/react-dom"), "a direct dependency");
        assert!(shipped.contains_key("node_modules/scheduler"), "a dependency of react-dom");
        for absent in ["vite", "typescript", "eslint", "@types/react"] {
            assert!(!shipped.contains_key(&*format!("{FOLDER}{absent}")), "{absent}");
        }
    }
}
