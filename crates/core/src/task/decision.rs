//! The result of a command: the next state, everything that must be written, and the events.

use std::collections::BTreeSet;
use std::time::Duration;

use super::command::{Content, Remains};
use super::moves::To;
use super::{Basis, BreakGlass, Confirmation, Execution, State, Task, TaskDecision};
use crate::actor::Role;
use crate::approval::assignment::{ReviewRequest, Shortage};
use crate::approval::{ApprovalStatus, Vote, VoteMark};
use crate::event::EventKind;
use crate::ids::UserId;
use crate::policy::PolicyRef;
use crate::time::Timestamp;

/// One change to be written. `Task::after` defines what each means for the task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Write {
    /// Adds the next revision.
    Revise {
        content: Content,
        editor: Option<UserId>,
        token_issuer: Option<UserId>,
    },
    /// Keeps approving votes for an identical effect.
    CarryVotes(Vec<Vote>),
    Pin {
        pins: Vec<PolicyRef>,
        submitter: UserId,
        token_issuer: Option<UserId>,
    },
    OpenReview,
    Ask {
        requests: Vec<ReviewRequest>,
        due_at: Timestamp,
    },
    /// Reports groups that can never be satisfied.
    TellShortages(Vec<Shortage>),
    CloseApprovals {
        status: ApprovalStatus,
    },
    CloseApproval {
        reviewer: UserId,
        status: ApprovalStatus,
    },
    Record(Vote),
    WithdrawVote {
        voter: UserId,
    },
    NextRound,
    /// Records that escalation steps up to this time have run and have widened groups.
    EscalatedTo(Duration),
    /// Extends the review at least until this time.
    ExtendTo(Timestamp),
    Notify {
        roles: BTreeSet<Role>,
        people: BTreeSet<UserId>,
    },
    SetBasis(Basis),
    ClearBasis,
    Decide(TaskDecision),
    AskOverride(BreakGlass),
    ConfirmOverride(Confirmation),
    DropOverride,
    OpenAfterReview {
        due_at: Timestamp,
    },
    StartExecution(Execution),
    Begin,
    RequestAbort,
    EndExecution,
    /// The result stays unknown, because the agent's host made the change.
    ReleaseToHost,
    ResetAttempts,
    /// Delays the next attempt at least until this time; the caller adds jitter.
    NotBefore(Timestamp),
    /// Stores a late report of a lost holder.
    LateReport {
        remains: Option<Remains>,
    },
    Comment {
        text: String,
    },
    FrontOfQueue,
}

impl Write {
    /// Adds a revision that a new preview brought about; it has no editor.
    pub(super) fn preview(content: &Content) -> Self {
        Self::Revise { content: content.clone(), editor: None, token_issuer: None }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// The previous state; `None` for a task that is being created.
    pub from: Option<State>,
    pub to: To,
    pub writes: Vec<Write>,
    pub events: Vec<EventKind>,
}

impl Decision {
    pub(super) fn to(task: &Task, state: State) -> Self {
        Self {
            from: Some(task.state),
            to: To::State(state),
            writes: Vec::new(),
            events: Vec::new(),
        }
    }

    pub(super) fn stay(task: &Task) -> Self {
        Self::to(task, task.state)
    }

    pub(super) fn leave(task: &Task, to: To) -> Self {
        Self { to, ..Self::stay(task) }
    }

    pub(super) fn write(mut self, write: Write) -> Self {
        self.writes.push(write);
        self
    }

    /// Adds a mark to the vote that the decision records, if there is one.
    #[must_use]
    pub fn with_mark(mut self, mark: Option<VoteMark>) -> Self {
        for write in &mut self.writes {
            if let Write::Record(vote) = write {
                vote.marks.extend(mark);
            }
        }
        self
    }

    /// Returns the marks of the vote that the decision records.
    pub fn marks(&self) -> BTreeSet<VoteMark> {
        let votes = self.writes.iter().filter_map(|write| match write {
            Write::Record(vote) => Some(&vote.marks),
            _ => None,
        });
        votes.flatten().copied().collect()
    }

    pub(super) fn tell(mut self, event: EventKind) -> Self {
        self.events.push(event);
        self
    }
}
