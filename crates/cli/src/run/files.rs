//! Files that a command depends on. Their content is hashed before the review and again before the
//! command starts. Files in memory are sealed, so that no process can change them.

use std::fs::File;
use std::io::{self, Read, Write as _};
use std::os::fd::{AsFd as _, AsRawFd, OwnedFd};
use std::path::Path;

use ade_core::change::Digest;
use ade_core::limits::{RUN_FILES_MAX, RUN_FILES_MAX_BYTES};
use rustix::fs::{MemfdFlags, Mode, OFlags, SealFlags, fcntl_add_seals, memfd_create, open};
use rustix::io::{FdFlags, fcntl_setfd};
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::text::quoted;

const CHUNK_BYTES: usize = 64 * 1024;
/// Prefixes of a file name within an argument, as in `curl -d @body.json`.
const MARKS: [&str; 3] = ["@", "file://", "fileb://"];

/// The content of a file at one time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FileHash {
    pub path: String,
    pub digest: Digest,
    pub bytes: u64,
}

/// The files that the arguments of a command name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NamedFiles {
    pub hashed: Vec<FileHash>,
    /// Directories, devices, pipes and unreadable files: their content is not compared.
    pub unchecked: Vec<String>,
}

/// How much may still be hashed.
#[derive(Debug)]
pub struct Budget {
    files: usize,
    bytes: u64,
}

impl Default for Budget {
    fn default() -> Self {
        Self { files: RUN_FILES_MAX, bytes: RUN_FILES_MAX_BYTES }
    }
}

impl NamedFiles {
    /// Hashes the files that `arguments` name, and the `further` ones, which must exist.
    pub fn gather(
        arguments: &[String],
        further: &[String],
        budget: &mut Budget,
    ) -> Result<Self, Failure> {
        let mut found = Self::default();
        for path in further {
            if !found.add(path, budget)? {
                let what = format!("cannot read the file {path}");
                return Err(Failure::new(Exit::Failed, what)
                    .detail("`--file` names a regular file that the command reads")
                    .or_next(format!("ls -l {}", quoted(path))));
            }
        }
        for path in arguments.iter().flat_map(|argument| names(argument)) {
            if !found.add(path, budget)? && !found.unchecked.iter().any(|known| known == path) {
                let exists = std::fs::symlink_metadata(path).is_ok();
                found.unchecked.extend(exists.then(|| path.to_owned()));
            }
        }
        Ok(found)
    }

    /// Returns whether the path is a regular file, which is then hashed.
    fn add(&mut self, path: &str, budget: &mut Budget) -> Result<bool, Failure> {
        if self.hashed.iter().any(|known| known.path == path) {
            return Ok(true);
        }
        let Ok(Some(mut file)) = open_regular(Path::new(path)) else { return Ok(false) };
        self.hashed.push(hash(&mut file, path, budget)?);
        Ok(true)
    }
}

/// Returns the texts of an argument that may be file names: all of it, and the value of
/// `name=value` and of `-nvalue`, each also without a mark.
fn names(argument: &str) -> impl Iterator<Item = &str> {
    let value = argument.split_once('=').map(|(_, value)| value);
    let short = argument.strip_prefix('-').and_then(|rest| {
        let mut rest = rest.chars();
        rest.next()?;
        Some(rest.as_str())
    });
    let texts = [Some(argument), value, short].into_iter().flatten();
    texts
        .flat_map(|text| {
            let marked = MARKS.iter().filter_map(move |mark| text.strip_prefix(mark));
            std::iter::once(text).chain(marked)
        })
        .filter(|text| !text.is_empty())
}

/// Opens a regular file; `None` if the path is something else. It never waits for a pipe.
pub fn open_regular(path: &Path) -> io::Result<Option<File>> {
    // Opening a device can have an effect.
    if !std::fs::metadata(path)?.is_file() {
        return Ok(None);
    }
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let file = File::from(open(path, flags, Mode::empty())?);
    let is_file = file.metadata()?.is_file();
    Ok(is_file.then_some(file))
}

pub fn hash(file: &mut impl Read, path: &str, budget: &mut Budget) -> Result<FileHash, Failure> {
    let too_much = |what: String| {
        Failure::new(Exit::Failed, what)
            .detail("files that a command names must not change, so they are hashed")
            .or_next("ade run … -- sh -c 'COMMAND'   # names within a shell script are not hashed")
    };
    budget.files = budget
        .files
        .checked_sub(1)
        .ok_or_else(|| too_much(format!("the command names more than {RUN_FILES_MAX} files")))?;
    let (mut state, mut bytes) = (Sha256::new(), 0_u64);
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        let count = match file.read(&mut chunk) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(unreadable(path, &error)),
        };
        let read = u64::try_from(count).unwrap_or(u64::MAX);
        budget.bytes = budget.bytes.checked_sub(read).ok_or_else(|| {
            too_much(format!("the files of the command exceed {RUN_FILES_MAX_BYTES} bytes"))
        })?;
        bytes = bytes.saturating_add(read);
        state.update(chunk.get(..count).unwrap_or_default());
    }
    let digest = Digest::from_bytes(state.finalize().into());
    Ok(FileHash { path: path.to_owned(), digest, bytes })
}

pub fn unreadable(path: &str, error: &io::Error) -> Failure {
    Failure::new(Exit::CannotStart, format!("cannot read {path}: {error}"))
        .or_next(format!("ls -l {}", quoted(path)))
}

/// Returns a file in memory whose content can no longer be changed.
pub fn sealed(name: &str, content: &[u8]) -> io::Result<OwnedFd> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let mut file = File::from(memfd_create(name, flags)?);
    file.write_all(content)?;
    let seals = SealFlags::WRITE | SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL;
    fcntl_add_seals(&file, seals)?;
    Ok(file.into())
}

/// Lets the next program keep a descriptor. `ade` starts nothing but the command afterwards.
pub fn inherit(file: &OwnedFd) -> io::Result<()> {
    Ok(fcntl_setfd(file.as_fd(), FdFlags::empty())?)
}

/// Returns the path under which a process opens what it inherited.
pub fn path_of(file: &impl AsRawFd) -> String {
    format!("/proc/self/fd/{}", file.as_raw_fd())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn argument_names_files_in_each_usual_form() {
        let all = |argument| names(argument).collect::<Vec<_>>();
        assert_eq!(all("a.sql"), ["a.sql"]);
        assert!(all("--file=a.sql").contains(&"a.sql"));
        assert!(all("-fa.sql").contains(&"a.sql"));
        assert!(all("@body.json").contains(&"body.json"));
        assert!(all("data=@body.json").contains(&"body.json"));
        assert!(all("file:///srv/template.json").contains(&"/srv/template.json"));
        assert_eq!(all("-"), ["-"]);
        assert_eq!(all(""), [""; 0]);
    }

    #[test]
    fn file_hash_is_bounded_in_count_and_length() {
        let hash = |budget: &mut Budget| hash(&mut b"12345".as_slice(), "a", budget);
        let mut budget = Budget { files: 2, bytes: 9 };
        let first = hash(&mut budget).unwrap();
        assert_eq!((first.digest, first.bytes), (Digest::of(b"12345"), 5));
        assert!(hash(&mut budget).unwrap_err().what().contains("bytes"));
        assert!(hash(&mut budget).unwrap_err().what().contains("files"));
    }

    #[test]
    fn directory_and_device_are_named_as_unchecked() {
        let arguments = ["/", "/dev/null", "no-such-file"].map(str::to_owned);
        let found = NamedFiles::gather(&arguments, &[], &mut Budget::default()).unwrap();
        assert_eq!(found.unchecked, ["/", "/dev/null"]);
        let missing = ["no-such-file".to_owned()];
        assert!(NamedFiles::gather(&[], &missing, &mut Budget::default()).is_err());
    }

    #[test]
    fn sealed_copy_cannot_be_changed() {
        let copy = sealed("copy", b"echo one").unwrap();
        let mut file = File::from(copy);
        assert!(file.write_all(b"x").is_err());
        assert!(file.set_len(1).is_err() && file.set_len(100).is_err());
        assert_eq!(std::fs::read(path_of(&file)).unwrap(), b"echo one");
        let written = File::options().write(true).open(path_of(&file));
        assert!(written.is_err() || written.unwrap().write_all(b"x").is_err());
    }
}
