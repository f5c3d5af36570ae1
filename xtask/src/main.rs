//! The one entry for developers: `cargo xtask <command>`. Each command is one module; this
//! file only names them. Nothing here is part of the product.

mod bench;
mod check;
mod ci;
mod demo;
mod deny;
mod generate;
mod ledger;
mod mutants;
mod mutants_lua;
mod paint;
mod redis_keys;
mod report;
mod sbom;
mod schemathesis;
mod shell;
mod soak;
mod stack;
mod test;
mod threats;
mod tidy;
mod tree;
mod web;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

use crate::ledger::Outcome;

#[derive(Debug, Parser)]
#[command(bin_name = "cargo xtask", about = "Checks, generation and CI of this repository")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Format, tidy, generated files, dependencies, spelling, shell scripts, clippy
    Check,
    /// Write every generated file again
    Gen(generate::Args),
    /// The rules of this repository that no linter knows
    Tidy,
    /// Licences, bans and sources of every dependency, as deny.toml says
    Deny,
    /// Run the tests of the workspace; arguments go to the test runner
    Test(test::Args),
    /// A PostgreSQL and a Redis Cluster for development, under `.stack/`
    #[command(subcommand)]
    Stack(stack::Stack),
    /// A company to look around in: the server, its stack, people, rules and busy agents
    Demo,
    /// Everything a merge needs, in tiers, with the time of each
    Ci,
    /// Break the rules of the core on purpose and count what the tests notice
    Mutants(mutants::Args),
    /// Leave out every line of the lock scripts in turn and count what the tests notice
    MutantsLua(mutants_lua::Args),
    /// Try the OpenAPI document against the running server with made-up requests
    Schemathesis(schemathesis::Args),
    /// What lies in a Redis Cluster, against the catalogue of keys
    #[command(subcommand)]
    RedisKeys(redis_keys::RedisKeys),
    /// Measure the system beside the bare engines below it
    Bench(bench::Args),
    /// The checks of the dashboard, with node
    Web(web::Args),
    /// What each program that is shipped is made of, as `CycloneDX` documents
    Sbom,
    /// What somebody could try, and the tests that prove that it does not work
    Threats(threats::Args),
    /// Tests too long for CI, bounded in minutes, with a report
    Soak(soak::Args),
}

fn main() -> ExitCode {
    match run(Cli::parse().command) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("{} {error:#}", paint::red("error:"));
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> Result<ExitCode> {
    let root = shell::root()?;
    match command {
        Command::Check => check::run(&root)?,
        Command::Gen(args) => generate::run(&root, &args)?,
        Command::Tidy => tidy::run(&root)?,
        Command::Deny => deny::run(&root)?,
        Command::Test(args) => test::run(&root, &args)?,
        Command::Demo => demo::run(&root)?,
        Command::Ci => ci::run(&root)?,
        Command::Mutants(args) => mutants::run(&root, &args)?,
        Command::MutantsLua(args) => mutants_lua::run(&root, &args)?,
        Command::Schemathesis(args) => {
            if let Outcome::Skipped(why) = schemathesis::run(&root, &args)? {
                anyhow::bail!("{why}: `pip install schemathesis`, or point ADE_TOOLS at it");
            }
        }
        Command::Bench(args) => bench::run(&root, &args)?,
        Command::Web(args) => {
            if let Outcome::Skipped(why) = web::run(&root, &args)? {
                anyhow::bail!("{why}");
            }
        }
        Command::Sbom => sbom::run(&root)?,
        Command::Threats(args) => threats::run(&root, &args)?,
        Command::Soak(args) => soak::run(&root, &args)?,
        Command::RedisKeys(command) => return Ok(redis_keys::run(&root, &command)),
        // Has told everything itself: something that does not run is an answer, not an error.
        Command::Stack(command) => return Ok(stack::run(command, &root)),
    }
    Ok(ExitCode::SUCCESS)
}
