//! Measures the whole system beside the bare engine below it: `cargo xtask bench <scenario>`.
//! Each scenario starts its own servers, takes turns between the two, and prints one JSON object
//! per row. Nothing here is part of the product.

mod bare;
mod client;
mod failover;
mod figure;
mod generate;
mod installation;
mod load;
mod locks;
mod peer;
mod permit;
mod probe;
mod query;
mod relay;
mod rules;
mod seed;
mod transition;
mod wire;

use std::process::ExitCode;

use ade_server::config::Config;
use ade_server::run;
use anyhow::Result;
use clap::{Parser, Subcommand};

#[derive(Debug, Parser)]
#[command(name = "ade-bench", about = "The system beside the bare engine, in one run")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// One approval over HTTP against the same rows as one bare statement
    Transition(transition::Args),
    /// Permits beside the bare rows, idle claimers, and whole lives of tasks
    Permit(permit::Args),
    /// Inbox, lists, explanation and audit at 10 k tasks and at many more
    Query(query::Args),
    /// A replay over a month of tasks, and answers by the two hundred
    Rules(rules::Args),
    /// Locks beside the bare commands below them and beside others that lock on Redis
    Locks(locks::Args),
    /// Events from their commit to a socket, and what sockets cost
    Relay(relay::Args),
    /// Locks while masters are killed, emptied and moved, judged by what all holders saw
    Failover(failover::Args),
    /// One of its processes
    #[command(hide = true)]
    Hold(failover::HolderArgs),
    /// Fill a migrated database with tasks
    Generate(generate::Args),
    /// The server itself, for a scenario that wants it as a process of its own
    #[command(hide = true)]
    Serve {
        /// Whether workers run beside the requests
        #[arg(long)]
        workers: bool,
    },
}

fn main() -> ExitCode {
    match start(Cli::parse().command) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn start(command: Command) -> Result<ExitCode> {
    match command {
        Command::Transition(args) => measure(transition::run(&args)),
        Command::Permit(args) => measure(permit::run(&args)),
        Command::Query(args) => measure(query::run(&args)),
        Command::Rules(args) => measure(rules::run(&args)),
        Command::Locks(args) => measure(locks::run(&args)),
        Command::Relay(args) => measure(relay::run(&args)),
        Command::Failover(args) => measure(failover::run(&args)),
        Command::Hold(args) => measure(failover::hold(&args)),
        Command::Generate(args) => measure(generate::start(&args)),
        Command::Serve { workers } => {
            let config = Config::load(None)?;
            if workers { run::all(&config) } else { run::api(&config) }
        }
    }
}

fn measure(scenario: impl Future<Output = Result<()>>) -> Result<ExitCode> {
    tokio::runtime::Runtime::new()?.block_on(scenario)?;
    Ok(ExitCode::SUCCESS)
}
