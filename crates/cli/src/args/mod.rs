//! Defines every command and option. Help, usage errors, completion, the man page and the CLI
//! reference are generated from these definitions. Each file covers a group of nouns.

mod agents;
mod changes;
mod groups;
mod hook;
mod locks;
mod pending_changes;
mod policies;
mod read;
mod rest;
mod tasks;

use std::ffi::OsString;
use std::time::Duration;

use ade_api::tasks::TouchedResource;
use clap::{Args, CommandFactory as _, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

pub use agents::*;
pub use changes::*;
pub use hook::*;
pub use locks::*;
pub use pending_changes::*;
pub use policies::*;
pub use read::Asked;
use read::{apply_timeout, duration, touched, ttl, variable};
pub use rest::*;
pub use tasks::*;

use crate::exit;

const RUN_HELP: &str = "\
The command waits until the task is approved and its resources are locked. It then runs in its own
process group. Its program and the files that its arguments name are hashed before the review; if
one has changed when the command would start, the command does not run.

Its environment has HOME, LANG, LANGUAGE, LC_*, LOGNAME, PATH, SHELL, TERM, TMPDIR, TZ, USER and the
variables of --env. These are added:

  ADE_TASK, ADE_EXECUTION    IDs of the task and of this execution
  ADE_TOKEN_FENCE            fencing token of this execution; it increases with every execution
  ADE_FENCE_<TYPE>_<ID>      fencing token of a resource, such as ADE_FENCE_DATABASE_ORDERS
  ADE_FENCES                 fencing tokens of all resources as JSON, by exact resource name
  ADE_RECEIPT_FD             descriptor with the signed permit, for targets that verify it
  ADE_PROGRAM                path of the program; a script sees a sealed copy in $0

Ctrl-C before the command runs cancels the task. While the command runs, the first Ctrl-C sends it
SIGINT and the task is reported as failed; the second Ctrl-C kills it.";

const LOGIN_HELP: &str = "\
Without --token, the command prints a URL and a code and waits up to ten minutes. Open the URL in a
browser where you are signed in, compare the code and confirm. With `-o json`, the command writes
one line with the code to standard output, and a second line with your identity after login.";

const MCP_HELP: &str = "\
Agent hosts start this command themselves. Add it to the settings of the host:

  {\"mcpServers\": {\"ade\": {\"command\": \"ade\", \"args\": [\"mcp\"]}}}

The tools use the token in ADE_TOKEN, or else the one stored by `ade login`. Use an agent's token.
They can propose, wait, lock and apply; none of them can approve. Changes and locks that they start
are kept alive while this command runs, within their timeout.";

#[derive(Debug, Parser)]
#[command(name = "ade", version, about = "Propose, review and apply changes from the command line")]
#[command(help_template = groups::template(), after_help = exit::help())]
#[command(disable_help_subcommand = true)]
#[command(arg_required_else_help = false, subcommand_required = true)]
pub struct Cli {
    #[command(flatten)]
    pub output: OutputArgs,
    /// Profile (server and token) to use; see `ade profiles list`
    #[arg(long, global = true, value_name = "NAME", help_heading = "Global options")]
    pub profile: Option<String>,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Global options")]
pub struct OutputArgs {
    /// Output format: table, wide, json, jsonl, yaml, name or csv
    #[arg(
        long,
        short,
        global = true,
        value_name = "FORMAT",
        default_value = "table",
        hide_possible_values = true
    )]
    pub output: Format,
    /// Print JSON, including errors; same as `-o json`
    #[arg(long, global = true, conflicts_with = "output")]
    pub json: bool,
    /// Filter the JSON output with a jq expression; strings are printed raw, one per line
    #[arg(long, global = true, value_name = "FILTER")]
    pub jq: Option<String>,
    /// Fields to print, such as `id,risk.score`; they become the columns of tables and CSV
    #[arg(long, global = true, value_name = "FIELDS", value_delimiter = ',')]
    pub columns: Vec<String>,
    /// Omit the header line of tables and CSV
    #[arg(long, global = true)]
    pub no_headers: bool,
    /// Suppress messages on standard error, except errors
    #[arg(long, short, global = true)]
    pub quiet: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    Table,
    Wide,
    Json,
    Jsonl,
    Yaml,
    Name,
    Csv,
}

/// Returns the complete command tree, for generating documentation.
pub fn command() -> clap::Command {
    Cli::command()
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Log in via the browser
    #[command(after_help = LOGIN_HELP)]
    Login(LoginArgs),
    /// Log out: revoke and remove the stored token
    Logout,
    /// Show your identity, roles and the scopes of your token
    Whoami,
    /// Manage profiles for several servers or accounts
    #[command(subcommand)]
    Profiles(ProfilesCommand),
    /// Manage the settings of this CLI
    #[command(subcommand)]
    Config(SettingsCommand),
    /// Manage tasks
    #[command(subcommand)]
    Tasks(TasksCommand),
    /// Propose a command, wait for approval, and run it under its locks
    #[command(after_help = format!("{RUN_HELP}\n\n{}", exit::help()))]
    Run(Box<RunArgs>),
    /// Follow a task until it ends, printing every state change
    Watch(WaitArgs),
    /// List approval requests waiting for you, most urgent first
    Inbox(InboxArgs),
    /// Approve one or more tasks
    Approve(ApproveArgs),
    /// Reject one or more tasks
    Reject(RejectArgs),
    /// Request changes to a task from its author
    RequestChanges(AnswerArgs),
    /// Withdraw your vote on a task that is still in review
    Withdraw(WithdrawArgs),
    /// Inspect, acquire and break resource locks
    #[command(subcommand)]
    Locks(LocksCommand),
    /// Manage agents
    #[command(subcommand)]
    Agents(AgentsCommand),
    /// Manage approval policies
    #[command(subcommand)]
    Policies(PoliciesCommand),
    /// Review changes to the rules that wait for a second admin
    #[command(subcommand)]
    Changes(ChangesCommand),
    /// Check a permission; exits 0 for yes and 1 for no
    #[command(subcommand)]
    CanI(CanICommand),
    /// Manage approval delegations
    #[command(subcommand)]
    Delegations(DelegationsCommand),
    /// List and export the audit log
    #[command(subcommand)]
    Audit(AuditCommand),
    /// Explain risk scores
    #[command(subcommand)]
    Risk(RiskCommand),
    /// Manage the time limits of the tenant
    #[command(subcommand)]
    Timeouts(TimeoutsCommand),
    /// Freeze applies, for all or some resources
    Freeze(FreezeArgs),
    /// Lift a freeze
    Unfreeze(UnfreezeArgs),
    /// List active and past freezes
    #[command(subcommand)]
    Freezes(FreezesCommand),
    /// Manage webhooks
    #[command(subcommand)]
    Webhooks(WebhooksCommand),
    /// Follow the event stream
    #[command(subcommand)]
    Events(EventsCommand),
    /// Manage the users of the tenant
    #[command(subcommand)]
    Users(UsersCommand),
    /// Manage API tokens
    #[command(subcommand)]
    Tokens(TokensCommand),
    /// Serve tools to an agent over the Model Context Protocol (stdio)
    #[command(after_help = MCP_HELP)]
    Mcp,
    /// Check tool calls before an agent host runs them
    #[command(subcommand)]
    Hook(HookCommand),
    /// Diagnose problems with settings, server, token and workers
    Doctor,
    /// Send an API request
    Api(ApiArgs),
    /// Generate a shell completion script
    Completion(CompletionArgs),
}

#[derive(Debug, Args)]
pub struct LoginArgs {
    /// Store this token instead of using the browser; `-` reads it from standard input, which
    /// keeps it out of process listings
    #[arg(long, value_name = "TOKEN")]
    pub token: Option<String>,
    /// URL of the server; defaults to the current one
    #[arg(long, value_name = "URL")]
    pub server: Option<String>,
    /// Also open the page with $BROWSER or xdg-open
    #[arg(long, conflicts_with = "token")]
    pub browser: bool,
    /// Store the token in the desktop keyring (`secret-tool`); falls back to the settings file
    #[arg(long)]
    pub keyring: bool,
}

#[derive(Debug, Subcommand)]
pub enum SettingsCommand {
    /// Show the current profile, server and token location, and where each is set
    Get,
    /// Set a value
    Set {
        /// Setting to change
        #[arg(value_name = "NAME")]
        name: Setting,
        /// New value
        #[arg(value_name = "VALUE")]
        value: String,
    },
    /// Print the path of the settings file
    Path,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Setting {
    /// Server URL of the current profile
    Server,
    /// Current profile
    Profile,
}

#[derive(Debug, Subcommand)]
pub enum ProfilesCommand {
    /// List profiles and mark the current one
    List,
    /// Switch to a profile
    Use {
        /// Profile name
        #[arg(value_name = "NAME")]
        name: String,
    },
    /// Remove a profile and its token
    Rm {
        /// Profile name
        #[arg(value_name = "NAME")]
        name: String,
    },
}

#[derive(Debug, Args)]
pub struct CompletionArgs {
    /// Shell to generate for; add `source <(ade completion bash)` to its startup file
    #[arg(value_name = "SHELL")]
    pub shell: Shell,
    /// Complete only commands and options, without querying the server for IDs
    #[arg(long = "static")]
    pub is_static: bool,
}

#[derive(Debug, Args)]
pub struct RunArgs {
    /// Resource the command touches; can be repeated. `=shared` allows other shared holders
    #[arg(long = "resource", value_name = "TYPE:ID[=shared]", value_parser = touched,
          required = true)]
    pub resources: Vec<TouchedResource>,
    /// Task type, which determines the policies that apply
    #[arg(long = "type", value_name = "TYPE", default_value = "command.run")]
    pub task_type: String,
    /// Title shown to reviewers; defaults to the command line
    #[arg(long, value_name = "TEXT")]
    pub title: Option<String>,
    /// Priority of the task, from 0 to 100
    #[arg(long, value_name = "N", default_value_t = 50,
          value_parser = clap::value_parser!(u8).range(0..=100))]
    pub priority: u8,
    /// Cancel the task if the command cannot start within this time
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub timeout: Option<Duration>,
    /// Shell command that prints the planned changes as JSON: `{"changes":[…],"warnings":[…]}`. It
    /// runs again before the command starts; if the output differs, the execution is aborted
    #[arg(long, value_name = "CMD")]
    pub preview: Option<String>,
    /// Variable that the command gets from the environment of `ade`; can be repeated. Reviewers see
    /// its name, length and keyed hash, and the value of variables that load code
    #[arg(long = "env", value_name = "NAME", value_parser = variable)]
    pub environment: Vec<String>,
    /// File that the command reads without naming it in an argument; can be repeated. It must not
    /// change until the command starts
    #[arg(long = "file", value_name = "FILE")]
    pub files: Vec<String>,
    /// Ticket that the task belongs to
    #[arg(long, value_name = "TICKET")]
    pub ticket: Option<String>,
    /// Maximum run time of the command before it is stopped; defaults to the tenant's setting, see
    /// `ade timeouts get`
    #[arg(long, value_name = "DURATION", value_parser = apply_timeout)]
    pub apply_timeout: Option<Duration>,
    /// How long the locks stay held after a lost connection; the command is stopped before they
    /// expire. Defaults to the tenant's setting
    #[arg(long, value_name = "DURATION", value_parser = ttl)]
    pub ttl: Option<Duration>,
    /// Command and its arguments, after `--`
    #[arg(last = true, required = true, value_name = "CMD")]
    pub command: Vec<OsString>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_tree_passes_claps_checks() {
        command().debug_assert();
    }

    #[test]
    fn run_arguments_after_the_dashes_are_the_command() {
        let args = ["ade", "run", "--resource", "database:a", "--", "sh", "-c", "exit 3"];
        let Command::Run(run) = Cli::try_parse_from(args).unwrap().command else { panic!() };
        assert_eq!(run.command, ["sh", "-c", "exit 3"]);
        assert!(Cli::try_parse_from(["ade", "run", "--", "true"]).is_err(), "no resource");
        assert!(Cli::try_parse_from(["ade", "run", "--resource", "database:a"]).is_err());
    }

    /// Checks that every command and option has a help text.
    #[test]
    fn commands_and_flags_all_have_help() {
        fn look(command: &clap::Command) {
            assert!(command.get_about().is_some(), "{} has no help text", command.get_name());
            for argument in command.get_arguments().filter(|argument| !argument.is_positional()) {
                let name = argument.get_id();
                assert!(argument.get_help().is_some(), "{} {name}", command.get_name());
            }
            command.get_subcommands().for_each(look);
        }
        look(&command());
    }
}
