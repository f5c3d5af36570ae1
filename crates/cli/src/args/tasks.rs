//! `ade tasks`.

use std::path::PathBuf;
use std::time::Duration;

use ade_api::executions::Finding;
use ade_core::ids::{AgentId, TaskId, UserId};
use ade_core::limits::PAGE_SIZE_MAX;
use ade_core::resource::ResourceRef;
use ade_core::risk::Level;
use ade_core::task::State;
use ade_core::time::Timestamp;
use clap::{Args, Subcommand};
use clap_complete::ArgValueCompleter;

use super::read::{duration, moment, state, word};
use crate::completion::{agents, resources, tasks};

#[derive(Debug, Subcommand)]
pub enum TasksCommand {
    /// List tasks, newest first
    List(ListArgs),
    /// Show one task
    Get(TaskArg),
    /// Propose a task that a file describes
    Create {
        /// JSON or YAML as the API takes it; `-` reads standard input
        #[arg(long, short, value_name = "FILE")]
        file: PathBuf,
        /// Hand it in at once
        #[arg(long)]
        submit: bool,
    },
    /// Say what would become of a task that is not proposed yet; nothing is written
    Simulate {
        /// JSON or YAML as the API takes it; `-` reads standard input
        #[arg(long, short, value_name = "FILE")]
        file: PathBuf,
    },
    /// Change a task: what the file leaves out stays as it is
    Amend {
        #[command(flatten)]
        task: TaskArg,
        /// JSON or YAML with parameters, resources, tags or plan; `-` reads standard input
        #[arg(long, short, value_name = "FILE")]
        file: PathBuf,
    },
    /// Hand in a draft for review
    Submit(TaskArg),
    /// Cancel a task, or ask whoever applies it to stop
    Cancel {
        #[command(flatten)]
        task: TaskArg,
        /// Why; everybody who sees the task sees it
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
    },
    /// Try a task that has failed once more
    Retry(TaskArg),
    /// Propose the content of an ended task anew
    Resubmit(TaskArg),
    /// Throw a draft away
    Delete(TaskArg),
    /// Wait until a task has come to a state
    Wait(WaitArgs),
    /// Say why a task is where it is: every gate, and who may answer
    Explain(TaskArg),
    /// Print the address of its page, where people review it
    Open {
        #[command(flatten)]
        task: TaskArg,
        /// Open the page here too, with $BROWSER or xdg-open
        #[arg(long)]
        browser: bool,
    },
    /// What differs between two revisions; the last two if none are named
    Diff {
        #[command(flatten)]
        task: TaskArg,
        /// Like `1..3`, or `2` for that one and the one before
        #[arg(long, value_name = "A..B")]
        rev: Option<String>,
        /// End with 1 if anything differs
        #[arg(long)]
        exit_code: bool,
    },
    /// All revisions, the newest first
    Revisions(TaskArg),
    /// Who was asked, and every answer
    Approvals(TaskArg),
    /// The attempts to apply it, the newest first
    Executions(TaskArg),
    /// What the newest attempt printed
    Logs {
        #[command(flatten)]
        task: TaskArg,
        /// Go on until the attempt is over
        #[arg(long, short)]
        follow: bool,
    },
    /// What people and agents wrote about it
    Comments(TaskArg),
    /// Write something about it
    Comment {
        #[command(flatten)]
        task: TaskArg,
        #[arg(value_name = "TEXT")]
        text: String,
    },
    /// Give a review more time
    Extend {
        #[command(flatten)]
        task: TaskArg,
        /// When it ends then, like `2h` or `2026-11-15T18:00:00Z`
        #[arg(long, value_name = "WHEN", value_parser = moment)]
        until: Timestamp,
        /// Why
        #[arg(long, value_name = "TEXT")]
        reason: String,
    },
    /// Say what became of an attempt whose end nobody knew
    Reconcile {
        #[command(flatten)]
        task: TaskArg,
        /// completed, failed or not-applied
        #[arg(long, value_name = "WHAT", value_parser = word::<Finding>)]
        found: Finding,
        /// How you know
        #[arg(long, value_name = "TEXT")]
        reason: String,
    },
}

#[derive(Debug, Clone, Copy, Args)]
pub struct TaskArg {
    #[arg(value_name = "TASK", add = ArgValueCompleter::new(tasks))]
    pub id: TaskId,
}

#[derive(Debug, Args)]
pub struct ListArgs {
    /// Only tasks in this state; may be given several times
    #[arg(long = "state", value_name = "STATE", value_parser = state)]
    pub states: Vec<State>,
    /// Only those of this person
    #[arg(long, value_name = "USER")]
    pub author: Option<UserId>,
    /// Only those that this agent proposed
    #[arg(long, value_name = "AGENT", add = ArgValueCompleter::new(agents))]
    pub agent: Option<AgentId>,
    /// Only those of this type
    #[arg(long = "type", value_name = "TYPE")]
    pub task_type: Option<String>,
    /// Only those that touch this
    #[arg(long, value_name = "TYPE:ID", add = ArgValueCompleter::new(resources))]
    pub resource: Option<ResourceRef>,
    /// Only those with this tag
    #[arg(long, value_name = "TAG")]
    pub tag: Option<String>,
    /// Only those of this level of risk
    #[arg(long, value_name = "LEVEL", value_parser = word::<Level>)]
    pub level: Option<Level>,
    #[command(flatten)]
    pub limit: LimitArg,
}

#[derive(Debug, Clone, Copy, Args)]
pub struct LimitArg {
    /// How many at most
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
    /// The state to wait for, or one of several; the end of the task if left out
    #[arg(long = "for", value_name = "STATE", value_parser = state, num_args = 1..)]
    pub states: Vec<State>,
    /// Give up after this long, for example 90s, 30m or 2h
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub timeout: Option<Duration>,
}
