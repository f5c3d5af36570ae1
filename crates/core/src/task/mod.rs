//! The lifecycle of a task. `decide` is the only function that changes a state: it takes the loaded
//! task, a command and the facts, and returns everything that must be written, or a refusal.

mod agreement;
mod apply;
mod authority;
mod basis;
mod blocked;
mod break_glass;
mod claimability;
mod command;
mod content;
mod deadline;
mod decide;
mod decision;
mod evolve;
mod explain;
mod facts;
mod gate;
mod loaded_gates;
mod moves;
mod notice;
mod refusal;
mod review;
mod rollback;
mod state;
mod task_decision;
mod voting;
mod warnings;

pub use agreement::Agreement;
pub use authority::AuthorityAge;
pub use basis::Basis;
pub use blocked::{Blocked, Holder};
pub use claimability::{Claimant, ClaimedTask, blocked_claim, may_get_permit, retry_after};
pub use command::{
    ApplyResult, Command, CommandKind, Content, Escalation, Hold, ReconcileFinding, Remains, Reopen,
};
pub use deadline::{expires_at, warns_at};
#[cfg(feature = "cedar")]
pub(crate) use decide::transition;
pub use decide::{create, decide};
pub use decision::{Decision, Write};
pub use explain::{Explanation, explain};
pub use facts::{AgentFacts, ApplyFacts, Facts, TaskRules};
pub use gate::{Gate, GateCode, GateName};
pub use loaded_gates::LoadedGates;
pub use moves::{MOVES, Move, To, Weight, acts_from, find_move};
pub use notice::Notice;
pub use refusal::{BasisLost, Refusal};
pub use rollback::Rollback;
pub use state::State;
pub use task_decision::{DecisionOutcome, SubState, TaskDecision, is_decided};
pub use warnings::{TaskWarning, warnings};

use std::time::Duration;

use crate::actor::Actor;
use crate::approval::separation_of_duties::Participants;
use crate::approval::{Approval, ApprovalStatus, Vote};
use crate::change::Digest;
use crate::ids::{ExecutionId, TaskId, UserId};
use crate::policy::PolicyRef;
use crate::time::Timestamp;

/// A task as loaded for a decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    pub id: TaskId,
    pub state: State,
    /// When the task entered this state.
    pub since: Timestamp,
    pub version: u64,
    pub revision: u32,
    pub content: Content,
    pub involvement: Participants,
    /// The policy versions that the task was submitted under.
    pub pins: Vec<PolicyRef>,
    /// The requests on the current revision.
    pub approvals: Vec<Approval>,
    pub votes: Vec<Vote>,
    /// The review round. It rises when changes are requested: answers of an earlier round never
    /// count again.
    pub round: u32,
    pub review_opened_at: Option<Timestamp>,
    /// How far the escalation has come. Steps up to this time have run and never run again.
    pub escalated_to: Duration,
    /// The review was extended at least until then.
    pub extended_to: Option<Timestamp>,
    pub basis: Option<Basis>,
    /// How the task was last decided; `None` before that, and from the next submission on.
    pub decision: Option<TaskDecision>,
    pub break_glass: Option<BreakGlass>,
    pub execution: Option<Execution>,
    /// The number of applies started so far.
    pub attempts: u32,
    /// The change was made by the agent's host, which has not reported the result.
    pub is_released: bool,
}

impl Task {
    /// Creates a draft.
    pub fn draft(id: TaskId, involvement: Participants, content: Content, now: Timestamp) -> Self {
        Self {
            id,
            state: State::Draft,
            since: now,
            version: 1,
            revision: 1,
            content,
            involvement,
            pins: Vec::new(),
            approvals: Vec::new(),
            votes: Vec::new(),
            round: 0,
            review_opened_at: None,
            escalated_to: Duration::ZERO,
            extended_to: None,
            basis: None,
            decision: None,
            break_glass: None,
            execution: None,
            attempts: 0,
            is_released: false,
        }
    }

    /// Returns the unanswered requests on the current revision.
    pub fn open_requests(&self) -> impl Iterator<Item = &Approval> {
        self.approvals.iter().filter(|request| {
            request.revision == self.revision && request.status == ApprovalStatus::Pending
        })
    }
}

/// An override of the review that one admin requested and another may confirm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BreakGlass {
    pub asked_by: UserId,
    pub ticket: String,
    pub reason: String,
    pub revision: u32,
    pub digest: Digest,
    pub confirm_before: Timestamp,
    pub confirmed: Option<Confirmation>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Confirmation {
    pub by: UserId,
    pub until: Timestamp,
}

impl BreakGlass {
    pub fn covers(&self, task: &Task) -> bool {
        self.revision == task.revision && self.digest == task.content.digest
    }

    fn is_open(&self, task: &Task, now: Timestamp) -> bool {
        self.confirmed.is_none() && self.covers(task) && now < self.confirm_before
    }
}

/// One attempt to apply, until it has ended or is reconciled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Execution {
    pub id: ExecutionId,
    pub holder: Actor,
    pub hold: Hold,
    pub started_at: Timestamp,
    /// Set before the first side effect. It decides between "safe to requeue" and "unknown".
    pub begun_at: Option<Timestamp>,
    pub abort_requested: bool,
}

#[cfg(test)]
mod tests;
