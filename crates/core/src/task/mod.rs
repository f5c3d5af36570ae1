//! The life of a task. `decide` is the only place a state changes: it takes the task as loaded,
//! a command and the facts, and answers with everything that must be written, or refuses.

mod agreement;
mod apply;
mod basis;
mod break_glass;
mod command;
mod content;
mod deadline;
mod decide;
mod evolve;
mod explain;
mod facts;
mod moves;
mod notice;
mod refusal;
mod review;
mod rollback;
mod state;
mod voting;

pub use agreement::Agreement;
pub use basis::{Basis, BasisLost};
pub use break_glass::{BreakGlass, Confirmation};
pub use command::{Command, CommandKind, Content, Escalation, Found, Hold, Remains, Reopen};
pub use deadline::{expires_at, warns_at};
#[cfg(feature = "bench")]
pub use decide::transition;
pub use decide::{Decision, Write, create, decide};
pub use explain::{Explanation, Gate, GateName, explain};
pub use facts::{AgentFacts, ApplyFacts, Blocked, Facts, Holder, Rules};
pub use moves::{MOVES, Move, To, Weight, acts_from, find_move};
pub use notice::Notice;
pub use refusal::Refusal;
pub use rollback::Rollback;
pub use state::State;

use std::collections::BTreeSet;
use std::time::Duration;

use crate::actor::Actor;
use crate::approval::separation::Involvement;
use crate::approval::{Approval, Status, Vote};
use crate::ids::{AgentId, ExecutionId, TaskId, UserId};
use crate::policy::PolicyRef;
use crate::time::Timestamp;

/// A task as loaded for a decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    pub id: TaskId,
    pub state: State,
    /// When it entered this state.
    pub since: Timestamp,
    pub version: u64,
    pub revision: u32,
    pub content: Content,
    pub involvement: Involvement,
    /// The policy versions it was submitted under.
    pub pins: Vec<PolicyRef>,
    /// Requests on the current revision.
    pub approvals: Vec<Approval>,
    pub votes: Vec<Vote>,
    /// Grows when changes are requested: answers of an earlier round never count again.
    pub round: u32,
    pub review_opened_at: Option<Timestamp>,
    /// How far the escalation has come: steps up to here have run and never run again.
    pub escalated_to: Duration,
    /// The review goes on at least until then: somebody asked for more time.
    pub extended_to: Option<Timestamp>,
    pub basis: Option<Basis>,
    pub break_glass: Option<BreakGlass>,
    pub execution: Option<Execution>,
    /// Applies started so far.
    pub attempts: u32,
}

impl Task {
    /// Before anything has happened to it.
    pub fn draft(
        id: TaskId,
        author: UserId,
        agent: Option<AgentId>,
        content: Content,
        now: Timestamp,
    ) -> Self {
        let editors = BTreeSet::new();
        Self {
            id,
            state: State::Draft,
            since: now,
            version: 1,
            revision: 1,
            content,
            involvement: Involvement { author, agent, submitter: None, editors },
            pins: Vec::new(),
            approvals: Vec::new(),
            votes: Vec::new(),
            round: 0,
            review_opened_at: None,
            escalated_to: Duration::ZERO,
            extended_to: None,
            basis: None,
            break_glass: None,
            execution: None,
            attempts: 0,
        }
    }

    /// Requests on the current revision that nobody has answered.
    pub fn open_requests(&self) -> impl Iterator<Item = &Approval> {
        self.approvals.iter().filter(|request| {
            request.revision == self.revision && request.status == Status::Pending
        })
    }
}

/// One attempt to apply, while it runs or until it is reconciled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Execution {
    pub id: ExecutionId,
    pub holder: Actor,
    pub hold: Hold,
    pub started_at: Timestamp,
    /// Set before the first side effect: the line between "safe to requeue" and "unknown".
    pub begun_at: Option<Timestamp>,
    pub abort_requested: bool,
}

#[cfg(test)]
mod tests;
