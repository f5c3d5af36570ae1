//! How the last review or wait of a task ended, with the reason. Agents read it to know what to do
//! next; the rules of the lifecycle do not depend on it.

use serde::{Deserialize, Serialize};

use super::{State, Task};
use crate::time::Timestamp;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DecisionOutcome {
    Approved,
    Rejected,
    /// A reviewer returned the task to its author.
    ChangesRequested,
    Cancelled,
    /// The time ran out before enough people had answered, or before the task was applied.
    Expired,
}

impl DecisionOutcome {
    pub const ALL: [Self; 5] =
        [Self::Approved, Self::Rejected, Self::ChangesRequested, Self::Cancelled, Self::Expired];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Approved => "approved",
            Self::Rejected => "rejected",
            Self::ChangesRequested => "changes_requested",
            Self::Cancelled => "cancelled",
            Self::Expired => "expired",
        }
    }
}

/// The decision about a task. It is kept until the task is submitted again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskDecision {
    pub outcome: DecisionOutcome,
    /// A vote to reject or to request changes always has a reason; an approval may have one.
    pub reason: Option<String>,
    /// The id of the reviewer whose vote decided or of the actor that cancelled, or the name of the
    /// worker that applied a rule.
    pub by: String,
    pub at: Timestamp,
    /// The revision that was decided.
    pub revision: u32,
}

/// A detail of a state that changes what its reader should do, but not which commands are possible.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum SubState {
    /// A draft that a reviewer has returned: it must be amended before it is submitted again.
    ChangesRequested,
    /// A completed task whose change was made by the agent's host: the host was allowed to make
    /// it, and the result is not known.
    ReleasedToHost,
}

impl SubState {
    pub const ALL: [Self; 2] = [Self::ChangesRequested, Self::ReleasedToHost];

    pub fn of(state: State, decision: Option<&TaskDecision>, is_released: bool) -> Option<Self> {
        let is_returned =
            decision.is_some_and(|one| one.outcome == DecisionOutcome::ChangesRequested);
        match state {
            State::Draft if is_returned => Some(Self::ChangesRequested),
            State::Completed if is_released => Some(Self::ReleasedToHost),
            State::Draft
            | State::Submitted
            | State::Reviewing
            | State::Approved
            | State::Applying
            | State::Completed
            | State::Rejected
            | State::Cancelled
            | State::Failed
            | State::Unknown
            | State::Expired => None,
        }
    }

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ChangesRequested => "CHANGES_REQUESTED",
            Self::ReleasedToHost => "RELEASED_TO_HOST",
        }
    }
}

/// Returns whether the reviewers, or the author by cancelling, have decided: the task is approved,
/// has ended, or was returned to its author.
pub const fn is_decided(state: State, sub_state: Option<SubState>) -> bool {
    match state {
        State::Submitted | State::Reviewing => false,
        State::Draft => sub_state.is_some(),
        State::Approved
        | State::Applying
        | State::Completed
        | State::Rejected
        | State::Cancelled
        | State::Failed
        | State::Unknown
        | State::Expired => true,
    }
}

impl Task {
    pub fn sub_state(&self) -> Option<SubState> {
        SubState::of(self.state, self.decision.as_ref(), self.is_released)
    }
}
