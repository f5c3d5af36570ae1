//! The settings file: only its owner can read it, and it is rejected if others can.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{PROFILE_DEFAULT, place, shown};
use crate::exit::Exit;
use crate::failure::Failure;

const OTHERS: u32 = 0o077;

/// A server and an account on it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    pub server: Option<String>,
    pub token: Option<String>,
    /// Whether the token is stored in the keyring, under the name of the profile.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub keyring: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SettingsFile {
    /// The current profile.
    pub profile: Option<String>,
    /// The server of the only profile in the format of earlier versions.
    #[serde(skip_serializing)]
    server: Option<String>,
    #[serde(skip_serializing)]
    token: Option<String>,
    #[serde(default)]
    pub profiles: BTreeMap<String, Profile>,
}

impl SettingsFile {
    /// Returns a profile, which is empty if it does not exist.
    pub fn known(&self, name: &str) -> Profile {
        self.profiles.get(name).cloned().unwrap_or_default()
    }
}

pub fn read(path: &Path) -> Result<SettingsFile, Failure> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(SettingsFile::default()),
        Err(error) => return Err(unreadable(path, &error.to_string())),
    };
    let mode = fs::metadata(path).map_err(|error| unreadable(path, &error.to_string()))?.mode();
    if mode & OTHERS != 0 {
        let what = format!("{} contains a token and is readable by other users", shown(path));
        return Err(Failure::new(Exit::NotAllowed, what)
            .detail(format!("its mode is {:o}", mode & 0o777))
            .or_next(format!("chmod 600 {}", shown(path))));
    }
    // The TOML error is not shown, because it quotes the line, which may contain the token.
    let kept: Result<SettingsFile, _> = toml::from_str(&text);
    kept.map(renewed).map_err(|_| unreadable(path, "it was not written by `ade login`"))
}

/// Converts the format of an earlier version to the default profile.
fn renewed(mut kept: SettingsFile) -> SettingsFile {
    let old = Profile { server: kept.server.take(), token: kept.token.take(), keyring: false };
    if old != Profile::default() {
        kept.profiles.entry(PROFILE_DEFAULT.to_owned()).or_insert(old);
    }
    kept
}

fn unreadable(path: &Path, why: &str) -> Failure {
    Failure::new(Exit::Failed, format!("cannot read {}", shown(path)))
        .detail(why)
        .or_next("ade login --server URL")
}

/// Rewrites the file atomically; it is never readable by others.
pub fn change(
    edit: impl FnOnce(&mut SettingsFile) -> Result<(), Failure>,
) -> Result<String, Failure> {
    let path = place()?;
    let mut kept = read(&path)?;
    edit(&mut kept)?;
    let text = toml::to_string(&kept).map_err(|error| unwritable(&path, &error.to_string()))?;
    write_private(&path, &text).map_err(|error| unwritable(&path, &error.to_string()))?;
    Ok(shown(&path))
}

/// Writes a file that only this user can read, atomically, in a folder that only this user can
/// read.
pub fn write_private(path: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    let fresh = path.with_extension(format!("{}.new", std::process::id()));
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&fresh)?;
    let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
    let placed = written.and_then(|()| fs::rename(&fresh, path));
    if placed.is_err() {
        let _ = fs::remove_file(&fresh);
    }
    placed
}

fn unwritable(path: &Path, why: &str) -> Failure {
    Failure::new(Exit::Failed, format!("cannot write {}", shown(path)))
        .detail(why)
        .or_next("export ADE_TOKEN=… ADE_SERVER=…")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_of_an_earlier_version_become_the_default_profile() {
        let old: SettingsFile = toml::from_str("server = \"http://x\"\ntoken = \"t\"\n").unwrap();
        let kept = renewed(old);
        let written = toml::to_string(&kept).unwrap();
        let read = renewed(toml::from_str(&written).unwrap());
        assert_eq!(read, kept);
        assert_eq!(kept.profiles[PROFILE_DEFAULT].token.as_deref(), Some("t"));
        assert!(written.contains("[profiles.default]"), "{written}");
    }
}
