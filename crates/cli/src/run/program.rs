//! The program of a command and the interpreters of a script. It is resolved, opened and hashed,
//! and then executed by descriptor: a script from a sealed copy, so that what was hashed is what
//! runs.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read as _, Seek as _};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use ade_core::limits::{RUN_INTERPRETERS_MAX, RUN_SCRIPT_MAX_BYTES, RUN_SHEBANG_MAX_BYTES};
use rustix::fs::{Access, access};
use tokio::process::Command;

use super::files::{self, Budget, FileHash};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::text::quoted;

const ELF: &[u8] = b"\x7fELF";
const SHEBANG: &[u8] = b"#!";

/// A program that is ready to run: the binary, and the scripts that lead to it.
#[derive(Debug)]
pub struct Program {
    /// The scripts, the one that the command names first.
    scripts: Vec<Script>,
    binary: File,
    /// The name under which the binary is called.
    name: String,
    /// The content of the scripts and of the binary.
    pub hashes: Vec<FileHash>,
}

#[derive(Debug)]
struct Script {
    copy: OwnedFd,
    /// The arguments of its interpreter.
    arguments: Vec<String>,
}

/// The interpreter that a script names.
#[derive(Debug, PartialEq, Eq)]
struct Interpreter {
    /// A path, or a name for the search path.
    name: String,
    arguments: Vec<String>,
}

impl Program {
    /// Opens what `name` means in this directory and with this search path.
    pub fn open(name: &str, path: Option<&OsStr>, budget: &mut Budget) -> Result<Self, Failure> {
        let (mut scripts, mut hashes) = (Vec::new(), Vec::new());
        let mut name = name.to_owned();
        while scripts.len() <= RUN_INTERPRETERS_MAX {
            let place = resolve(&name, path)?;
            let shown = text(&place)?;
            let mut file = files::open_regular(&place)
                .and_then(|file| file.ok_or_else(|| io::ErrorKind::PermissionDenied.into()))
                .map_err(|error| files::unreadable(&shown, &error))?;
            let head = head(&mut file).map_err(|error| files::unreadable(&shown, &error))?;
            if head.starts_with(SHEBANG) {
                let interpreter = interpreter(&head).map_err(|why| {
                    cannot_start(&shown, &why).or_next("ade run … -- INTERPRETER SCRIPT")
                })?;
                let content = whole(&mut file, &shown)?;
                hashes.push(files::hash(&mut content.as_slice(), &shown, budget)?);
                let copy = files::sealed("script", &content).map_err(|error| {
                    cannot_start(&shown, &format!("cannot copy it to memory: {error}"))
                })?;
                scripts.push(Script { copy, arguments: interpreter.arguments });
                name = interpreter.name;
                continue;
            }
            if !head.starts_with(ELF) {
                let why = "it is neither a binary nor a script that begins with `#!`";
                return Err(cannot_start(&shown, why)
                    .or_next(format!("ade run … -- sh {}", quoted(&shown))));
            }
            hashes.push(files::hash(&mut file, &shown, budget)?);
            return Ok(Self { scripts, binary: file, name, hashes });
        }
        Err(cannot_start(&name, &format!("more than {RUN_INTERPRETERS_MAX} interpreters")))
    }

    /// Returns the path of the program that the command names.
    pub fn path(&self) -> &str {
        self.hashes.first().map(|hash| hash.path.as_str()).unwrap_or_default()
    }

    /// Returns the command that executes the open files. They must stay open until it has started.
    pub fn command(&self, arguments: &[String]) -> io::Result<Command> {
        let mut all = arguments.to_vec();
        for script in &self.scripts {
            // An interpreter opens its script by path, after the descriptors of `ade` are closed.
            files::inherit(&script.copy)?;
            let own = script.arguments.iter().cloned();
            all = own.chain([files::path_of(&script.copy)]).chain(all).collect();
        }
        let mut command = Command::new(files::path_of(&self.binary));
        command.arg0(&self.name).args(all);
        Ok(command)
    }
}

/// Returns the file that a name means, as a shell finds it.
fn resolve(name: &str, path: Option<&OsStr>) -> Result<PathBuf, Failure> {
    let missing = || {
        Failure::new(Exit::NoSuchCommand, format!("command not found: `{name}`"))
            .or_next(format!("command -v {}", quoted(name)))
    };
    let is_file = |place: &Path| place.metadata().is_ok_and(|about| about.is_file());
    let is_runnable = |place: &Path| access(place, Access::EXEC_OK).is_ok();
    let refused = |place: &Path| cannot_start(&place.display().to_string(), "it is not executable");
    if name.contains('/') {
        let place = std::path::absolute(name).map_err(|_| missing())?;
        return match (place.exists(), is_file(&place) && is_runnable(&place)) {
            (false, _) => Err(missing()),
            (true, false) => Err(refused(&place)),
            (true, true) => Ok(place),
        };
    }
    let mut closed = None;
    for folder in std::env::split_paths(path.unwrap_or_default()) {
        let place = folder.join(name);
        if name.is_empty() || !is_file(&place) {
            continue;
        }
        if !folder.is_absolute() {
            let why = format!("PATH finds it through the relative directory {}", folder.display());
            return Err(cannot_start(name, &why).or_next(format!("PATH=… ade run … -- {name}")));
        }
        if is_runnable(&place) {
            return Ok(place);
        }
        closed = Some(place);
    }
    Err(closed.map_or_else(missing, |place| refused(&place)))
}

fn cannot_start(what: &str, why: &str) -> Failure {
    Failure::new(Exit::CannotStart, format!("cannot start {what}: {why}"))
}

fn text(place: &Path) -> Result<String, Failure> {
    let text = OsString::from(place).into_string();
    text.map_err(|_| cannot_start(&place.display().to_string(), "its path is not valid UTF-8"))
}

/// Returns the first bytes of a file, and rewinds it.
fn head(file: &mut File) -> io::Result<Vec<u8>> {
    let bound = u64::try_from(RUN_SHEBANG_MAX_BYTES).unwrap_or(u64::MAX);
    let mut head = Vec::new();
    file.by_ref().take(bound).read_to_end(&mut head)?;
    file.rewind()?;
    Ok(head)
}

fn whole(file: &mut File, path: &str) -> Result<Vec<u8>, Failure> {
    let mut content = Vec::new();
    let read = file.take(RUN_SCRIPT_MAX_BYTES + 1).read_to_end(&mut content);
    let read = read.map_err(|error| files::unreadable(path, &error))?;
    if u64::try_from(read).unwrap_or(u64::MAX) > RUN_SCRIPT_MAX_BYTES {
        let why = format!("the script is larger than {RUN_SCRIPT_MAX_BYTES} bytes");
        return Err(cannot_start(path, &why));
    }
    Ok(content)
}

/// Reads the first line of a script as Linux does. `env NAME` means NAME in the search path.
fn interpreter(head: &[u8]) -> Result<Interpreter, String> {
    let line = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
    if line.len() == RUN_SHEBANG_MAX_BYTES {
        return Err(format!("its first line is longer than {RUN_SHEBANG_MAX_BYTES} bytes"));
    }
    let line = line.get(SHEBANG.len()..).unwrap_or_default();
    let line = std::str::from_utf8(line).map_err(|_| "its first line is not UTF-8".to_owned())?;
    let blank = [' ', '\t'];
    let line = line.trim_matches(blank);
    let (name, argument) = line.split_once(blank).unwrap_or((line, ""));
    let argument = argument.trim_matches(blank);
    if !name.starts_with('/') {
        return Err("its first line does not name an interpreter by an absolute path".to_owned());
    }
    if Path::new(name).file_name() != Some(OsStr::new("env")) {
        let arguments = if argument.is_empty() { Vec::new() } else { vec![argument.to_owned()] };
        return Ok(Interpreter { name: name.to_owned(), arguments });
    }
    let split = argument.strip_prefix("-S");
    let mut words = split.unwrap_or(argument).split_whitespace().map(str::to_owned);
    let odd = || "its first line uses `env` in a way that `ade run` does not resolve".to_owned();
    let name = words.next().ok_or_else(odd)?;
    let arguments: Vec<String> = words.collect();
    let is_plain = !argument.contains(['\'', '"', '\\', '$', '#'])
        && !name.starts_with('-')
        && !name.contains('=')
        && (split.is_some() || arguments.is_empty());
    if is_plain { Ok(Interpreter { name, arguments }) } else { Err(odd()) }
}

#[cfg(test)]
#[path = "program_tests.rs"]
mod tests;
