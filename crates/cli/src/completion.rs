//! Shell completion of commands and of IDs, which are queried from the server. Completion has a
//! short timeout and hides errors, so that pressing Tab never disturbs the user.

use std::ffi::OsStr;
use std::future::Future;
use std::time::Duration;

use ade_api::page::PageQuery;
use ade_client::{Client, Error, TaskFilter};
use clap_complete::engine::CompletionCandidate;
use clap_complete::env::{Bash, Elvish, EnvCompleter, Fish, Powershell, Zsh};
use clap_complete::{Shell, generate};

use crate::args::{self, CompletionArgs};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::settings;
use crate::text::{cut, visible};

/// How long a shell completion waits for names from the server.
const CLI_COMPLETION_TIMEOUT: Duration = Duration::from_millis(250);
/// The maximum number of names that one completion offers.
const CLI_COMPLETION_MAX: usize = 50;

/// The environment variable with which a shell requests completions.
pub const VARIABLE: &str = "COMPLETE";
const PROGRAM: &str = "ade";
/// The maximum length of the description next to an ID.
const HELP_CHARS: usize = 48;

pub fn completion(args: &CompletionArgs) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    if args.is_static {
        generate(args.shell, &mut args::command(), PROGRAM, &mut script);
    } else {
        let shell: &dyn EnvCompleter = match args.shell {
            Shell::Zsh => &Zsh,
            Shell::Fish => &Fish,
            Shell::Elvish => &Elvish,
            Shell::PowerShell => &Powershell,
            _ => &Bash,
        };
        let written = shell.write_registration(VARIABLE, PROGRAM, PROGRAM, PROGRAM, &mut script);
        written.map_err(|error| Failure::new(Exit::Failed, format!("cannot write: {error}")))?;
    }
    let _ = std::io::Write::write_all(&mut std::io::stdout().lock(), &script);
    Ok(Exit::Done)
}

/// An ID and its description.
type Known = (String, String);

fn ask<F, A>(current: &OsStr, question: F) -> Vec<CompletionCandidate>
where
    F: FnOnce(Client) -> A,
    A: Future<Output = Result<Vec<Known>, Error>>,
{
    let Ok(client) = settings::client(None, CLI_COMPLETION_TIMEOUT) else { return Vec::new() };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let Ok(runtime) = runtime else { return Vec::new() };
    let asked = async { tokio::time::timeout(CLI_COMPLETION_TIMEOUT, question(client)).await };
    let Ok(Ok(found)) = runtime.block_on(asked) else { return Vec::new() };
    let begun = current.to_string_lossy();
    let fitting = found.into_iter().filter(|(id, _)| id.starts_with(begun.as_ref()));
    let candidate = |(id, what): Known| {
        CompletionCandidate::new(id).help(Some(cut(&visible(&what), HELP_CHARS).into()))
    };
    fitting.take(CLI_COMPLETION_MAX).map(candidate).collect()
}

fn page() -> PageQuery {
    PageQuery { page_size: u32::try_from(CLI_COMPLETION_MAX).ok(), page_token: None }
}

pub fn tasks(current: &OsStr) -> Vec<CompletionCandidate> {
    ask(current, async |client| {
        let found = client.tasks().list(&TaskFilter::default(), &page()).await?;
        let known = |task: ade_api::tasks::TaskSummary| {
            (task.id.to_string(), format!("{} · {}", task.state, task.title))
        };
        Ok(found.items.into_iter().map(known).collect())
    })
}

pub fn requests(current: &OsStr) -> Vec<CompletionCandidate> {
    ask(current, async |client| {
        let found = client.approvals().inbox(None, &page()).await?;
        let known = |one: ade_api::approvals::Approval| (one.task.id.to_string(), one.task.title);
        Ok(found.items.into_iter().map(known).collect())
    })
}

pub fn agents(current: &OsStr) -> Vec<CompletionCandidate> {
    ask(current, async |client| {
        let found = client.agents().list(&page()).await?;
        Ok(found.items.into_iter().map(|agent| (agent.id.to_string(), agent.name)).collect())
    })
}

pub fn resources(current: &OsStr) -> Vec<CompletionCandidate> {
    ask(current, async |client| {
        let found = client.locks().list(&page()).await?;
        let known = |lock: ade_api::locks::Lock| {
            let says = format!("{} holding, {} waiting", lock.holding, lock.waiting);
            (lock.resource.to_string(), says)
        };
        Ok(found.items.into_iter().map(known).collect())
    })
}
