//! Decisions, the inbox, and who decides for whom.

use ade_core::approval::Status;
use ade_core::approval::delegation::Kind;
use ade_core::ids::{ApprovalId, DelegationId, TaskId, UserId};
use ade_core::time::Timestamp;
use clap::{Args, Subcommand};
use clap_complete::ArgValueCompleter;

use super::read::{Asked, asked, least_risk, moment, word};
use super::tasks::{LimitArg, TaskArg};
use crate::completion::{requests, tasks};

#[derive(Debug, Args)]
pub struct InboxArgs {
    /// Requests with this status instead of those that wait for you
    #[arg(long, value_name = "STATUS", value_parser = word::<Status>)]
    pub status: Option<Status>,
    /// Only those with at least this risk, like '>60'
    #[arg(long, value_name = "N", value_parser = least_risk)]
    pub risk: Option<u8>,
    /// Stay, and show what comes
    #[arg(long, short)]
    pub watch: bool,
    #[command(flatten)]
    pub limit: LimitArg,
}

#[derive(Debug, Args)]
pub struct ApproveArgs {
    /// Tasks, or requests from your inbox; several are agreed to together or not at all
    #[arg(value_name = "ID", required = true, value_parser = asked,
          add = ArgValueCompleter::new(requests))]
    pub ids: Vec<Asked>,
    /// Only if this is the current revision
    #[arg(long, value_name = "N")]
    pub rev: Option<u32>,
    /// Why; everybody who sees the task sees it
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
    /// Do not ask; only for LOW and MEDIUM risk
    #[arg(long, short)]
    pub yes: bool,
    /// Say what would come of it, and write nothing
    #[arg(long)]
    pub dry_run: bool,
}

#[derive(Debug, Args)]
pub struct RejectArgs {
    /// Tasks, or requests from your inbox; several are refused together or not at all
    #[arg(value_name = "ID", required = true, value_parser = asked,
          add = ArgValueCompleter::new(requests))]
    pub ids: Vec<Asked>,
    /// Only if this is the current revision
    #[arg(long, value_name = "N")]
    pub rev: Option<u32>,
    /// Why; the author reads it
    #[arg(long, value_name = "TEXT")]
    pub reason: String,
    /// Say what would come of it, and write nothing
    #[arg(long)]
    pub dry_run: bool,
}

#[derive(Debug, Args)]
pub struct AnswerArgs {
    #[arg(value_name = "ID", value_parser = asked, add = ArgValueCompleter::new(requests))]
    pub id: Asked,
    /// Only if this is the current revision
    #[arg(long, value_name = "N")]
    pub rev: Option<u32>,
    /// What is to be changed; the author reads it
    #[arg(long, value_name = "TEXT")]
    pub reason: String,
}

#[derive(Debug, Args)]
pub struct WithdrawArgs {
    #[arg(value_name = "ID", value_parser = asked)]
    pub id: Asked,
}

#[derive(Debug, Subcommand)]
pub enum CanICommand {
    /// Whether you, or somebody else, may answer for this task
    Approve {
        #[command(flatten)]
        task: TaskArg,
        /// Another person
        #[arg(long = "as", value_name = "USER")]
        user: Option<UserId>,
    },
    /// Whether this task may be applied: every gate must be open
    Apply(TaskArg),
}

#[derive(Debug, Subcommand)]
pub enum DelegationsCommand {
    /// List your own, or those of somebody
    List {
        /// Whose
        #[arg(long, value_name = "USER")]
        owner: Option<UserId>,
        #[command(flatten)]
        limit: LimitArg,
    },
    /// Let somebody answer for you
    Create(DelegateArgs),
    /// End one
    Revoke {
        #[arg(value_name = "ID")]
        id: DelegationId,
    },
    /// Who may act for somebody now, and why others may not
    Resolve {
        /// For this person instead of you
        #[arg(long, value_name = "USER")]
        user: Option<UserId>,
        /// About this task
        #[arg(long, value_name = "TASK", add = ArgValueCompleter::new(tasks))]
        task: Option<TaskId>,
    },
    /// Hand one request on to somebody
    HandOver {
        #[arg(value_name = "REQUEST", add = ArgValueCompleter::new(requests))]
        id: ApprovalId,
        /// To this person
        #[arg(long, value_name = "USER")]
        to: UserId,
        /// Why
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
    },
}

#[derive(Debug, Args)]
pub struct DelegateArgs {
    /// Who answers
    #[arg(long, value_name = "USER")]
    pub to: UserId,
    /// For whom; only an admin names somebody else
    #[arg(long = "for", value_name = "USER")]
    pub owner: Option<UserId>,
    /// `transfer`: they answer instead. `follow`: their yes stands for yours too
    #[arg(long, value_name = "KIND", value_parser = word::<Kind>, default_value = "transfer")]
    pub kind: Kind,
    /// When it begins; now if left out
    #[arg(long, value_name = "WHEN", value_parser = moment)]
    pub from: Option<Timestamp>,
    /// When it ends, like `48h` or `2026-11-18T18:00:00Z`
    #[arg(long, value_name = "WHEN", value_parser = moment)]
    pub until: Timestamp,
    /// Only tasks of this type; may be given several times
    #[arg(long = "type", value_name = "TYPE")]
    pub task_types: Vec<String>,
    /// Only tasks that touch what this pattern matches; may be given several times
    #[arg(long = "resource", value_name = "PATTERN")]
    pub resources: Vec<String>,
    /// Only tasks with more risk than this
    #[arg(long, value_name = "N")]
    pub risk_above: Option<u8>,
    /// Their own delegations lead further
    #[arg(long)]
    pub cascade: bool,
    /// Hand over what waits for you now, too
    #[arg(long)]
    pub move_pending: bool,
}
