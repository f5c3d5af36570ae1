//! Arguments of `ade agents`.

use std::path::PathBuf;

use ade_core::ids::{AgentId, UserId};
use clap::{Args, Subcommand};
use clap_complete::ArgValueCompleter;

use super::tasks::LimitArg;
use crate::completion::agents;

#[derive(Debug, Subcommand)]
pub enum AgentsCommand {
    /// List agents and their status
    List(LimitArg),
    /// Show a live view of agents
    Top,
    /// Show an agent
    Get(AgentArg),
    /// Register an agent
    Create {
        /// Name of the agent
        #[arg(value_name = "NAME")]
        name: String,
        /// ID of the user who owns the agent and is responsible for it
        #[arg(long, value_name = "USER")]
        owner: UserId,
        #[command(flatten)]
        change: AgentChangeArgs,
    },
    /// Create or update an agent from a file
    Apply {
        /// JSON or YAML file with `name`, `owner_id`, `capabilities` and `max_tasks`; `-` for
        /// standard input
        #[arg(long, short, value_name = "FILE")]
        file: PathBuf,
    },
    /// Update an agent; values that are not given stay unchanged
    Change {
        #[command(flatten)]
        agent: AgentArg,
        /// New name of the agent
        #[arg(long, value_name = "NAME")]
        name: Option<String>,
        #[command(flatten)]
        change: AgentChangeArgs,
    },
    /// Pause an agent: it gets no new tasks until it is resumed
    Pause(OrderArgs),
    /// Drain an agent: it finishes its current tasks, then stops
    Drain(OrderArgs),
    /// Resume a paused or draining agent
    Resume(OrderArgs),
    /// Revoke an agent permanently
    Delete {
        #[command(flatten)]
        agent: AgentArg,
        /// Skip the confirmation prompt
        #[arg(long, short)]
        yes: bool,
    },
    /// Manage the versioned configuration of an agent
    #[command(subcommand)]
    Config(ConfigCommand),
}

#[derive(Debug, Clone, Copy, Args)]
pub struct AgentArg {
    /// Agent ID
    #[arg(value_name = "AGENT", add = ArgValueCompleter::new(agents))]
    pub id: AgentId,
}

#[derive(Debug, Args)]
pub struct AgentChangeArgs {
    /// Task type the agent may apply, such as `command.*`; can be repeated
    #[arg(long = "capability", value_name = "TYPE")]
    pub capabilities: Vec<String>,
    /// Maximum number of tasks the agent applies at the same time
    #[arg(long, value_name = "N")]
    pub max_tasks: Option<u32>,
}

#[derive(Debug, Args)]
pub struct OrderArgs {
    #[command(flatten)]
    pub agent: AgentArg,
    /// Reason, recorded in the audit log
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
}

#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    /// Show the current configuration
    Get(AgentArg),
    /// Set a new configuration version
    Set {
        #[command(flatten)]
        agent: AgentArg,
        /// JSON or YAML file; `-` for standard input
        #[arg(long, short, value_name = "FILE")]
        file: PathBuf,
        /// Reason, recorded with the version
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
    },
    /// List configuration versions, newest first
    Versions(AgentArg),
    /// Diff two configuration versions
    Diff {
        #[command(flatten)]
        agent: AgentArg,
        /// Version to show
        #[arg(long, value_name = "N")]
        version: u32,
        /// Version to compare with; defaults to the previous version
        #[arg(long, value_name = "N")]
        against: Option<u32>,
    },
    /// Restore an earlier configuration as a new version
    Rollback {
        #[command(flatten)]
        agent: AgentArg,
        /// Version to restore
        #[arg(long, value_name = "N")]
        to: u32,
        /// Reason, recorded with the version
        #[arg(long, value_name = "TEXT")]
        reason: String,
    },
}
