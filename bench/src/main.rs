//! Measures the whole system next to the bare engine below it: `cargo xtask bench <scenario>`. Each
//! scenario starts its own servers, alternates between the two, and prints one JSON object per row.
//! Not part of the product.

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
    /// One approval over HTTP, compared with the same rows as one bare statement
    Transition(transition::TransitionArgs),
    /// Permits compared with the bare rows, idle claimers, and full task lifecycles
    Permit(permit::PermitArgs),
    /// Inbox, lists, explanation and audit with 10 k tasks and with many more
    Query(query::QueryArgs),
    /// A replay over a month of tasks, and batches of two hundred answers
    Rules(rules::RulesArgs),
    /// Locks compared with the bare commands below them and with other locks on Redis
    Locks(locks::LocksArgs),
    /// Events from their commit to a socket, and the cost of sockets
    Relay(relay::RelayArgs),
    /// Locks while masters are killed, flushed and moved, judged by the history of all holders
    Failover(failover::FailoverArgs),
    /// One of the processes of `failover`
    #[command(hide = true)]
    Hold(failover::HolderArgs),
    /// Fill a migrated database with tasks
    Generate(generate::GenerateArgs),
    /// The server itself, for scenarios that need it as a separate process
    #[command(hide = true)]
    Serve {
        /// Whether background workers run next to the requests
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
