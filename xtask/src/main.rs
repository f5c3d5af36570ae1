//! The entry point for developers: `cargo xtask <command>`. Each command is one module; this file
//! only lists them. Not part of the product.

mod advisories;
mod bench;
mod check;
mod ci;
mod demo;
mod deny;
mod flaky;
mod generate;
mod graph;
mod junit;
mod ledger;
mod lockfile;
mod migrations;
mod modules;
mod mutants;
mod mutants_lua;
mod nightly;
mod npm;
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

use crate::ledger::StepOutcome;

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
    /// Write every generated file
    Gen(generate::GenerateArgs),
    /// Check the rules of this repository that no linter checks
    Tidy(tidy::TidyArgs),
    /// Compare the locked versions with the snapshot of the Rust advisory database
    Advisories(advisories::AdvisoriesArgs),
    /// Check licences, bans and sources of every dependency against deny.toml
    Deny,
    /// Run the tests of the workspace; arguments are passed to the test runner
    Test(test::TestArgs),
    /// Manage a PostgreSQL and a Redis Cluster for development, under `.stack/`
    #[command(subcommand)]
    Stack(stack::Stack),
    /// Run a demo company: the server, its stack, people, policies and busy agents
    Demo,
    /// Run everything that a merge needs, in tiers, with the time of each
    Ci,
    /// Mutate the core and count the mutants that the tests catch
    Mutants(mutants::MutantsArgs),
    /// Remove each line of the lock scripts in turn and count what the tests catch
    MutantsLua(mutants_lua::MutantsLuaArgs),
    /// Test the running server with generated requests for its OpenAPI document
    Schemathesis(schemathesis::SchemathesisArgs),
    /// Compare the contents of a Redis Cluster with the catalogue of keys
    #[command(subcommand)]
    RedisKeys(redis_keys::RedisKeys),
    /// Measure the system next to the bare engines below it
    Bench(bench::BenchArgs),
    /// Run the checks of the dashboard, with node
    Web(web::WebArgs),
    /// Write what each shipped program is built from, as `CycloneDX` documents
    Sbom,
    /// Run the tests that prove that known attacks fail
    Threats(threats::ThreatsArgs),
    /// Run tests that are too long for CI, bounded in minutes, with a report
    Soak(soak::SoakArgs),
    /// Repeat tests, next to a CPU hog if wanted, and report what failed how often
    Flaky(flaky::FlakyArgs),
    /// Run the suites that are too long for CI, in pieces, and write a report
    Nightly(nightly::NightlyArgs),
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
        Command::Tidy(args) => tidy::run(&root, &args)?,
        Command::Advisories(args) => advisories::run(&root, &args)?,
        Command::Deny => deny::run(&root)?,
        Command::Test(args) => test::run(&root, &args)?,
        Command::Demo => demo::run(&root)?,
        Command::Ci => ci::run(&root)?,
        Command::Mutants(args) => mutants::run(&root, &args)?,
        Command::MutantsLua(args) => mutants_lua::run(&root, &args)?,
        Command::Schemathesis(args) => {
            if let StepOutcome::Skipped(why) = schemathesis::run(&root, &args)? {
                anyhow::bail!("{why}: `pip install schemathesis`, or point ADE_TOOLS at it");
            }
        }
        Command::Bench(args) => bench::run(&root, &args)?,
        Command::Web(args) => {
            if let StepOutcome::Skipped(why) = web::run(&root, &args)? {
                anyhow::bail!("{why}");
            }
        }
        Command::Sbom => sbom::run(&root)?,
        Command::Threats(args) => threats::run(&root, &args)?,
        Command::Soak(args) => soak::run(&root, &args)?,
        Command::Flaky(args) => flaky::run(&root, &args)?,
        Command::Nightly(args) => nightly::run(&root, &args)?,
        Command::RedisKeys(command) => return Ok(redis_keys::run(&root, &command)),
        // The command has printed everything itself: a service that does not run is a result, not
        // an error.
        Command::Stack(command) => return Ok(stack::run(command, &root)),
    }
    Ok(ExitCode::SUCCESS)
}
