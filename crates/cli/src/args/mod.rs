//! Every command and option, once: help, usage errors, completion, man page and the reference come
//! from here. A file for each group of nouns.

mod agents;
mod changes;
mod hook;
mod locks;
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
pub use policies::*;
pub use read::Asked;
use read::{apply_timeout, duration, touched, ttl};
pub use rest::*;
pub use tasks::*;

use crate::exit;

const RUN_TOLD: &str = "\
The command waits until people have agreed to it and its resources are free. It then runs in a
process group of its own with these variables added to the environment, and ADE_TOKEN taken out:

  ADE_TASK, ADE_EXECUTION    what is applied, and which attempt it is
  ADE_TOKEN_FENCE            the number of this attempt; it rises with every one
  ADE_FENCE_<TYPE>_<ID>      the fence of one resource: database:orders is ADE_FENCE_DATABASE_ORDERS
  ADE_FENCES                 all of them as JSON, by the exact name of the resource
  ADE_RECEIPT                the signed permit, for a target that verifies it

Ctrl-C before the command runs cancels the task. While it runs, the first one is handed to the
command as SIGINT and the task is reported as failed; the second one kills it.";

const LOGIN_TOLD: &str = "\
Without a token it prints a page and a code, and waits for ten minutes at most. Open the page on any
machine where you are signed in, compare the code, and say yes. With `-o json` the code is one line
on standard output, and who you are is another once you are in.";

const MCP_TOLD: &str = "\
The host of an agent starts this and speaks with it. In its settings:

  {\"mcpServers\": {\"ade\": {\"command\": \"ade\", \"args\": [\"mcp\"]}}}

The token is the one in use: ADE_TOKEN, else what `ade login` keeps. Give it an agent's token. The
tools propose, wait, lock and apply; none of them approves.";

#[derive(Debug, Parser)]
#[command(name = "ade", version, about = "Propose changes, wait for people to agree, apply them")]
#[command(after_help = exit::help(), disable_help_subcommand = true)]
#[command(arg_required_else_help = false, subcommand_required = true)]
pub struct Cli {
    #[command(flatten)]
    pub output: OutputArgs,
    /// Which of the kept servers and tokens to use; `ade profiles list` has them
    #[arg(long, global = true, value_name = "NAME", help_heading = "Everywhere")]
    pub profile: Option<String>,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Everywhere")]
pub struct OutputArgs {
    /// How answers are written: table, wide, json, jsonl, yaml, name or csv
    #[arg(
        long,
        short,
        global = true,
        value_name = "FORMAT",
        default_value = "table",
        hide_possible_values = true
    )]
    pub output: Format,
    /// Answer in JSON, errors too; the same as `-o json`
    #[arg(long, global = true, conflicts_with = "output")]
    pub json: bool,
    /// Only what this filter in the language of jq gives; texts stand alone, one on a line
    #[arg(long, global = true, value_name = "FILTER")]
    pub jq: Option<String>,
    /// Only these fields of the JSON, like `id,risk.score`; in tables and CSV as columns
    #[arg(long, global = true, value_name = "FIELDS", value_delimiter = ',')]
    pub columns: Vec<String>,
    /// Tables and CSV without their first line
    #[arg(long, global = true)]
    pub no_headers: bool,
    /// No remarks on standard error; errors are told
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

/// The whole tree, for whoever describes it.
pub fn command() -> clap::Command {
    Cli::command()
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Have somebody let this terminal in from a browser, and keep the token that it gets
    #[command(after_help = LOGIN_TOLD)]
    Login(LoginArgs),
    /// Revoke the token that is kept, and forget it
    Logout,
    /// Say who you are to the server, and what your token lets you do
    Whoami,
    /// Several servers or accounts, and which of them is in use
    #[command(subcommand)]
    Profiles(ProfilesCommand),
    /// What `ade` itself is set to
    #[command(subcommand)]
    Config(SettingsCommand),
    /// Look at tasks, propose and change them, wait for them
    #[command(subcommand)]
    Tasks(TasksCommand),
    /// Propose a command, wait until people agree, and run it under its locks
    #[command(after_help = format!("{RUN_TOLD}\n\n{}", exit::help()))]
    Run(Box<RunArgs>),
    /// Follow a task until it has come to its end, one line for each change
    Watch(WaitArgs),
    /// What waits for your answer, the most urgent first
    Inbox(InboxArgs),
    /// Agree to exactly what you are shown
    Approve(ApproveArgs),
    /// Say no, and why
    Reject(RejectArgs),
    /// Ask the author for another revision
    RequestChanges(AnswerArgs),
    /// Take back your own answer, while the review lasts
    Withdraw(WithdrawArgs),
    /// Who holds what, who waits, and what to do about it
    #[command(subcommand)]
    Locks(LocksCommand),
    /// Programs that propose and apply
    #[command(subcommand)]
    Agents(AgentsCommand),
    /// Rules that say who must agree
    #[command(subcommand)]
    Policies(PoliciesCommand),
    /// Whether somebody may do something now: ends with 0 for yes and 1 for no
    #[command(subcommand)]
    CanI(CanICommand),
    /// Who answers for whom
    #[command(subcommand)]
    Delegations(DelegationsCommand),
    /// What was done, by whom and when
    #[command(subcommand)]
    Audit(AuditCommand),
    /// How risky something is, and why
    #[command(subcommand)]
    Risk(RiskCommand),
    /// How long things may take
    #[command(subcommand)]
    Times(TimesCommand),
    /// Stop all applies, or some of them
    Freeze(FreezeArgs),
    /// Let applies go on
    Unfreeze(UnfreezeArgs),
    /// Stops of applies that are in force or were
    #[command(subcommand)]
    Freezes(FreezesCommand),
    /// Addresses that are told of events
    #[command(subcommand)]
    Webhooks(WebhooksCommand),
    /// Events as they happen
    #[command(subcommand)]
    Events(EventsCommand),
    /// People of the tenant
    #[command(subcommand)]
    Users(UsersCommand),
    /// API tokens
    #[command(subcommand)]
    Tokens(TokensCommand),
    /// Give an agent its tools over standard input and output, by the Model Context Protocol
    #[command(after_help = MCP_TOLD)]
    Mcp,
    /// Answer the host of an agent that asks before a tool runs
    #[command(subcommand)]
    Hook(HookCommand),
    /// Look for what is wrong: settings, server, token, workers
    Doctor,
    /// One call of the API by its method and path
    Api(ApiArgs),
    /// Print what a shell needs to complete commands, ids included
    Completion(CompletionArgs),
}

#[derive(Debug, Args)]
pub struct LoginArgs {
    /// Keep this token instead; `-` reads it from standard input, where no list of processes
    /// shows it
    #[arg(long, value_name = "TOKEN")]
    pub token: Option<String>,
    /// Where the server is; the one in use if left out
    #[arg(long, value_name = "URL")]
    pub server: Option<String>,
    /// Open the page here too, with $BROWSER or xdg-open
    #[arg(long, conflicts_with = "token")]
    pub browser: bool,
    /// Keep the token in the desktop's keyring, by `secret-tool`; in the file if there is none
    #[arg(long)]
    pub keyring: bool,
}

#[derive(Debug, Subcommand)]
pub enum SettingsCommand {
    /// Which profile and server are in use, who says so, and where the token lies
    Get,
    /// Set one value
    Set {
        #[arg(value_name = "NAME")]
        name: Setting,
        #[arg(value_name = "VALUE")]
        value: String,
    },
    /// Where the file is
    Path,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Setting {
    /// Where the server of the profile in use is
    Server,
    /// Which profile is in use
    Profile,
}

#[derive(Debug, Subcommand)]
pub enum ProfilesCommand {
    /// List what is kept, and which one is in use
    List,
    /// Use this one from now on
    Use {
        #[arg(value_name = "NAME")]
        name: String,
    },
    /// Forget one, with its token
    Rm {
        #[arg(value_name = "NAME")]
        name: String,
    },
}

#[derive(Debug, Args)]
pub struct CompletionArgs {
    /// The shell; put `source <(ade completion bash)` into its start-up file
    #[arg(value_name = "SHELL")]
    pub shell: Shell,
    /// Commands and options only: ids of tasks, agents and the like are not asked of the server
    #[arg(long = "static")]
    pub is_static: bool,
}

#[derive(Debug, Args)]
pub struct RunArgs {
    /// What the command touches; may be given several times. `=shared` lets others share it
    #[arg(long = "resource", value_name = "TYPE:ID[=shared]", value_parser = touched,
          required = true)]
    pub resources: Vec<TouchedResource>,
    /// The type of the task; it decides which policies apply
    #[arg(long = "type", value_name = "TYPE", default_value = "command.run")]
    pub task_type: String,
    /// What reviewers read first; the command line if left out
    #[arg(long, value_name = "TEXT")]
    pub title: Option<String>,
    /// 0 to 100
    #[arg(long, value_name = "N", default_value_t = 50,
          value_parser = clap::value_parser!(u8).range(0..=100))]
    pub priority: u8,
    /// Give up, and cancel the task, if the command may not run after this long
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub timeout: Option<Duration>,
    /// A shell command that prints as JSON what would change: `{"changes":[…],"warnings":[…]}`.
    /// It runs again before the command does, and another answer ends the attempt
    #[arg(long, value_name = "CMD")]
    pub preview: Option<String>,
    /// The ticket this belongs to
    #[arg(long, value_name = "TICKET")]
    pub ticket: Option<String>,
    /// How long the command may run, then it is told to stop; else what the tenant has, see
    /// `ade times get`
    #[arg(long, value_name = "DURATION", value_parser = apply_timeout)]
    pub apply_timeout: Option<Duration>,
    /// How long the locks outlive a lost connection, and the command is ended before that; else
    /// what the tenant has
    #[arg(long, value_name = "DURATION", value_parser = ttl)]
    pub ttl: Option<Duration>,
    /// The command and its arguments, after `--`
    #[arg(last = true, required = true, value_name = "CMD")]
    pub command: Vec<OsString>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_of_commands_is_sound() {
        command().debug_assert();
    }

    #[test]
    fn what_follows_the_dashes_is_the_command() {
        let args = ["ade", "run", "--resource", "database:a", "--", "sh", "-c", "exit 3"];
        let Command::Run(run) = Cli::try_parse_from(args).unwrap().command else { panic!() };
        assert_eq!(run.command, ["sh", "-c", "exit 3"]);
        assert!(Cli::try_parse_from(["ade", "run", "--", "true"]).is_err(), "no resource");
        assert!(Cli::try_parse_from(["ade", "run", "--resource", "database:a"]).is_err());
    }

    /// Every command and option says what it is for.
    #[test]
    fn nothing_is_without_its_words() {
        fn look(command: &clap::Command) {
            assert!(command.get_about().is_some(), "{} says nothing", command.get_name());
            for argument in command.get_arguments().filter(|argument| !argument.is_positional()) {
                let name = argument.get_id();
                assert!(argument.get_help().is_some(), "{} {name}", command.get_name());
            }
            command.get_subcommands().for_each(look);
        }
        look(&command());
    }
}
