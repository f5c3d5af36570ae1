//! `ade policies`, `ade risk` and stops of applies.

use std::path::PathBuf;

use ade_core::ids::{FreezeId, PolicyDraftId, PolicyId};
use ade_core::limits::REPLAY_DAYS_DEFAULT;
use ade_core::time::Timestamp;
use clap::{Args, Subcommand};

use super::read::moment;
use super::tasks::{LimitArg, TaskArg};

#[derive(Debug, Subcommand)]
pub enum PoliciesCommand {
    /// List the versions in force
    List(LimitArg),
    /// Show one as the YAML it is written in
    Get {
        #[arg(value_name = "POLICY")]
        policy: PolicyId,
    },
    /// All versions of one, the newest first
    Versions {
        #[arg(value_name = "POLICY")]
        policy: PolicyId,
    },
    /// Propose a new version; another admin publishes it
    Apply {
        /// The policy in YAML or JSON; `-` reads standard input
        #[arg(long, short, value_name = "FILE")]
        file: PathBuf,
        /// Why
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
    },
    /// What a file would change in the policy of its name; nothing is written
    Diff {
        /// The policy in YAML or JSON; `-` reads standard input
        #[arg(long, short, value_name = "FILE")]
        file: PathBuf,
        /// End with 1 if anything differs
        #[arg(long)]
        exit_code: bool,
    },
    /// Say how the tasks of the last days would have fared; nothing is written
    Simulate {
        /// The policy in YAML or JSON; `-` reads standard input
        #[arg(long, short, value_name = "FILE", required_unless_present = "draft")]
        file: Option<PathBuf>,
        /// A proposed version instead of a file
        #[arg(long, value_name = "DRAFT", conflicts_with = "file")]
        draft: Option<PolicyDraftId>,
        /// How many days to look back
        #[arg(long, value_name = "N", default_value_t = REPLAY_DAYS_DEFAULT)]
        days: u32,
    },
    /// Try policies on the cases of a file; no server is asked
    Test {
        /// The cases, in YAML
        #[arg(long, short, value_name = "FILE")]
        file: PathBuf,
        /// A policy, or a folder of them
        #[arg(long, value_name = "PATH", default_value = ".")]
        policies: PathBuf,
    },
    /// Propose that an earlier version comes back
    Rollback {
        #[arg(value_name = "POLICY")]
        policy: PolicyId,
        /// The version that comes back
        #[arg(long = "to", value_name = "N")]
        version: u32,
        /// Why
        #[arg(long, value_name = "TEXT")]
        reason: String,
    },
    /// List proposed versions
    Drafts(LimitArg),
    /// Show a proposed version, and what it changes
    Draft {
        #[arg(value_name = "DRAFT")]
        draft: PolicyDraftId,
    },
    /// Put a version in force that another admin proposed
    Publish {
        #[arg(value_name = "DRAFT")]
        draft: PolicyDraftId,
    },
    /// Take a proposed version back
    Withdraw {
        #[arg(value_name = "DRAFT")]
        draft: PolicyDraftId,
    },
}

#[derive(Debug, Subcommand)]
pub enum RiskCommand {
    /// How a task was rated, factor by factor
    Explain(TaskArg),
    /// Weights and levels that tasks are rated with
    Settings,
}

#[derive(Debug, Subcommand)]
pub enum TimesCommand {
    /// How long leases, reviews and attempts may take
    Get,
    /// Set them; what the file leaves out is as the installation has it
    Set {
        /// JSON or YAML with `lock`, `approval` and `task`; `-` reads standard input
        #[arg(long, short, value_name = "FILE")]
        file: PathBuf,
        /// Why
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
    },
}

#[derive(Debug, Args)]
pub struct FreezeArgs {
    /// `env:NAME`, or a pattern of resources like `database:prod-*`; everything if left out
    #[arg(long, value_name = "SCOPE")]
    pub scope: Option<String>,
    /// Why; everybody who waits sees it
    #[arg(long, value_name = "TEXT")]
    pub reason: String,
    /// When it ends by itself, like `2h`; until somebody lifts it if left out
    #[arg(long, value_name = "WHEN", value_parser = moment)]
    pub until: Option<Timestamp>,
}

#[derive(Debug, Args)]
pub struct UnfreezeArgs {
    /// Which; the only one in force if left out
    #[arg(value_name = "FREEZE")]
    pub id: Option<FreezeId>,
}

#[derive(Debug, Subcommand)]
pub enum FreezesCommand {
    /// List them, the newest first
    List(LimitArg),
}
