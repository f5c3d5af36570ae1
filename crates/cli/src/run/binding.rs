//! What a command depends on outside of its arguments: its program, the files that it names, and
//! its directory. Reviewers see it, and the command runs only if it is unchanged when it would
//! start.

use std::ffi::OsStr;

use serde_json::{Map, Value, json};

use super::files::{Budget, FileHash, NamedFiles};
use super::program::Program;
use crate::exit::Exit;
use crate::failure::Failure;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Binding {
    pub directory: String,
    /// The program, or a script and its interpreters.
    pub program: Vec<FileHash>,
    pub files: NamedFiles,
}

impl Binding {
    /// Reads what a command depends on now, and opens its program.
    pub fn gather(
        argv: &[String],
        further: &[String],
        path: Option<&OsStr>,
    ) -> Result<(Self, Program), Failure> {
        let directory = std::env::current_dir().map_err(|error| {
            Failure::new(Exit::Failed, format!("cannot determine the working directory: {error}"))
                .or_next("cd / && ade run --help")
        })?;
        let directory = directory.into_os_string().into_string().map_err(|_| {
            Failure::new(Exit::Failed, "the path of the working directory is not valid UTF-8")
                .or_next("cd / && ade run --help")
        })?;
        let mut budget = Budget::default();
        let (name, arguments) = match argv.split_first() {
            Some((name, arguments)) => (name.as_str(), arguments),
            None => ("", argv),
        };
        let program = Program::open(name, path, &mut budget)?;
        let files = NamedFiles::gather(arguments, further, &mut budget)?;
        Ok((Self { directory, program: program.hashes.clone(), files }, program))
    }

    /// Adds what reviewers see to the parameters of the task.
    pub fn declare(&self, parameters: &mut Map<String, Value>) {
        let Self { directory, program, files } = self;
        let members = [
            ("directory", json!(directory)),
            ("program", json!(program)),
            ("files", json!(files.hashed)),
            ("unchecked", json!(files.unchecked)),
        ];
        parameters.extend(members.map(|(name, value)| (name.to_owned(), value)));
    }

    /// Describes the first difference from what was approved.
    pub fn difference(&self, now: &Self) -> Option<String> {
        if self.directory != now.directory {
            return Some(format!("the directory {} is now {}", self.directory, now.directory));
        }
        differs("program", &self.program, &now.program)
            .or_else(|| differs("file", &self.files.hashed, &now.files.hashed))
            .or_else(|| {
                let is_same = self.files.unchecked == now.files.unchecked;
                (!is_same).then(|| "an argument names another kind of file now".to_owned())
            })
    }
}

fn differs(what: &str, approved: &[FileHash], now: &[FileHash]) -> Option<String> {
    let both = approved.iter().zip(now);
    for (old, new) in both {
        if old.path != new.path {
            return Some(format!("the {what} {} is now {}", old.path, new.path));
        }
        if old != new {
            let (path, old, new) = (&old.path, old.digest, new.digest);
            return Some(format!("the {what} {path} has changed from {old} to {new}"));
        }
    }
    let odd = approved.get(now.len()).or_else(|| now.get(approved.len()))?;
    Some(format!("the {what} {} was added or removed", odd.path))
}

#[cfg(test)]
mod tests {
    use ade_core::change::Digest;

    use super::*;

    fn hash(path: &str, content: &str) -> FileHash {
        let bytes = u64::try_from(content.len()).unwrap();
        FileHash { path: path.to_owned(), digest: Digest::of(content.as_bytes()), bytes }
    }

    fn binding() -> Binding {
        Binding {
            directory: "/srv".to_owned(),
            program: vec![hash("/srv/deploy", "one"), hash("/bin/sh", "two")],
            files: NamedFiles {
                hashed: vec![hash("a.sql", "three")],
                unchecked: vec!["k8s".to_owned()],
            },
        }
    }

    #[test]
    fn binding_is_equal_to_itself() {
        assert_eq!(binding().difference(&binding()), None);
    }

    #[test]
    fn binding_names_each_kind_of_difference() {
        type Edit = fn(&mut Binding);
        let edits: [(Edit, &str); 8] = [
            (|it| it.directory = "/".to_owned(), "the directory /srv is now /"),
            (|it| it.program[0] = hash("/srv/deploy", "x"), "the program /srv/deploy has changed"),
            (|it| it.program[0] = hash("/tmp/deploy", "one"), "is now /tmp/deploy"),
            (|it| it.program[1] = hash("/bin/sh", "x"), "the program /bin/sh has changed"),
            (|it| it.program.truncate(1), "the program /bin/sh was added or removed"),
            (|it| it.files.hashed[0] = hash("a.sql", "x"), "the file a.sql has changed"),
            (|it| it.files.hashed.push(hash("b", "")), "the file b was added or removed"),
            (|it| it.files.unchecked.clear(), "another kind of file"),
        ];
        for (edit, says) in edits {
            let mut now = binding();
            edit(&mut now);
            let said = binding().difference(&now).expect(says);
            assert!(said.contains(says), "{said}");
        }
    }
}
