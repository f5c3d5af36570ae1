//! The server and token to use: from the command line, then the environment, then the settings file
//! that `ade login` writes. The file contains secrets: only its owner can read it, and a file that
//! others can read is rejected. A project file can only name a profile, so that no repository can
//! redirect a token. The token can be stored in the desktop keyring instead of the file.

mod file;
mod keyring;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ade_client::Client;
use ade_core::limits::CLI_KEYRING_TIMEOUT;
use ade_core::token::Token;
use serde::{Deserialize, Serialize};

use crate::exit::Exit;
use crate::failure::{self, Failure};
use file::change;
pub use file::{Profile, SettingsFile, read, write_private};

pub const TOKEN_VARIABLE: &str = "ADE_TOKEN";
pub const SERVER_VARIABLE: &str = "ADE_SERVER";
pub const PROFILE_VARIABLE: &str = "ADE_PROFILE";
const PROJECT_FILE: &str = ".ade.toml";
const SERVER_DEFAULT: &str = "http://127.0.0.1:7700";
pub const PROFILE_DEFAULT: &str = "default";

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Project {
    profile: Option<String>,
}

/// The profile that a command uses, and where it was selected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chosen {
    pub name: String,
    pub by: &'static str,
}

/// Returns `$XDG_CONFIG_HOME/ade/config.toml`, or the same path under `~/.config`.
pub fn place() -> Result<PathBuf, Failure> {
    let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let base = set("XDG_CONFIG_HOME").filter(|path| path.is_absolute());
    let base = base.or_else(|| set("HOME").map(|home| home.join(".config")));
    let base = base.ok_or_else(|| {
        Failure::new(Exit::Failed, "cannot locate the settings: HOME is not set")
            .or_next("HOME=/your/home ade login")
    })?;
    Ok(base.join("ade").join("config.toml"))
}

/// Returns a client with the stored credentials. `within` bounds the wait for the keyring.
pub fn client(profile: Option<&str>, within: Duration) -> Result<Client, Failure> {
    let (token, server) = (variable(TOKEN_VARIABLE, profile), variable(SERVER_VARIABLE, profile));
    // With both variables set, neither a file nor a home directory is needed.
    if let (Some(token), Some(server)) = (&token, &server) {
        return Ok(Client::new(server, &checked(token)?)?);
    }
    let path = place()?;
    let kept = read(&path)?;
    let chosen = choose(profile, &kept)?;
    let known = kept.known(&chosen.name);
    let token = match token {
        Some(token) => Some(token),
        None => known.token(&chosen.name, within)?,
    };
    let token = token.ok_or_else(|| failure::not_signed_in(&shown(&path)))?;
    Ok(Client::new(&address(server.or(known.server)), &checked(&token)?)?)
}

/// Returns the server to log in to: the given one, or the current one.
pub fn server(given: Option<&str>, profile: Option<&str>) -> Result<String, Failure> {
    if let Some(server) = given {
        return Ok(server.to_owned());
    }
    let kept = read(&place()?)?;
    let name = named(profile, &kept).name;
    Ok(address(set(SERVER_VARIABLE).or(kept.known(&name).server)))
}

/// Returns the effective settings and where each of them is set.
pub fn in_force(profile: Option<&str>) -> Result<InForce, Failure> {
    let path = place()?;
    let kept = read(&path)?;
    let chosen = choose(profile, &kept)?;
    let known = kept.known(&chosen.name);
    let token_in = match (variable(TOKEN_VARIABLE, profile), known.keyring, &known.token) {
        (Some(_), ..) => Some(TOKEN_VARIABLE),
        (None, true, _) => Some("the keyring"),
        (None, false, Some(_)) => Some("the file"),
        (None, false, None) => None,
    };
    let (server, server_by) = match (variable(SERVER_VARIABLE, profile), known.server) {
        (Some(server), _) => (server, SERVER_VARIABLE),
        (None, Some(server)) => (server, "the file"),
        (None, None) => (address(None), "default"),
    };
    Ok(InForce {
        path: shown(&path),
        profile: chosen.name,
        profile_by: chosen.by,
        server,
        server_by,
        token_in,
    })
}

#[derive(Debug, Serialize)]
pub struct InForce {
    pub path: String,
    pub profile: String,
    pub profile_by: &'static str,
    pub server: String,
    pub server_by: &'static str,
    /// Where the token is stored; never the token itself.
    pub token_in: Option<&'static str>,
}

/// Returns a client for a new token.
pub fn client_with(server: &str, token: &str) -> Result<Client, Failure> {
    Ok(Client::new(server, &checked(token)?)?)
}

/// Returns the stored token of a profile and its server.
pub fn kept(profile: Option<&str>) -> Result<Option<(String, Token)>, Failure> {
    let kept = read(&place()?)?;
    let name = named(profile, &kept).name;
    let known = kept.known(&name);
    let token = known.token(&name, CLI_KEYRING_TIMEOUT)?;
    let token = token.and_then(|token| Token::parse(&token).ok());
    Ok(token.map(|token| (address(known.server), token)))
}

impl Profile {
    pub const fn has_token(&self) -> bool {
        self.keyring || self.token.is_some()
    }

    fn token(&self, name: &str, within: Duration) -> Result<Option<String>, Failure> {
        if !self.keyring {
            return Ok(self.token.clone());
        }
        keyring::look_up(name, within).map_err(|why| {
            Failure::new(Exit::Failed, "cannot open the keyring")
                .detail(why)
                .or_next("ade login   # stores a token in a file")
        })
    }
}

fn address(known: Option<String>) -> String {
    known.unwrap_or_else(|| SERVER_DEFAULT.to_owned())
}

/// Returns an environment variable, unless a profile was given explicitly, which takes precedence.
fn variable(name: &str, profile: Option<&str>) -> Option<String> {
    if profile.is_some() { None } else { set(name) }
}

fn set(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

/// Selects the profile. An unknown name is an error; without a name, the default may be empty.
pub fn choose(profile: Option<&str>, kept: &SettingsFile) -> Result<Chosen, Failure> {
    let chosen = named(profile, kept);
    if kept.profiles.contains_key(&chosen.name) || chosen.name == PROFILE_DEFAULT {
        return Ok(chosen);
    }
    let known: Vec<&str> = kept.profiles.keys().map(String::as_str).collect();
    let what = format!("no profile `{}`", chosen.name);
    Err(Failure::new(Exit::NotFound, what)
        .detail(format!("selected by {}; existing profiles: {}", chosen.by, known.join(", ")))
        .or_next(format!("ade login --profile {} --server URL", chosen.name)))
}

fn named(profile: Option<&str>, kept: &SettingsFile) -> Chosen {
    let by = |name: &str, by| Chosen { name: name.to_owned(), by };
    if let Some(name) = profile {
        return by(name, "--profile");
    }
    if let Some(name) = set(PROFILE_VARIABLE) {
        return by(&name, PROFILE_VARIABLE);
    }
    if let Some(name) = project() {
        return by(&name, PROJECT_FILE);
    }
    match &kept.profile {
        Some(name) => by(name, "ade profiles use"),
        None => by(PROFILE_DEFAULT, "default"),
    }
}

/// Returns the profile named by the nearest project file. A file with other content is ignored.
fn project() -> Option<String> {
    let here = env::current_dir().ok()?;
    let text = here.ancestors().find_map(|at| fs::read_to_string(at.join(PROJECT_FILE)).ok())?;
    toml::from_str::<Project>(&text).ok()?.profile
}

/// Checks the format of a token locally. The error never repeats the token.
fn checked(token: &str) -> Result<String, Failure> {
    let token = token.trim();
    Token::parse(token).map_err(|error| {
        Failure::new(Exit::Usage, "not a valid token")
            .detail(error.to_string())
            .or_next("ade login --token -")
    })?;
    Ok(token.to_owned())
}

/// Where a token was stored, and a problem to report.
#[derive(Debug, PartialEq, Eq)]
pub struct TokenPlace {
    pub place: String,
    pub trouble: Option<String>,
}

/// Where a token may be stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenStore {
    File,
    /// In the keyring, and in the file if the keyring cannot be opened.
    Keyring,
    /// In the keyring or nowhere: programs of the same account can read the file.
    KeyringOnly,
}

/// Stores a token and selects its profile if there was none before.
pub fn keep(
    server: &str,
    token: &str,
    profile: Option<&str>,
    store: TokenStore,
) -> Result<TokenPlace, Failure> {
    let (token, mut keyring, mut trouble) = (token.trim().to_owned(), false, None);
    let path = change(|kept| {
        let name = named(profile, kept).name;
        if store != TokenStore::File {
            let refused = keyring::keep(&name, &token).err();
            keyring = refused.is_none();
            if let (TokenStore::KeyringOnly, Some(why)) = (store, &refused) {
                return Err(keyring_needed(why));
            }
            trouble = refused.map(|why| {
                format!("Could not use the keyring, so the token is stored in the file: {why}")
            });
        } else if kept.known(&name).keyring {
            let failed = emptied(&name).err();
            trouble = failed.map(|failure| failure.what());
        }
        let new = Profile {
            server: Some(server.to_owned()),
            token: (!keyring).then_some(token),
            keyring,
        };
        if kept.profiles.is_empty() {
            kept.profile = Some(name.clone());
        }
        kept.profiles.insert(name, new);
        Ok(())
    })?;
    let place = if keyring { "the keyring".to_owned() } else { path };
    Ok(TokenPlace { place, trouble })
}

fn keyring_needed(why: &str) -> Failure {
    Failure::new(Exit::Failed, "the token was not stored, because the keyring cannot be used")
        .detail(format!(
            "a token that can approve is stored in a keyring only, because every program of your \
             account can read a file: {why}"
        ))
        .or_next("ade login   # and leave out the permission to approve")
}

/// Removes the token of a profile; its server stays.
pub fn forget(profile: Option<&str>) -> Result<String, Failure> {
    change(|kept| {
        let name = choose(profile, kept)?.name;
        if let Some(known) = kept.profiles.get_mut(&name) {
            if known.keyring {
                emptied(&name)?;
            }
            (known.token, known.keyring) = (None, false);
        }
        Ok(())
    })
}

fn emptied(name: &str) -> Result<(), Failure> {
    keyring::forget(name).map_err(|why| {
        let next = format!("secret-tool clear service ade profile {name}");
        let what = "could not remove the old token from the keyring";
        Failure::new(Exit::Failed, what).detail(why).or_next(next)
    })
}

/// Sets the server of a profile. A stored token is never sent to another server.
pub fn set_server(server: &str, profile: Option<&str>) -> Result<String, Failure> {
    change(|kept| {
        let name = named(profile, kept).name;
        let known = kept.profiles.entry(name).or_default();
        if known.has_token() && known.server.as_deref() != Some(server) {
            let has = address(known.server.clone());
            return Err(Failure::new(Exit::Usage, "the stored token belongs to another server")
                .detail(format!("it belongs to {has}"))
                .or_next(format!("ade login --server {server}")));
        }
        known.server = Some(server.to_owned());
        Ok(())
    })
}

pub fn use_profile(name: &str) -> Result<String, Failure> {
    change(|kept| {
        kept.profile = Some(choose(Some(name), kept)?.name);
        Ok(())
    })
}

pub fn remove(name: &str) -> Result<String, Failure> {
    change(|kept| {
        choose(Some(name), kept)?;
        if kept.profiles.remove(name).is_some_and(|known| known.keyring) {
            emptied(name)?;
        }
        if kept.profile.as_deref() == Some(name) {
            kept.profile = None;
        }
        Ok(())
    })
}

pub fn shown(path: &Path) -> String {
    path.display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn project_file_names_a_profile_and_nothing_else() {
        assert!(toml::from_str::<Project>("profile = \"prod\"").is_ok());
        assert!(toml::from_str::<Project>("server = \"http://evil\"").is_err());
    }
}
