//! The command line of `ade-server`.

use std::path::PathBuf;
use std::process::ExitCode;

use ade_server::config::Config;
use ade_server::installation::{self, Moved};
use ade_server::{keys, policy_test, read_models, run};
use clap::{Args, Parser, Subcommand};
use rustix::process::{DumpableBehavior, Resource, Rlimit, set_dumpable_behavior, setrlimit};

#[derive(Debug, Parser)]
#[command(name = "ade-server", version, about = "The Community ADE server")]
struct Cli {
    /// Configuration file; environment variables such as `ADE__SERVER__LISTEN` override it
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Migrate the database schema as the owner of the tables; run this first
    Migrate {
        /// Create this tenant if it is new, and print a single-use token for its first admin
        #[arg(long, value_name = "TENANT")]
        bootstrap: Option<String>,
    },
    /// Run the HTTP API
    Api,
    /// Run the background workers
    Worker,
    /// Run `api` and `worker` in one process
    All,
    /// Check the configuration and the database, and report problems
    Doctor,
    /// Stop granting permits in all tenants, as the owner of the tables
    Freeze(Switch),
    /// Lift the freeze of the installation
    Thaw(Switch),
    /// Print the OpenAPI document; requires no database
    Openapi,
    /// Rebuild or check the read models in Redis
    #[command(subcommand)]
    ReadModels(ReadModelsCommand),
    /// Manage the keys that sign receipts
    #[command(subcommand)]
    Keys(KeysCommand),
    /// Test policy files; requires no configuration and no database
    #[command(subcommand)]
    Policy(PolicyCommand),
}

#[derive(Debug, Args)]
struct Switch {
    /// Reason, shown with every refused permit
    #[arg(long, value_name = "TEXT")]
    reason: String,
    /// Person who does this; defaults to the local account
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
    /// Rebuild the read models of every tenant from the database; safe while the server runs
    Rebuild,
    /// Compare the read models with the database and repair differences; exits 0 if there are none
    Check,
}

#[derive(Debug, Subcommand)]
enum KeysCommand {
    /// Create a key file readable only by its owner; never overwrites a file
    New {
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
}

#[derive(Debug, Subcommand)]
enum PolicyCommand {
    /// Run test cases against policies; exits 0 if all pass, 1 if not, 2 if a file is invalid
    Test {
        /// Policy file, or directory of policy files (.yaml, .yml, .json)
        #[arg(long, value_name = "PATH")]
        policies: PathBuf,
        /// File with the test cases and their expected results
        #[arg(long, value_name = "FILE")]
        cases: PathBuf,
    },
}

/// Disables core dumps and memory access by other processes, because memory contains secrets.
fn forbid_dumps() -> std::io::Result<()> {
    setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) })?;
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    Ok(())
}

fn main() -> ExitCode {
    if let Err(error) = forbid_dumps() {
        eprintln!("error: core dumps could not be disabled: {error}");
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
            eprintln!("error: {}", run::with_causes(&error));
            ExitCode::FAILURE
        }
    }
}
