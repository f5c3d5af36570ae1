//! `ade hook` on the command line.

use std::path::PathBuf;
use std::time::Duration;

use ade_api::tasks::TouchedResource;
use clap::{Args, Subcommand, ValueEnum};

use super::read::{duration, touched};
use crate::hook::Host;

const GENERIC_TOLD: &str = "\
Standard input holds one object:

  {\"session\": \"s-1\", \"tool\": \"deploy\", \"input\": {\"to\": \"prod\"}, \
\"cwd\": \"/srv/shop\"}

and standard output gets one: \"decision\" is allow, deny, ask or none, with a \"reason\" and the
\"task\" that people decide about. Run the tool after allow only. Whatever ends with another code
than 0 is a no.";

#[derive(Debug, Subcommand)]
pub enum HookCommand {
    /// Answer Claude Code before it runs a tool
    ClaudeCode(HookArgs),
    /// Answer Codex before it runs a tool
    Codex(HookArgs),
    /// Answer any other host before it runs a tool
    #[command(after_help = GENERIC_TOLD)]
    Generic(HookArgs),
    /// Write the hook into the settings of a host, beside what stands there
    Install(HookInstallArgs),
    /// Fire calls that must not get through: ends with 0 if the boundary holds and 76 if not
    Verify(HookVerifyArgs),
}

#[derive(Debug, Args)]
pub struct HookArgs {
    /// What a call touches; may be given several times. The folder that the host works in if left
    /// out
    #[arg(long, value_name = "TYPE:ID[=shared]", value_parser = touched)]
    pub resource: Vec<TouchedResource>,
    /// How long to wait for people before the call is denied for now
    #[arg(long, value_name = "DURATION", default_value = "45s", value_parser = duration)]
    pub wait: Duration,
    /// What to answer while the server cannot be reached
    #[arg(long, value_name = "ANSWER", default_value = "deny")]
    pub unreachable: Unreachable,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Unreachable {
    /// Nothing runs that nobody agreed to
    Deny,
    /// The person at the host says
    Ask,
}

#[derive(Debug, Args)]
pub struct HookInstallArgs {
    #[arg(value_name = "HOST")]
    pub host: Host,
    /// For all projects of this user, not only for the one in this folder
    #[arg(long)]
    pub user: bool,
    /// Another file than the one the host looks for
    #[arg(long, value_name = "FILE", conflicts_with = "user")]
    pub settings: Option<PathBuf>,
    /// Print what would be written
    #[arg(long)]
    pub dry_run: bool,
}

#[derive(Debug, Args)]
pub struct HookVerifyArgs {
    #[arg(value_name = "HOST")]
    pub host: Host,
    /// The settings for all projects of this user
    #[arg(long)]
    pub user: bool,
    /// Another file than the one the host looks for
    #[arg(long, value_name = "FILE", conflicts_with = "user")]
    pub settings: Option<PathBuf>,
}
