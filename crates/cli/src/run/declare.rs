//! The declaration that reviewers approve: the exact command, its working directory, the names of
//! its environment variables and the hash of its input.

use std::ffi::OsString;
use std::io::Read as _;
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};

use ade_api::tasks::{Change, NewTask, Plan, Rollback};
use ade_core::change::{ChangeKind, Digest};
use ade_core::limits::{
    CHANGE_SUMMARY_MAX_BYTES, RUN_STDIN_MAX_BYTES, RUN_STDIN_PATIENCE, TASK_TITLE_MAX_BYTES,
};
use rustix::fs::{FileType, fstat};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::environment;
use crate::args::RunArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::progress::Progress;
use crate::text::{visible, within};

#[derive(Debug, Clone)]
pub struct Declaration {
    pub argv: Vec<String>,
    pub directory: PathBuf,
    /// The standard input of the command, if `ade` was given a file or a pipe.
    pub input: Option<Vec<u8>>,
}

impl Declaration {
    pub async fn gather(args: &RunArgs, progress: &mut Progress) -> Result<Self, Failure> {
        let arguments = args.command.iter().enumerate().map(|(at, argument)| {
            argument.to_str().map(str::to_owned).ok_or_else(|| {
                let what = format!("argument {at} of the command is not valid UTF-8");
                Failure::new(Exit::Usage, what)
                    .detail("reviewers could not read the command")
                    .or_next("ade run --help")
            })
        });
        let arguments = arguments.collect::<Result<Vec<String>, Failure>>()?;
        let program = arguments.first().map(String::as_str).unwrap_or_default();
        if !exists(program, std::env::var_os("PATH")) {
            // Fail before the review instead of after it.
            return Err(Failure::new(
                Exit::NoSuchCommand,
                format!("command not found: `{program}`"),
            )
            .detail("no task was created")
            .or_next(format!("command -v {}", quoted(program))));
        }
        let directory = std::env::current_dir().map_err(|error| {
            Failure::new(Exit::Failed, format!("cannot determine the working directory: {error}"))
                .or_next("cd / && ade run --help")
        })?;
        Ok(Self { argv: arguments, directory, input: input(progress).await? })
    }

    /// Returns the command line as typed in a shell.
    pub fn line(&self) -> String {
        self.argv.iter().map(|argument| quoted(argument)).collect::<Vec<_>>().join(" ")
    }

    pub fn task(&self, args: &RunArgs, plan: Plan) -> NewTask {
        let title = args.title.clone().unwrap_or_else(|| visible(&self.line()));
        NewTask {
            title: within(&title, TASK_TITLE_MAX_BYTES).to_owned(),
            task_type: args.task_type.clone(),
            parameters: self.parameters(args),
            resources: args.resources.clone(),
            tags: std::collections::BTreeSet::new(),
            priority: args.priority,
            team: None,
            ticket: args.ticket.clone(),
            timeout_seconds: args.apply_timeout.and_then(|time| u32::try_from(time.as_secs()).ok()),
            rollback: Rollback::default(),
            plan: Some(plan),
            submit: true,
        }
    }

    fn parameters(&self, args: &RunArgs) -> Value {
        let input = self
            .input
            .as_ref()
            .map(|bytes| json!({ "digest": Digest::of(bytes), "bytes": bytes.len() }));
        json!({
            "argv": self.argv,
            "directory": self.directory.to_string_lossy(),
            "environment": environment::names(),
            "stdin": input,
            "preview": args.preview,
        })
    }

    /// Returns the plan of a command without a preview: any irreversible change to its resources.
    pub fn plan(&self, args: &RunArgs) -> Plan {
        let summary = visible(&self.line());
        let changes = args.resources.iter().map(|touched| Change {
            resource: touched.resource.clone(),
            action: ChangeKind::Change,
            irreversible: true,
            summary: within(&summary, CHANGE_SUMMARY_MAX_BYTES).to_owned(),
            rows: None,
            before: None,
            after: None,
        });
        Plan { changes: changes.collect(), warnings: Vec::new() }
    }
}

/// Checks whether a program exists in the search path; it may still fail to start.
fn exists(program: &str, path: Option<OsString>) -> bool {
    if program.contains('/') {
        return Path::new(program).exists();
    }
    let path = path.unwrap_or_default();
    !program.is_empty() && std::env::split_paths(&path).any(|folder| folder.join(program).exists())
}

/// Reads the command's input from a pipe or a file before the review, so that the approved input
/// is used. A terminal is not read, because a review may take a day.
async fn input(progress: &mut Progress) -> Result<Option<Vec<u8>>, Failure> {
    let kind = fstat(std::io::stdin().as_fd()).map(|stat| FileType::from_raw_mode(stat.st_mode));
    if !matches!(kind, Ok(FileType::Fifo | FileType::RegularFile)) {
        return Ok(None);
    }
    let mut reading = tokio::task::spawn_blocking(|| {
        let mut bytes = Vec::new();
        let bound = u64::try_from(RUN_STDIN_MAX_BYTES).unwrap_or(u64::MAX).saturating_add(1);
        std::io::stdin().lock().take(bound).read_to_end(&mut bytes).map(|_| bytes)
    });
    let read = if let Ok(read) = timeout(RUN_STDIN_PATIENCE, &mut reading).await {
        read
    } else {
        progress
            .awaits("reading", "standard input; add `< /dev/null` if the command reads no input");
        reading.await
    };
    let wrong = |what: String| Failure::new(Exit::Failed, what).or_next("ade run … < /dev/null");
    let bytes = match read {
        Ok(Ok(bytes)) => bytes,
        Ok(Err(error)) => return Err(wrong(format!("cannot read standard input: {error}"))),
        Err(error) => return Err(wrong(format!("cannot read standard input: {error}"))),
    };
    if bytes.len() > RUN_STDIN_MAX_BYTES {
        let what = format!("standard input is larger than {RUN_STDIN_MAX_BYTES} bytes");
        return Err(wrong(what).detail("put it into a file and pass the file to the command"));
    }
    Ok(Some(bytes))
}

/// Quotes an argument for a shell.
pub fn quoted(argument: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c);
    if !argument.is_empty() && argument.chars().all(is_plain) {
        return argument.to_owned();
    }
    format!("'{}'", argument.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::args::{Cli, Command};

    fn args(more: &[&str]) -> RunArgs {
        let all = ["ade", "run", "--resource", "host:a", "--resource", "host:b=shared"];
        let all = all.iter().chain(more);
        let Command::Run(args) = Cli::try_parse_from(all).unwrap().command else { panic!() };
        *args
    }

    fn declaration(argv: &[&str], input: Option<&[u8]>) -> Declaration {
        Declaration {
            argv: argv.iter().map(|text| (*text).to_owned()).collect(),
            directory: PathBuf::from("/srv"),
            input: input.map(<[u8]>::to_vec),
        }
    }

    #[test]
    fn command_is_resolved_through_the_path() {
        let path = || Some(OsString::from("/usr/bin:/bin"));
        assert!(exists("sh", path()) && exists("/bin/sh", None));
        assert!(!exists("no-such-command", path()) && !exists("./sh", path()));
        assert!(!exists("sh", None) && !exists("", path()));
    }

    #[test]
    fn command_line_is_quoted_for_the_shell() {
        let line = |argv: &[&str]| declaration(argv, None).line();
        assert_eq!(line(&["psql", "-f", "a b.sql"]), "psql -f 'a b.sql'");
        assert_eq!(line(&["echo", "", "it's"]), r"echo '' 'it'\''s'");
    }

    #[test]
    fn task_without_a_preview_declares_irreversible_changes() {
        let run = args(&["--", "true"]);
        let plan = declaration(&["sh", "-c", "a\nb"], None).plan(&run);
        assert_eq!(plan.changes.len(), 2);
        for change in &plan.changes {
            assert!(change.irreversible);
            assert_eq!(change.summary, "sh -c 'a‹U+000A›b'");
        }
    }

    #[test]
    fn task_has_variable_names_but_no_values() {
        let run = args(&["--title", "T", "--", "true"]);
        let declared = declaration(&["true"], Some(b"x"));
        let task = declared.task(&run, declared.plan(&run));
        assert_eq!(task.title, "T");
        assert_eq!(task.parameters["argv"], json!(["true"]));
        assert_eq!(task.parameters["stdin"]["digest"], json!(Digest::of(b"x")));
        let path = std::env::var("PATH").unwrap();
        let json = serde_json::to_string(&task).unwrap();
        assert!(json.contains("\"PATH\"") && !json.contains(&path), "{json}");
    }

    #[test]
    fn long_command_gets_a_title_and_summary_that_fit() {
        let run = args(&["--", "true"]);
        let declared = declaration(&["echo", &"ß".repeat(5_000)], None);
        let task = declared.task(&run, declared.plan(&run));
        assert!(task.title.len() <= TASK_TITLE_MAX_BYTES);
        let summary = &task.plan.unwrap().changes[0].summary;
        assert!(summary.len() <= CHANGE_SUMMARY_MAX_BYTES);
    }
}
