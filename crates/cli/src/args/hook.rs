//! Arguments of `ade hook`.

use std::path::PathBuf;
use std::time::Duration;

use ade_api::tasks::TouchedResource;
use clap::{Args, Subcommand, ValueEnum};

use super::read::{apply_timeout, duration, touched};
use crate::hook::Host;

const GENERIC_HELP: &str = "\
The hook reads one JSON object from standard input:

  {\"session\": \"s-1\", \"tool\": \"deploy\", \"input\": {\"to\": \"prod\"}, \
\"cwd\": \"/srv/shop\"}

It writes one JSON object to standard output: \"decision\" (allow, deny, ask or none), \"reason\"
and the \"task\" under review. Run the tool only if the decision is allow. Treat any exit code
other than 0 as deny.

After the tool has ended, send the same object with its result. The locks of the task are held
until then:

  {\"event\": \"after\", \"session\": \"s-1\", \"tool\": \"deploy\", \"input\": {\"to\": \"prod\"},
   \"outcome\": \"succeeded\", \"output\": \"done\"}

\"outcome\" is succeeded, failed, timed_out or cancelled, the last three with an \"error\". Without
it, the result counts as unknown (released_to_host). A host that cannot send results uses
--no-report.";

#[derive(Debug, Subcommand)]
pub enum HookCommand {
    /// Check a tool call for Claude Code, or report its result
    ClaudeCode(HookArgs),
    /// Check a tool call for Codex, or report its result
    Codex(HookArgs),
    /// Check a tool call for any other agent host, or report its result
    #[command(after_help = GENERIC_HELP)]
    Generic(HookArgs),
    /// Add the hooks before and after a tool to the settings of an agent host; existing settings
    /// are kept
    Install(HookInstallArgs),
    /// Self-test the hooks; exits 0 if all forbidden calls are blocked and results are reported, 76
    /// otherwise
    Verify(HookVerifyArgs),
    /// Keep the locks of a running tool call; started by the hook before the tool
    #[command(hide = true)]
    Keep {
        /// Name of the call
        name: String,
    },
}

#[derive(Debug, Args)]
pub struct HookArgs {
    /// Resource that a tool call touches; can be repeated. Defaults to the working directory of
    /// the host
    #[arg(long, value_name = "TYPE:ID[=shared]", value_parser = touched)]
    pub resource: Vec<TouchedResource>,
    /// How long to wait for a decision before the call is denied
    #[arg(long, value_name = "DURATION", default_value = "45s", value_parser = duration)]
    pub wait: Duration,
    /// How long the host may take to run the tool. The locks are held until its result is
    /// reported; after this time they are released and the result counts as unknown
    #[arg(long, value_name = "DURATION", default_value = "30m", value_parser = apply_timeout)]
    pub tool_timeout: Duration,
    /// The host has no hook after a tool: locks are released when the tool is allowed, and its
    /// result counts as unknown
    #[arg(long)]
    pub no_report: bool,
    /// Decision while the server is unreachable
    #[arg(long, value_name = "ANSWER", default_value = "deny")]
    pub unreachable: Unreachable,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Unreachable {
    /// Deny the call
    Deny,
    /// Ask the user of the agent host
    Ask,
}

#[derive(Debug, Args)]
pub struct HookInstallArgs {
    /// Agent host
    #[arg(value_name = "HOST")]
    pub host: Host,
    /// Install for all projects of this user instead of the project in the current directory
    #[arg(long)]
    pub user: bool,
    /// Path of the settings file; defaults to where the host looks for it
    #[arg(long, value_name = "FILE", conflicts_with = "user")]
    pub settings: Option<PathBuf>,
    /// Print the resulting settings without writing them
    #[arg(long)]
    pub dry_run: bool,
}

#[derive(Debug, Args)]
pub struct HookVerifyArgs {
    /// Agent host
    #[arg(value_name = "HOST")]
    pub host: Host,
    /// Test the settings for all projects of this user
    #[arg(long)]
    pub user: bool,
    /// Path of the settings file; defaults to where the host looks for it
    #[arg(long, value_name = "FILE", conflicts_with = "user")]
    pub settings: Option<PathBuf>,
}
