//! `ade agents`.

use std::path::PathBuf;

use ade_core::ids::{AgentId, UserId};
use clap::{Args, Subcommand};
use clap_complete::ArgValueCompleter;

use super::tasks::LimitArg;
use crate::completion::agents;

#[derive(Debug, Subcommand)]
pub enum AgentsCommand {
    /// List agents, and whether they are there
    List(LimitArg),
    /// Watch them on a screen that keeps itself up to date
    Top,
    /// Show one agent
    Get(AgentArg),
    /// Register one
    Create {
        #[arg(value_name = "NAME")]
        name: String,
        /// The person it acts for, who answers for it
        #[arg(long, value_name = "USER")]
        owner: UserId,
        #[command(flatten)]
        change: AgentChangeArgs,
    },
    /// Register the one that a file describes, or change the one of its name
    Apply {
        /// JSON or YAML with `name`, `owner`, `capabilities` and `max_tasks`; `-` reads standard
        /// input
        #[arg(long, short, value_name = "FILE")]
        file: PathBuf,
    },
    /// Change what it may apply; what is left out stays as it is
    Change {
        #[command(flatten)]
        agent: AgentArg,
        /// Another name
        #[arg(long, value_name = "NAME")]
        name: Option<String>,
        #[command(flatten)]
        change: AgentChangeArgs,
    },
    /// Give it nothing new until it is resumed
    Pause(OrderArgs),
    /// Let it finish what it has, and end
    Drain(OrderArgs),
    /// Let it go on
    Resume(OrderArgs),
    /// Take all it may do from it, for good
    Delete {
        #[command(flatten)]
        agent: AgentArg,
        /// Do not ask
        #[arg(long, short)]
        yes: bool,
    },
    /// What it is set up with, version by version
    #[command(subcommand)]
    Config(ConfigCommand),
}

#[derive(Debug, Clone, Copy, Args)]
pub struct AgentArg {
    #[arg(value_name = "AGENT", add = ArgValueCompleter::new(agents))]
    pub id: AgentId,
}

#[derive(Debug, Args)]
pub struct AgentChangeArgs {
    /// A type of tasks that it may apply, like `command.*`; may be given several times
    #[arg(long = "capability", value_name = "TYPE")]
    pub capabilities: Vec<String>,
    /// How many tasks it applies at once
    #[arg(long, value_name = "N")]
    pub max_tasks: Option<u32>,
}

#[derive(Debug, Args)]
pub struct OrderArgs {
    #[command(flatten)]
    pub agent: AgentArg,
    /// Why
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
}

#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    /// The version in force
    Get(AgentArg),
    /// Set a new version
    Set {
        #[command(flatten)]
        agent: AgentArg,
        /// JSON or YAML; `-` reads standard input
        #[arg(long, short, value_name = "FILE")]
        file: PathBuf,
        /// Why
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
    },
    /// All versions, the newest first
    Versions(AgentArg),
    /// What one version says otherwise than another
    Diff {
        #[command(flatten)]
        agent: AgentArg,
        /// The version
        #[arg(long, value_name = "N")]
        version: u32,
        /// The other one; the one before if left out
        #[arg(long, value_name = "N")]
        against: Option<u32>,
    },
    /// Bring an earlier version back, as a new one
    Rollback {
        #[command(flatten)]
        agent: AgentArg,
        /// The version that comes back
        #[arg(long, value_name = "N")]
        to: u32,
        /// Why
        #[arg(long, value_name = "TEXT")]
        reason: String,
    },
}
