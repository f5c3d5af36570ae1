//! The subcommands of `ade-server`, and nothing else.

use std::path::PathBuf;
use std::process::ExitCode;

use ade_server::config::Config;
use ade_server::installation::{self, Moved};
use ade_server::{keys, policy_test, read_models, run};
use clap::{Args, Parser, Subcommand};
use rustix::process::{DumpableBehavior, Resource, Rlimit, set_dumpable_behavior, setrlimit};

#[derive(Debug, Parser)]
#[command(name = "ade-server", version, about = "The server of Community ADE")]
struct Cli {
    /// Settings that differ from the defaults; the environment (`ADE__SERVER__LISTEN`) comes last
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Bring the tables up to date, as their owner; the first thing to run
    Migrate {
        /// Make this tenant if it is new, and print a token for its first admin that works once
        #[arg(long, value_name = "TENANT")]
        bootstrap: Option<String>,
    },
    /// Answer requests over HTTP
    Api,
    /// Open reviews, let tasks expire, make partitions, prune
    Worker,
    /// `api` and `worker` in one process
    All,
    /// Check the settings and the database, and say what to do
    Doctor,
    /// Give no permit in any tenant from now on, as the owner of the tables; all else goes on
    Freeze(Switch),
    /// Give permits again
    Thaw(Switch),
    /// Print the OpenAPI document; needs no database
    Openapi,
    /// The copies in Redis that reads are answered from
    #[command(subcommand)]
    ReadModels(ReadModelsCommand),
    /// Keys that receipts are signed with
    #[command(subcommand)]
    Keys(KeysCommand),
    /// Try policies out where they are written; needs no settings and no database
    #[command(subcommand)]
    Policy(PolicyCommand),
}

#[derive(Debug, Args)]
struct Switch {
    /// Why, for everybody who is refused a permit meanwhile
    #[arg(long, value_name = "TEXT")]
    reason: String,
    /// Who does it; the account at this machine if left out
    #[arg(long, value_name = "NAME")]
    by: Option<String>,
}

impl From<Switch> for Moved {
    fn from(Switch { reason, by }: Switch) -> Self {
        Self { reason, by }
    }
}

#[derive(Debug, Subcommand)]
enum ReadModelsCommand {
    /// Write those of every tenant anew from the record, beside whatever runs
    Rebuild,
    /// Hold all of them against the record, and write anew what differs; ends with 0 if nothing did
    Check,
}

#[derive(Debug, Subcommand)]
enum KeysCommand {
    /// Make a key in a file that only its owner can read; refuses to write over another
    New {
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
}

#[derive(Debug, Subcommand)]
enum PolicyCommand {
    /// Ask policies about cases; ends with 0 if all is as expected, 1 if not, 2 if a file is wrong
    Test {
        /// A policy, or a directory of them (.yaml, .yml, .json)
        #[arg(long, value_name = "PATH")]
        policies: PathBuf,
        /// The tasks to ask about, and what must come of each
        #[arg(long, value_name = "FILE")]
        cases: PathBuf,
    },
}

/// What is in memory is written nowhere, whatever ends this process: not even the owner of its
/// account may look inside.
fn forbid_dumps() -> std::io::Result<()> {
    setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) })?;
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    Ok(())
}

fn main() -> ExitCode {
    if let Err(error) = forbid_dumps() {
        eprintln!("error: this process could leave what it knows in a core file: {error}");
        return ExitCode::FAILURE;
    }
    let Cli { config, command } = Cli::parse();
    let load = || Config::load(config.as_deref()).map_err(Into::into);
    let done = match command {
        Command::Policy(PolicyCommand::Test { policies, cases }) => {
            return policy_test::run(&policies, &cases);
        }
        Command::Keys(KeysCommand::New { file }) => keys::new(&file),
        Command::ReadModels(ReadModelsCommand::Rebuild) => {
            load().and_then(|config| read_models::rebuild(&config))
        }
        Command::ReadModels(ReadModelsCommand::Check) => {
            load().and_then(|config| read_models::check(&config))
        }
        Command::Migrate { bootstrap } => {
            load().and_then(|config| run::migrate(&config, bootstrap.as_deref()))
        }
        Command::Api => load().and_then(|config| run::api(&config)),
        Command::Worker => load().and_then(|config| run::worker(&config)),
        Command::All => load().and_then(|config| run::all(&config)),
        Command::Doctor => load().and_then(|config| run::doctor(&config)),
        Command::Freeze(switch) => {
            load().and_then(|config| installation::freeze(&config, switch.into()))
        }
        Command::Thaw(switch) => {
            load().and_then(|config| installation::thaw(&config, switch.into()))
        }
        Command::Openapi => load().and_then(|config| run::openapi(&config)),
    };
    match done {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {}", run::told_once(&error));
            ExitCode::FAILURE
        }
    }
}
