//! Where the server is and who speaks: what the command line names, then the environment, then the
//! file that `ade login` wrote. The file holds secrets: it is made for its owner alone, and one
//! that others can read is not used. A project's own file may name a profile and nothing else, so
//! that no repository can send a token somewhere.

use std::collections::BTreeMap;
use std::env;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use ade_client::Client;
use ade_core::token::Token;
use serde::{Deserialize, Serialize};

use crate::exit::Exit;
use crate::failure::{self, Failure};

pub const TOKEN_VARIABLE: &str = "ADE_TOKEN";
const SERVER_VARIABLE: &str = "ADE_SERVER";
const PROFILE_VARIABLE: &str = "ADE_PROFILE";
const PROJECT_FILE: &str = ".ade.toml";
const SERVER_DEFAULT: &str = "http://127.0.0.1:7700";
pub const PROFILE_DEFAULT: &str = "default";
const OTHERS: u32 = 0o077;

/// One server and an account there.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    pub server: Option<String>,
    pub token: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kept {
    /// The one in use.
    profile: Option<String>,
    /// The only one there was in earlier versions.
    #[serde(skip_serializing)]
    server: Option<String>,
    #[serde(skip_serializing)]
    token: Option<String>,
    #[serde(default)]
    pub profiles: BTreeMap<String, Profile>,
}

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
            .or_next("HOME=/your/home ade login --token -")
    })?;
    Ok(base.join("ade").join("config.toml"))
}

/// To speak to the server as whoever has signed in.
pub fn client(profile: Option<&str>) -> Result<Client, Failure> {
    // Who names a profile wants that one, whatever the environment says.
    let variable = |name: &str| if profile.is_some() { None } else { set(name) };
    let (token, server) = (variable(TOKEN_VARIABLE), variable(SERVER_VARIABLE));
    // With both variables set no file is needed, nor a home.
    if let (Some(token), Some(server)) = (&token, &server) {
        return Ok(Client::new(server, &checked(token)?)?);
    }
    let path = place()?;
    let kept = read(&path)?;
    let chosen = choose(profile, &kept)?;
    let known = kept.profiles.get(&chosen.name).cloned().unwrap_or_default();
    let token = token.or(known.token).ok_or_else(|| failure::nobody(&shown(&path)))?;
    Ok(Client::new(&address(server.or(known.server)), &checked(&token)?)?)
}

/// For a new token: at this server, or at the one that is in use.
pub fn client_with(
    token: &str,
    given: Option<&str>,
    profile: Option<&str>,
) -> Result<Client, Failure> {
    let server = if let Some(server) = given {
        server.to_owned()
    } else {
        let kept = read(&place()?)?;
        let name = named(profile, &kept).name;
        address(set(SERVER_VARIABLE).or(kept.profiles.get(&name).and_then(|p| p.server.clone())))
    };
    Ok(Client::new(&server, &checked(token)?)?)
}

fn address(known: Option<String>) -> String {
    known.unwrap_or_else(|| SERVER_DEFAULT.to_owned())
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
        .or_next(format!("ade login --profile {} --server URL --token -", chosen.name)))
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
    by(kept.profile.as_deref().unwrap_or(PROFILE_DEFAULT), "ade profiles use")
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

pub fn read(path: &Path) -> Result<Kept, Failure> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Kept::default()),
        Err(error) => return Err(unreadable(path, &error.to_string())),
    };
    let mode = fs::metadata(path).map_err(|error| unreadable(path, &error.to_string()))?.mode();
    if mode & OTHERS != 0 {
        let what = format!("{} holds a token and others can read it", shown(path));
        return Err(Failure::new(Exit::NotAllowed, what)
            .detail(format!("its mode is {:o}", mode & 0o777))
            .or_next(format!("chmod 600 {}", shown(path))));
    }
    // The message of a TOML error quotes the line, and the line may be the token's.
    let kept: Result<Kept, _> = toml::from_str(&text);
    kept.map(renewed).map_err(|_| unreadable(path, "it is not what `ade login` writes"))
}

/// What an earlier version wrote is the default profile.
fn renewed(mut kept: Kept) -> Kept {
    let old = Profile { server: kept.server.take(), token: kept.token.take() };
    if old != Profile::default() {
        kept.profiles.entry(PROFILE_DEFAULT.to_owned()).or_insert(old);
    }
    kept
}

fn unreadable(path: &Path, why: &str) -> Failure {
    Failure::new(Exit::Failed, format!("cannot read {}", shown(path)))
        .detail(why)
        .or_next("ade login --server URL --token -")
}

/// Keeps a token, and uses it from now on unless another profile is in use.
pub fn keep(server: &str, token: &str, profile: Option<&str>) -> Result<String, Failure> {
    change(|kept| {
        let name = named(profile, kept).name;
        let new = Profile { server: Some(server.to_owned()), token: Some(token.trim().to_owned()) };
        if kept.profiles.is_empty() {
            kept.profile = Some(name.clone());
        }
        kept.profiles.insert(name, new);
        Ok(())
    })
}

/// The token only: where the server is stays known.
pub fn forget(profile: Option<&str>) -> Result<String, Failure> {
    change(|kept| {
        let name = choose(profile, kept)?.name;
        if let Some(known) = kept.profiles.get_mut(&name) {
            known.token = None;
        }
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
        kept.profiles.remove(name);
        if kept.profile.as_deref() == Some(name) {
            kept.profile = None;
        }
        Ok(())
    })
}

/// Whole or not at all, and never open to others, not even for a moment.
fn change(edit: impl FnOnce(&mut Kept) -> Result<(), Failure>) -> Result<String, Failure> {
    let path = place()?;
    let mut kept = read(&path)?;
    edit(&mut kept)?;
    let text = toml::to_string(&kept).map_err(|error| unwritable(&path, &error.to_string()))?;
    write(&path, &text).map_err(|error| unwritable(&path, &error.to_string()))?;
    Ok(shown(&path))
}

fn write(path: &Path, text: &str) -> io::Result<()> {
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

pub fn shown(path: &Path) -> String {
    path.display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_earlier_version_wrote_is_the_default_profile() {
        let old: Kept = toml::from_str("server = \"http://x\"\ntoken = \"t\"\n").unwrap();
        let kept = renewed(old);
        let written = toml::to_string(&kept).unwrap();
        let read = renewed(toml::from_str(&written).unwrap());
        assert_eq!(read, kept);
        assert_eq!(kept.profiles[PROFILE_DEFAULT].token.as_deref(), Some("t"));
        assert!(written.contains("[profiles.default]"), "{written}");
    }

    #[test]
    fn a_projects_file_names_a_profile_and_nothing_else() {
        assert!(toml::from_str::<Project>("profile = \"prod\"").is_ok());
        assert!(toml::from_str::<Project>("server = \"http://evil\"").is_err());
    }
}
