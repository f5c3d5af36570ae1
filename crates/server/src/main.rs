//! The subcommands of `ade-server`, and nothing else.

use std::path::PathBuf;
use std::process::ExitCode;

use ade_server::config::Config;
use ade_server::run;
use clap::{Parser, Subcommand};

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
    /// Print the OpenAPI document; needs no database
    Openapi,
}

fn main() -> ExitCode {
    let Cli { config, command } = Cli::parse();
    let done =
        Config::load(config.as_deref()).map_err(Into::into).and_then(|config| match command {
            Command::Migrate { bootstrap } => run::migrate(&config, bootstrap.as_deref()),
            Command::Api => run::api(&config),
            Command::Worker => run::worker(&config),
            Command::All => run::all(&config),
            Command::Doctor => run::doctor(&config),
            Command::Openapi => run::openapi(&config),
        });
    match done {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {}", run::told_once(&error));
            ExitCode::FAILURE
        }
    }
}
