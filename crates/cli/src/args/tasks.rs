//! Arguments of `ade tasks`.

use std::path::PathBuf;
use std::time::Duration;

use ade_api::executions::Finding;
use ade_core::ids::{AgentId, UserId};
use ade_core::limits::PAGE_SIZE_MAX;
use ade_core::resource::ResourceRef;
use ade_core::risk::Level;
use ade_core::task::State;
use ade_core::task_ref::TaskRef;
use ade_core::time::Timestamp;
use clap::{Args, Subcommand};
use clap_complete::ArgValueCompleter;

use super::read::{duration, moment, past, state, word};
use crate::completion::{agents, resources, tasks};

#[derive(Debug, Subcommand)]
pub enum TasksCommand {
    /// List tasks, newest first
    List(ListArgs),
    /// Show a task
    Get(TaskArg),
    /// Create a task from a file
    Create {
        /// Task file in JSON or YAML, as the API accepts it; `-` for standard input
        #[arg(long, short, value_name = "FILE")]
        file: PathBuf,
        /// Also submit the task for review
        #[arg(long)]
        submit: bool,
    },
    /// Evaluate a task without creating it: risk, policies and required approvals
    Evaluate {
        /// Task file in JSON or YAML, as the API accepts it; `-` for standard input
        #[arg(long, short, value_name = "FILE")]
        file: PathBuf,
    },
    /// Update a task from a file; fields missing from the file stay unchanged
    Amend {
        #[command(flatten)]
        task: TaskArg,
        /// JSON or YAML file with parameters, resources, tags or plan; `-` for standard input
        #[arg(long, short, value_name = "FILE")]
        file: PathBuf,
    },
    /// Submit a draft for review
    Submit(TaskArg),
    /// Cancel a task, or request its executor to stop
    Cancel {
        #[command(flatten)]
        task: TaskArg,
        /// Reason, visible to everyone who can see the task
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
    },
    /// Retry a failed task
    Retry(TaskArg),
    /// Create a new task with the content of a finished one
    Resubmit(TaskArg),
    /// Delete a draft
    Delete(TaskArg),
    /// Wait until a task reaches a state
    Wait(WaitArgs),
    /// Explain the state of a task: every gate, and who may decide
    Explain(TaskArg),
    /// Print the URL of the task's review page
    Open {
        #[command(flatten)]
        task: TaskArg,
        /// Also open the page with $BROWSER or xdg-open
        #[arg(long)]
        browser: bool,
    },
    /// Diff two revisions of a task; defaults to the last two
    Diff {
        #[command(flatten)]
        task: TaskArg,
        /// Revisions to compare, such as `1..3`, or `2` for `1..2`
        #[arg(long, value_name = "A..B")]
        rev: Option<String>,
        /// Exit with 1 if there are differences
        #[arg(long)]
        exit_code: bool,
    },
    /// List the revisions of a task, newest first
    Revisions(TaskArg),
    /// List the approval requests and votes of a task
    Approvals(TaskArg),
    /// List the executions of a task, newest first
    Executions(TaskArg),
    /// Print the output of the latest execution
    Logs {
        #[command(flatten)]
        task: TaskArg,
        /// Follow the output until the execution ends
        #[arg(long, short)]
        follow: bool,
    },
    /// List the comments on a task
    Comments(TaskArg),
    /// Add a comment to a task
    Comment {
        #[command(flatten)]
        task: TaskArg,
        /// Comment text
        #[arg(value_name = "TEXT")]
        text: String,
    },
    /// Extend the review deadline of a task
    Extend {
        #[command(flatten)]
        task: TaskArg,
        /// New deadline, such as `2h` (from now) or `2026-11-15T18:00:00Z`
        #[arg(long, value_name = "WHEN", value_parser = moment)]
        until: Timestamp,
        /// Reason, recorded in the audit log
        #[arg(long, value_name = "TEXT")]
        reason: String,
    },
    /// Record the outcome of an execution in UNKNOWN state
    Reconcile {
        #[command(flatten)]
        task: TaskArg,
        /// Outcome you found: completed, failed or not-applied
        #[arg(long, value_name = "WHAT", value_parser = word::<Finding>)]
        found: Finding,
        /// Evidence for the outcome, recorded in the audit log
        #[arg(long, value_name = "TEXT")]
        reason: String,
    },
}

#[derive(Debug, Clone, Copy, Args)]
pub struct TaskArg {
    /// Task ID, or its number such as `T-8`
    #[arg(value_name = "TASK", add = ArgValueCompleter::new(tasks))]
    pub id: TaskRef,
}

#[derive(Debug, Args)]
pub struct ListArgs {
    /// Only tasks in this state; can be repeated
    #[arg(long = "state", value_name = "STATE", value_parser = state)]
    pub states: Vec<State>,
    /// Only tasks proposed by this user
    #[arg(long, value_name = "USER")]
    pub author: Option<UserId>,
    /// Only tasks proposed by this agent
    #[arg(long, value_name = "AGENT", add = ArgValueCompleter::new(agents))]
    pub agent: Option<AgentId>,
    /// Only tasks of this type
    #[arg(long = "type", value_name = "TYPE")]
    pub task_type: Option<String>,
    /// Only tasks that touch this resource
    #[arg(long, value_name = "TYPE:ID", add = ArgValueCompleter::new(resources))]
    pub resource: Option<ResourceRef>,
    /// Only tasks with this tag
    #[arg(long, value_name = "TAG")]
    pub tag: Option<String>,
    /// Only tasks of this risk level
    #[arg(long, value_name = "LEVEL", value_parser = word::<Level>)]
    pub level: Option<Level>,
    /// Only tasks that you proposed, also through your agents
    #[arg(long, conflicts_with_all = ["author", "agent"])]
    pub mine: bool,
    /// Only tasks whose title contains this text, in any case
    #[arg(long, value_name = "TEXT")]
    pub search: Option<String>,
    /// Only tasks created since this time, such as 2d or 2026-11-15T18:00:00Z
    #[arg(long, value_name = "TIME", value_parser = past)]
    pub since: Option<Timestamp>,
    /// Only tasks created before this time
    #[arg(long, value_name = "TIME", value_parser = past)]
    pub before: Option<Timestamp>,
    /// List the oldest tasks first
    #[arg(long)]
    pub oldest: bool,
    #[command(flatten)]
    pub limit: LimitArg,
}

#[derive(Debug, Clone, Copy, Args)]
pub struct LimitArg {
    /// Maximum number of items to list
    #[arg(long, short = 'n', value_name = "N", default_value_t = 20,
          value_parser = clap::value_parser!(u32).range(1..=i64::from(PAGE_SIZE_MAX) * 50))]
    pub limit: u32,
}

impl LimitArg {
    pub fn count(self) -> usize {
        usize::try_from(self.limit).unwrap_or(usize::MAX)
    }
}

#[derive(Debug, Args)]
pub struct WaitArgs {
    #[command(flatten)]
    pub task: TaskArg,
    /// State to wait for, or several of them; defaults to any final state
    #[arg(long = "for", value_name = "STATE", value_parser = state, num_args = 1..)]
    pub states: Vec<State>,
    /// Maximum time to wait, such as 90s, 30m or 2h
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub timeout: Option<Duration>,
}
