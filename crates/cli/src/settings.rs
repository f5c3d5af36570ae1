//! Where the server is and who speaks: what the command line names, then the environment, then the
//! file that `ade login` wrote. The file holds secrets: it is made for its owner alone, and one
//! that others can read is not used. A project's own file may name a profile and nothing else, so
//! that no repository can send a token somewhere. Whoever wants it has a token in the keyring of
//! the desktop instead of the file.

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
pub use file::{Kept, Profile, read};

pub const TOKEN_VARIABLE: &str = "ADE_TOKEN";
const SERVER_VARIABLE: &str = "ADE_SERVER";
const PROFILE_VARIABLE: &str = "ADE_PROFILE";
const PROJECT_FILE: &str = ".ade.toml";
const SERVER_DEFAULT: &str = "http://127.0.0.1:7700";
pub const PROFILE_DEFAULT: &str = "default";

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Project {
    profile: Option<String>,
}

/// Which profile a command is about, and where that was said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chosen {
    pub name: String,
    pub by: &'static str,
}

/// `$XDG_CONFIG_HOME/ade/config.toml`, or the same in `~/.config`.
pub fn place() -> Result<PathBuf, Failure> {
    let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let base = set("XDG_CONFIG_HOME").filter(|path| path.is_absolute());
    let base = base.or_else(|| set("HOME").map(|home| home.join(".config")));
    let base = base.ok_or_else(|| {
        Failure::new(Exit::Failed, "there is no home for the settings: HOME is not set")
            .or_next("HOME=/your/home ade login")
    })?;
    Ok(base.join("ade").join("config.toml"))
}

/// To speak to the server as whoever has signed in. A keyring is waited for this long.
pub fn client(profile: Option<&str>, within: Duration) -> Result<Client, Failure> {
    let (token, server) = (variable(TOKEN_VARIABLE, profile), variable(SERVER_VARIABLE, profile));
    // With both variables set no file is needed, nor a home.
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
    let token = token.ok_or_else(|| failure::nobody(&shown(&path)))?;
    Ok(Client::new(&address(server.or(known.server)), &checked(&token)?)?)
}

/// Where somebody wants to sign in: at this server, or at the one that is in use.
pub fn server(given: Option<&str>, profile: Option<&str>) -> Result<String, Failure> {
    if let Some(server) = given {
        return Ok(server.to_owned());
    }
    let kept = read(&place()?)?;
    let name = named(profile, &kept).name;
    Ok(address(set(SERVER_VARIABLE).or(kept.known(&name).server)))
}

/// Which values are in force, and who says so.
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
    /// Never the token itself.
    pub token_in: Option<&'static str>,
}

/// For a new token.
pub fn client_with(server: &str, token: &str) -> Result<Client, Failure> {
    Ok(Client::new(server, &checked(token)?)?)
}

/// What is kept for a profile, with where it is good.
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
            Failure::new(Exit::Failed, "the keyring does not open")
                .detail(why)
                .or_next("ade login   # keeps a token in a file")
        })
    }
}

fn address(known: Option<String>) -> String {
    known.unwrap_or_else(|| SERVER_DEFAULT.to_owned())
}

/// Who names a profile wants that one, whatever the environment says.
fn variable(name: &str, profile: Option<&str>) -> Option<String> {
    if profile.is_some() { None } else { set(name) }
}

fn set(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

/// One that is named and not kept is a mistake; without any the default is an empty one.
pub fn choose(profile: Option<&str>, kept: &Kept) -> Result<Chosen, Failure> {
    let chosen = named(profile, kept);
    if kept.profiles.contains_key(&chosen.name) || chosen.name == PROFILE_DEFAULT {
        return Ok(chosen);
    }
    let known: Vec<&str> = kept.profiles.keys().map(String::as_str).collect();
    let what = format!("there is no profile `{}`", chosen.name);
    Err(Failure::new(Exit::NotFound, what)
        .detail(format!("{} names it; kept are: {}", chosen.by, known.join(", ")))
        .or_next(format!("ade login --profile {} --server URL", chosen.name)))
}

fn named(profile: Option<&str>, kept: &Kept) -> Chosen {
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

/// The next file upwards. One that says anything else is not heeded.
fn project() -> Option<String> {
    let here = env::current_dir().ok()?;
    let text = here.ancestors().find_map(|at| fs::read_to_string(at.join(PROJECT_FILE)).ok())?;
    toml::from_str::<Project>(&text).ok()?.profile
}

/// A typing error costs no call, and is told without repeating what was typed.
fn checked(token: &str) -> Result<String, Failure> {
    let token = token.trim();
    Token::parse(token).map_err(|error| {
        Failure::new(Exit::Usage, "that is no token")
            .detail(error.to_string())
            .or_next("ade login --token -")
    })?;
    Ok(token.to_owned())
}

/// Where a token came to lie, and what somebody should know of it.
#[derive(Debug, PartialEq, Eq)]
pub struct Lies {
    pub place: String,
    pub trouble: Option<String>,
}

/// Keeps a token, and uses it from now on unless another profile is in use. A keyring that does not
/// open keeps nobody out: the file has the token then.
pub fn keep(
    server: &str,
    token: &str,
    profile: Option<&str>,
    in_keyring: bool,
) -> Result<Lies, Failure> {
    let (token, mut keyring, mut trouble) = (token.trim().to_owned(), false, None);
    let path = change(|kept| {
        let name = named(profile, kept).name;
        if in_keyring {
            let refused = keyring::keep(&name, &token).err();
            keyring = refused.is_none();
            trouble = refused
                .map(|why| format!("The keyring would not have it, the file has it now: {why}"));
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
    Ok(Lies { place, trouble })
}

/// The token only: where the server is stays known.
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
        let what = "the keyring still has the token that was kept";
        Failure::new(Exit::Failed, what).detail(why).or_next(next)
    })
}

/// Where the server is. A token goes where it came from: one that is kept stays with its server.
pub fn set_server(server: &str, profile: Option<&str>) -> Result<String, Failure> {
    change(|kept| {
        let name = named(profile, kept).name;
        let known = kept.profiles.entry(name).or_default();
        if known.has_token() && known.server.as_deref() != Some(server) {
            let has = address(known.server.clone());
            return Err(Failure::new(Exit::Usage, "the token that is kept is for another server")
                .detail(format!("it is for {has}"))
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
    fn a_projects_file_names_a_profile_and_nothing_else() {
        assert!(toml::from_str::<Project>("profile = \"prod\"").is_ok());
        assert!(toml::from_str::<Project>("server = \"http://evil\"").is_err());
    }
}
