//! Arguments of `ade policies`, `ade risk`, `ade timeouts` and the freeze commands.

use std::path::PathBuf;

use ade_core::ids::{FreezeId, PolicyDraftId, PolicyId};
use ade_core::limits::REPLAY_DAYS_DEFAULT;
use ade_core::time::Timestamp;
use clap::{Args, Subcommand};

use super::read::moment;
use super::tasks::{LimitArg, TaskArg};

#[derive(Debug, Subcommand)]
pub enum PoliciesCommand {
    /// List policies with the version in force
    List(LimitArg),
    /// Show a policy as YAML
    Get {
        /// Policy ID
        #[arg(value_name = "POLICY")]
        policy: PolicyId,
    },
    /// List the versions of a policy, newest first
    Versions {
        /// Policy ID
        #[arg(value_name = "POLICY")]
        policy: PolicyId,
    },
    /// Propose a new policy version for another admin to publish
    Apply {
        /// Policy file in YAML or JSON; `-` for standard input
        #[arg(long, short, value_name = "FILE")]
        file: PathBuf,
        /// Reason, recorded in the audit log
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
    },
    /// Diff a file against the policy in force with the same name
    Diff {
        /// Policy file in YAML or JSON; `-` for standard input
        #[arg(long, short, value_name = "FILE")]
        file: PathBuf,
        /// Exit with 1 if there are differences
        #[arg(long)]
        exit_code: bool,
    },
    /// Replay recent tasks against a policy to see what it would change; saves nothing
    Replay {
        /// Policy file in YAML or JSON; `-` for standard input
        #[arg(long, short, value_name = "FILE", required_unless_present = "draft")]
        file: Option<PathBuf>,
        /// Policy draft ID to replay instead of a file
        #[arg(long, value_name = "DRAFT", conflicts_with = "file")]
        draft: Option<PolicyDraftId>,
        /// Number of days to look back
        #[arg(long, value_name = "N", default_value_t = REPLAY_DAYS_DEFAULT)]
        days: u32,
    },
    /// Run policy test cases from a file, without contacting a server
    Test {
        /// Test case file in YAML
        #[arg(long, short, value_name = "FILE")]
        file: PathBuf,
        /// Policy file, or a directory of policy files
        #[arg(long, value_name = "PATH", default_value = ".")]
        policies: PathBuf,
    },
    /// Propose restoring an earlier policy version
    Rollback {
        /// Policy ID
        #[arg(value_name = "POLICY")]
        policy: PolicyId,
        /// Version to restore
        #[arg(long = "to", value_name = "N")]
        version: u32,
        /// Reason, recorded in the audit log
        #[arg(long, value_name = "TEXT")]
        reason: String,
    },
    /// List policy drafts
    Drafts(LimitArg),
    /// Show a policy draft and what it changes
    Draft {
        /// Policy draft ID
        #[arg(value_name = "DRAFT")]
        draft: PolicyDraftId,
    },
    /// Publish a policy draft that another admin proposed, or your own as the only admin
    Publish {
        /// Policy draft ID
        #[arg(value_name = "DRAFT")]
        draft: PolicyDraftId,
    },
    /// Withdraw a policy draft
    Withdraw {
        /// Policy draft ID
        #[arg(value_name = "DRAFT")]
        draft: PolicyDraftId,
    },
}

#[derive(Debug, Subcommand)]
pub enum RiskCommand {
    /// Explain the risk score of a task, factor by factor
    Explain(TaskArg),
    /// Show the risk weights and level thresholds
    Settings,
}

#[derive(Debug, Subcommand)]
pub enum TimeoutsCommand {
    /// Show the time limits of leases, reviews and executions
    Get,
    /// Set the time limits; values missing from the file use the installation's defaults
    Set {
        /// JSON or YAML file with `lock`, `approval` and `task`; `-` for standard input
        #[arg(long, short, value_name = "FILE")]
        file: PathBuf,
        /// Reason, recorded in the audit log
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
    },
}

#[derive(Debug, Args)]
pub struct FreezeArgs {
    /// What to freeze: `env:NAME` or a resource pattern such as `database:prod-*`; defaults to
    /// everything
    #[arg(long, value_name = "SCOPE")]
    pub scope: Option<String>,
    /// Reason, shown on every task that waits for the freeze
    #[arg(long, value_name = "TEXT")]
    pub reason: String,
    /// When the freeze ends, such as `2h`; without it the freeze lasts until it is lifted
    #[arg(long, value_name = "WHEN", value_parser = moment)]
    pub until: Option<Timestamp>,
}

#[derive(Debug, Args)]
pub struct UnfreezeArgs {
    /// Freeze ID; can be omitted if only one freeze is active
    #[arg(value_name = "FREEZE")]
    pub id: Option<FreezeId>,
    /// Why applies may start again, for the audit log
    #[arg(long, value_name = "TEXT")]
    pub reason: String,
    /// Skip the confirmation prompt
    #[arg(long, short)]
    pub yes: bool,
}

#[derive(Debug, Subcommand)]
pub enum FreezesCommand {
    /// List freezes, newest first
    List(LimitArg),
}
