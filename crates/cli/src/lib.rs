//! The command-line program `ade`: commands, exit codes, errors and tables. The server alone
//! decides what is allowed.

mod agents;
mod api;
pub mod args;
mod audit;
mod browser;
mod can_i;
mod changes;
mod completion;
mod config;
mod context;
mod decide;
mod delegations;
mod doctor;
mod events;
pub mod exit;
mod failure;
mod hook;
mod inbox;
mod locks;
mod login;
mod look;
mod mcp;
mod output;
mod people;
mod policies;
mod progress;
mod proposal;
mod reading;
mod rules;
mod run;
mod screen;
mod settings;
mod tasks;
mod text;
mod timeouts;
mod webhooks;

use std::process::ExitCode;

use args::{Cli, Command};
use clap::Parser as _;
use clap::error::ErrorKind;
use clap_complete::CompleteEnv;
use context::Context;
use exit::Exit;
use failure::Failure;
use output::Output;

/// The number of runtime threads: one copies output while the other keeps the lease alive.
const THREADS: usize = 2;

pub fn run() -> ExitCode {
    CompleteEnv::with_factory(args::command).var(completion::VARIABLE).complete();
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return refuse(&error),
    };
    let context = Context { output: Output::new(&cli.output), profile: cli.profile };
    let command = cli.command;
    let done = runtime().and_then(|runtime| {
        let done = runtime.block_on(dispatch(command, &context));
        // A thread that blocks on reading the terminal must not delay the exit.
        runtime.shutdown_background();
        done
    });
    let exit = done.unwrap_or_else(|failure| {
        context.output.fail(&failure);
        failure.exit
    });
    ExitCode::from(exit.code())
}

/// Prints a parser error. Help and version exit with success, everything else with a usage error.
fn refuse(error: &clap::Error) -> ExitCode {
    let _ = error.print();
    let is_asked = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
    ExitCode::from(if is_asked { Exit::Done.code() } else { Exit::Usage.code() })
}

fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(THREADS)
        .enable_all()
        .build()
        .map_err(|error| Failure::new(Exit::Failed, format!("cannot start: {error}")))
}

async fn dispatch(command: Command, cx: &Context) -> Result<Exit, Failure> {
    match command {
        Command::Login(args) => login::login(&args, cx).await,
        Command::Logout => login::logout(cx).await,
        Command::Whoami => login::whoami(cx).await,
        Command::Profiles(command) => login::profiles(&command, cx),
        Command::Config(command) => config::config(command, cx),
        Command::Tasks(command) => tasks::run(command, cx).await,
        Command::Run(args) => run::run(*args, cx).await,
        Command::Watch(args) => tasks::watch(&args, cx).await,
        Command::Inbox(args) => inbox::inbox(&args, cx).await,
        Command::Approve(args) => decide::approve(args, cx).await,
        Command::Reject(args) => decide::reject(args, cx).await,
        Command::RequestChanges(args) => decide::request_changes(args, cx).await,
        Command::Withdraw(args) => decide::withdraw(&args, cx).await,
        Command::Locks(command) => locks::run(command, cx).await,
        Command::Agents(command) => agents::run(command, cx).await,
        Command::Policies(command) => policies::run(command, cx).await,
        Command::Changes(command) => changes::run(command, cx).await,
        Command::CanI(command) => can_i::run(&command, cx).await,
        Command::Delegations(command) => delegations::run(command, cx).await,
        Command::Audit(command) => audit::run(command, cx).await,
        Command::Risk(command) => rules::risk(&command, cx).await,
        Command::Timeouts(command) => timeouts::timeouts(command, cx).await,
        Command::Freeze(args) => rules::freeze(args, cx).await,
        Command::Unfreeze(args) => rules::unfreeze(&args, cx).await,
        Command::Freezes(command) => rules::freezes(&command, cx).await,
        Command::Webhooks(command) => webhooks::run(command, cx).await,
        Command::Events(command) => events::run(command, cx).await,
        Command::Users(command) => people::users(&command, cx).await,
        Command::Tokens(command) => people::tokens(command, cx).await,
        Command::Hook(command) => hook::run(command, cx).await,
        Command::Mcp => mcp::mcp(cx).await,
        Command::Doctor => doctor::doctor(cx).await,
        Command::Api(args) => api::api(args, cx).await,
        Command::Completion(args) => completion::completion(&args),
    }
}
