//! Arguments of the decision commands, `ade inbox`, `ade can-i` and `ade delegations`.

use ade_core::approval::ApprovalStatus;
use ade_core::approval::delegation::DelegationKind;
use ade_core::ids::{ApprovalId, DelegationId, UserId};
use ade_core::task_ref::TaskRef;
use ade_core::time::Timestamp;
use clap::{Args, Subcommand};
use clap_complete::ArgValueCompleter;

use super::read::{Asked, asked, least_risk, moment, word};
use super::tasks::{LimitArg, TaskArg};
use crate::completion::{requests, tasks};

#[derive(Debug, Args)]
pub struct InboxArgs {
    /// Show requests with this status instead of the pending ones
    #[arg(long, value_name = "STATUS", value_parser = word::<ApprovalStatus>)]
    pub status: Option<ApprovalStatus>,
    /// Minimum risk score, such as '>60'
    #[arg(long, value_name = "N", value_parser = least_risk)]
    pub risk: Option<u8>,
    /// Show a live view that updates as requests arrive
    #[arg(long, short)]
    pub watch: bool,
    #[command(flatten)]
    pub limit: LimitArg,
}

#[derive(Debug, Args)]
pub struct ApproveArgs {
    /// Task or approval request IDs; several are approved together or not at all
    #[arg(value_name = "ID", required = true, value_parser = asked,
          add = ArgValueCompleter::new(requests))]
    pub ids: Vec<Asked>,
    /// Revision you reviewed; fails if it is not the current one
    #[arg(long, value_name = "N")]
    pub rev: Option<u32>,
    /// Reason, visible to everyone who can see the task
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
    /// Skip the confirmation prompt; LOW and MEDIUM risk only
    #[arg(long, short)]
    pub yes: bool,
    /// Show what would happen without saving anything
    #[arg(long)]
    pub dry_run: bool,
}

#[derive(Debug, Args)]
pub struct RejectArgs {
    /// Task or approval request IDs; several are rejected together or not at all
    #[arg(value_name = "ID", required = true, value_parser = asked,
          add = ArgValueCompleter::new(requests))]
    pub ids: Vec<Asked>,
    /// Revision you reviewed; fails if it is not the current one
    #[arg(long, value_name = "N")]
    pub rev: Option<u32>,
    /// Reason, shown to the author
    #[arg(long, value_name = "TEXT")]
    pub reason: String,
    /// Show what would happen without saving anything
    #[arg(long)]
    pub dry_run: bool,
}

#[derive(Debug, Args)]
pub struct AnswerArgs {
    /// Task or approval request ID
    #[arg(value_name = "ID", value_parser = asked, add = ArgValueCompleter::new(requests))]
    pub id: Asked,
    /// Revision you reviewed; fails if it is not the current one
    #[arg(long, value_name = "N")]
    pub rev: Option<u32>,
    /// What the author should change
    #[arg(long, value_name = "TEXT")]
    pub reason: String,
}

#[derive(Debug, Args)]
pub struct WithdrawArgs {
    /// Task or approval request ID
    #[arg(value_name = "ID", value_parser = asked)]
    pub id: Asked,
}

#[derive(Debug, Subcommand)]
pub enum CanICommand {
    /// Check whether you or another user may decide on a task
    Approve {
        #[command(flatten)]
        task: TaskArg,
        /// ID of the user to check instead of yourself
        #[arg(long = "as", value_name = "USER")]
        user: Option<UserId>,
    },
    /// Check whether a task may be applied now (all gates are open)
    Apply(TaskArg),
}

#[derive(Debug, Subcommand)]
pub enum DelegationsCommand {
    /// List your delegations or those of another user
    List {
        /// ID of the user whose delegations to list; defaults to yourself
        #[arg(long, value_name = "USER")]
        owner: Option<UserId>,
        #[command(flatten)]
        limit: LimitArg,
    },
    /// Delegate your approvals to another user
    Create(DelegateArgs),
    /// Revoke a delegation
    Revoke {
        /// Delegation ID
        #[arg(value_name = "ID")]
        id: DelegationId,
    },
    /// Show who may currently decide for a user, and why others may not
    Resolve {
        /// ID of the user to resolve; defaults to yourself
        #[arg(long, value_name = "USER")]
        user: Option<UserId>,
        /// Task to resolve the delegation for
        #[arg(long, value_name = "TASK", add = ArgValueCompleter::new(tasks))]
        task: Option<TaskRef>,
    },
    /// Hand over one approval request to another user
    HandOver {
        /// Approval request ID
        #[arg(value_name = "REQUEST", add = ArgValueCompleter::new(requests))]
        id: ApprovalId,
        /// ID of the user who takes over the request
        #[arg(long, value_name = "USER")]
        to: UserId,
        /// Reason for the handover
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
    },
}

#[derive(Debug, Args)]
pub struct DelegateArgs {
    /// ID of the user who decides on your behalf
    #[arg(long, value_name = "USER")]
    pub to: UserId,
    /// ID of the user whose approvals are delegated; defaults to yourself, others require admin
    #[arg(long = "for", value_name = "USER")]
    pub owner: Option<UserId>,
    /// `transfer`: the delegate decides instead of you. `follow`: the delegate's approval also
    /// counts for you
    #[arg(long, value_name = "KIND", value_parser = word::<DelegationKind>,
        default_value = "transfer")]
    pub kind: DelegationKind,
    /// Start time; defaults to now
    #[arg(long, value_name = "WHEN", value_parser = moment)]
    pub from: Option<Timestamp>,
    /// End time, such as `48h` (from now) or `2026-11-18T18:00:00Z`
    #[arg(long, value_name = "WHEN", value_parser = moment)]
    pub until: Timestamp,
    /// Limit to tasks of this type; can be repeated
    #[arg(long = "type", value_name = "TYPE")]
    pub task_types: Vec<String>,
    /// Limit to tasks that touch resources matching this pattern; can be repeated
    #[arg(long = "resource", value_name = "PATTERN")]
    pub resources: Vec<String>,
    /// Limit to tasks with a risk score above this
    #[arg(long, value_name = "N")]
    pub risk_above: Option<u8>,
    /// Follow the delegate's own delegations
    #[arg(long)]
    pub cascade: bool,
    /// Also hand over the requests that are pending now
    #[arg(long)]
    pub move_pending: bool,
}
