//! The declaration that reviewers approve: the exact command, what it depends on, its environment
//! and the hash of its input.

use std::io::Read as _;
use std::os::fd::AsFd as _;

use ade_api::tasks::{Change, NewTask, Plan, Rollback};
use ade_client::Client;
use ade_core::change::{ChangeKind, Digest};
use ade_core::limits::{
    CHANGE_SUMMARY_MAX_BYTES, RUN_STDIN_MAX_BYTES, RUN_STDIN_PATIENCE, TASK_TITLE_MAX_BYTES,
};
use rustix::fs::{FileType, fstat};
use serde_json::{Map, Value, json};
use tokio::time::timeout;

use super::binding::Binding;
use super::environment::Environment;
use super::program::Program;
use crate::args::RunArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::progress::Progress;
use crate::text::{quoted, shortened, visible};

/// The code of a command that is not run because something it depends on has changed.
const CHANGED: &str = "command_changed";

#[derive(Debug, Clone)]
pub struct Declaration {
    pub argv: Vec<String>,
    /// Files that the command reads without naming them.
    further: Vec<String>,
    binding: Binding,
    pub environment: Environment,
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
        let mut declared = Self {
            argv: arguments.collect::<Result<Vec<String>, Failure>>()?,
            further: args.files.clone(),
            binding: Binding::default(),
            environment: Environment::select(&args.environment, std::env::vars_os())?,
            input: None,
        };
        // Fail before the review instead of after it.
        let look = declared.look().await;
        (declared.binding, _) = look.map_err(|failure| failure.advice("No task was created."))?;
        declared.input = input(progress).await?;
        Ok(declared)
    }

    /// Reads what the command depends on.
    async fn look(&self) -> Result<(Binding, Program), Failure> {
        let (argv, further) = (self.argv.clone(), self.further.clone());
        let path = self.environment.path().map(ToOwned::to_owned);
        let looked =
            tokio::task::spawn_blocking(move || Binding::gather(&argv, &further, path.as_deref()));
        looked.await.unwrap_or_else(|error| {
            Err(Failure::new(Exit::Failed, format!("cannot read the command: {error}")))
        })
    }

    /// Opens the program again, and refuses if anything differs from what was approved.
    pub async fn reopen(&self) -> Result<Program, Failure> {
        let changed = |detail: String| {
            Failure::new(Exit::Drifted, "the command is not what was approved")
                .code(CHANGED)
                .detail(format!("{detail}; the command did not run, and its task is cancelled"))
                .advice("Find out who changed it. Then propose the command again.")
        };
        let (now, program) = self.look().await.map_err(|failure| changed(failure.what()))?;
        match self.binding.difference(&now) {
            Some(difference) => Err(changed(difference)),
            None => Ok(program),
        }
    }

    /// Returns the command line as typed in a shell.
    pub fn line(&self) -> String {
        self.argv.iter().map(|argument| quoted(argument)).collect::<Vec<_>>().join(" ")
    }

    pub fn task(&self, args: &RunArgs, plan: Plan, client: &Client) -> NewTask {
        let title = args.title.clone().unwrap_or_else(|| visible(&self.line()));
        NewTask {
            title: shortened(&title, TASK_TITLE_MAX_BYTES),
            task_type: args.task_type.clone(),
            parameters: self.parameters(args, client),
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

    fn parameters(&self, args: &RunArgs, client: &Client) -> Value {
        let input = self
            .input
            .as_ref()
            .map(|bytes| json!({ "digest": Digest::of(bytes), "bytes": bytes.len() }));
        let environment = self.environment.declared(|name, value| client.keyed_hash(name, value));
        let members = [
            ("argv", json!(self.argv)),
            ("environment", json!(environment)),
            ("stdin", json!(input)),
            ("preview", json!(args.preview)),
        ];
        let mut parameters: Map<String, Value> =
            members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        self.binding.declare(&mut parameters);
        Value::Object(parameters)
    }

    /// Returns the plan of a command without a preview: any irreversible change to its resources.
    pub fn plan(&self, args: &RunArgs) -> Plan {
        let summary = visible(&self.line());
        let changes = args.resources.iter().map(|touched| Change {
            resource: touched.resource.clone(),
            action: ChangeKind::Change,
            irreversible: true,
            summary: shortened(&summary, CHANGE_SUMMARY_MAX_BYTES),
            rows: None,
            before: None,
            after: None,
        });
        Plan { changes: changes.collect(), warnings: Vec::new() }
    }
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
        let variable = |name: &str, value: &str| (name.into(), value.into());
        let all = [variable("PATH", "/bin"), variable("PASSWORD", "hunter2")];
        Declaration {
            argv: argv.iter().map(|text| (*text).to_owned()).collect(),
            further: Vec::new(),
            binding: Binding { directory: "/srv".to_owned(), ..Binding::default() },
            environment: Environment::select(&["PASSWORD".to_owned()], all).unwrap(),
            input: input.map(<[u8]>::to_vec),
        }
    }

    fn client(token: &str) -> Client {
        Client::new("http://127.0.0.1:1", token).unwrap()
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
    fn task_shows_what_the_command_depends_on() {
        let run = args(&["--title", "T", "--", "true"]);
        let declared = declaration(&["true"], Some(b"x"));
        let task = |token| declared.task(&run, declared.plan(&run), &client(token));
        let one = task("a");
        assert_eq!(one.title, "T");
        assert_eq!(one.parameters["argv"], json!(["true"]));
        assert_eq!(one.parameters["directory"], json!("/srv"));
        assert_eq!(one.parameters["stdin"]["digest"], json!(Digest::of(b"x")));
        let secret = &one.parameters["environment"][0];
        assert_eq!((&secret["name"], &secret["bytes"]), (&json!("PASSWORD"), &json!(7)));
        assert!(!serde_json::to_string(&one).unwrap().contains("hunter2"));
        // The hash is repeatable with the token, and only with it.
        assert_eq!(one.parameters, task("a").parameters);
        assert_ne!(secret["hash"], task("b").parameters["environment"][0]["hash"]);
    }

    #[test]
    fn long_command_gets_a_title_and_summary_that_fit() {
        let run = args(&["--", "true"]);
        let declared = declaration(&["echo", &"ß".repeat(5_000)], None);
        let task = declared.task(&run, declared.plan(&run), &client("a"));
        assert!(task.title.len() <= TASK_TITLE_MAX_BYTES);
        let summary = &task.plan.unwrap().changes[0].summary;
        assert!(summary.len() <= CHANGE_SUMMARY_MAX_BYTES);
        for text in [&task.title, summary] {
            assert!(text.ends_with(" of 5,007 characters)"), "{text}");
        }
    }
}
