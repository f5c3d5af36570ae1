//! The table of all state transitions. `decide` refuses whatever is not in it; the diagram, the
//! database checks and the enabled buttons are derived from it.

use super::command::CommandKind;
use super::state::State;
use super::state::State::{
    Applying, Approved, Cancelled, Completed, Draft, Expired, Failed, Rejected, Reviewing,
    Submitted, Unknown,
};

/// The target of a transition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum To {
    State(State),
    /// The row is deleted; the audit keeps a record.
    Gone,
    /// The task stays unchanged, and a new draft that refers to it is created.
    NewDraft,
}

/// Whether a transition is an action or only evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Weight {
    Act,
    /// Arrived too late to count: stored as evidence, and the sender is informed.
    Evidence,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Move {
    pub command: CommandKind,
    /// The source states; empty for a task that does not exist yet.
    pub from: &'static [State],
    pub to: &'static [To],
    pub weight: Weight,
    /// A description of the actor for readers of the table; `access` decides.
    pub by: &'static str,
}

const fn act(
    command: CommandKind,
    from: &'static [State],
    to: &'static [To],
    by: &'static str,
) -> Move {
    Move { command, from, to, weight: Weight::Act, by }
}

const fn stays(command: CommandKind, state: &'static [State], by: &'static str) -> Move {
    Move { command, from: state, to: &[], weight: Weight::Act, by }
}

const fn evidence(command: CommandKind, from: &'static [State], by: &'static str) -> Move {
    Move { command, from, to: &[], weight: Weight::Evidence, by }
}

const REVIEWER: &str = "an assigned reviewer";
const HOLDER: &str = "the holder of the permit";
const SYSTEM: &str = "the server";
const AUTHOR: &str = "the author, their agent, an admin";

/// All states that follow a review: an answer that arrives in them is late.
const AFTER_REVIEW: &[State] =
    &[Draft, Approved, Applying, Completed, Rejected, Cancelled, Failed, Unknown, Expired];

/// The transitions. An empty `to` means that the state does not change.
pub const MOVES: &[Move] = &[
    act(CommandKind::Create, &[], &[To::State(Draft)], "an author, an agent, an admin"),
    act(CommandKind::Delete, &[Draft], &[To::Gone], "the author, an admin"),
    act(
        CommandKind::Comment,
        &[Reviewing, Approved, Applying, Completed, Rejected, Cancelled, Failed, Unknown, Expired],
        &[],
        "anyone who may read it",
    ),
    stays(CommandKind::Amend, &[Draft], AUTHOR),
    act(CommandKind::Amend, &[Submitted, Reviewing, Approved], &[To::State(Submitted)], AUTHOR),
    act(CommandKind::Submit, &[Draft], &[To::State(Submitted)], AUTHOR),
    act(
        CommandKind::OpenReview,
        &[Submitted],
        &[To::State(Reviewing), To::State(Approved)],
        SYSTEM,
    ),
    act(CommandKind::AutoApprove, &[Submitted], &[To::State(Approved)], SYSTEM),
    act(CommandKind::Approve, &[Reviewing], &[To::State(Reviewing), To::State(Approved)], REVIEWER),
    act(CommandKind::Reject, &[Reviewing], &[To::State(Reviewing), To::State(Rejected)], REVIEWER),
    act(CommandKind::RequestChanges, &[Reviewing], &[To::State(Draft)], REVIEWER),
    evidence(CommandKind::Approve, AFTER_REVIEW, REVIEWER),
    evidence(CommandKind::Reject, AFTER_REVIEW, REVIEWER),
    evidence(CommandKind::RequestChanges, AFTER_REVIEW, REVIEWER),
    stays(CommandKind::WithdrawVote, &[Reviewing], "the voter"),
    act(
        CommandKind::WithdrawVote,
        &[Approved],
        &[To::State(Approved), To::State(Submitted)],
        "the voter",
    ),
    stays(CommandKind::Delegate, &[Reviewing], "the assigned reviewer"),
    stays(CommandKind::Escalate, &[Reviewing], SYSTEM),
    stays(CommandKind::Extend, &[Reviewing], "an assigned reviewer, an admin"),
    stays(CommandKind::WarnExpiry, &[Reviewing, Approved], SYSTEM),
    act(
        CommandKind::Cancel,
        &[Draft, Submitted, Reviewing, Approved],
        &[To::State(Cancelled)],
        "the author, their agent, an admin, the server",
    ),
    stays(CommandKind::Cancel, &[Applying], "the author, their agent, an admin, the server"),
    act(CommandKind::Expire, &[Submitted, Reviewing, Approved], &[To::State(Expired)], SYSTEM),
    act(CommandKind::ReopenReview, &[Approved], &[To::State(Submitted)], SYSTEM),
    act(
        CommandKind::StartApply,
        &[Approved],
        &[To::State(Applying)],
        "the claiming agent, the server",
    ),
    stays(CommandKind::BeginApply, &[Applying], HOLDER),
    act(CommandKind::DriftApply, &[Applying], &[To::State(Submitted)], HOLDER),
    act(
        CommandKind::WithdrawPermit,
        &[Applying],
        &[To::State(Approved), To::State(Submitted)],
        HOLDER,
    ),
    act(
        CommandKind::RequeueApply,
        &[Applying],
        &[To::State(Approved), To::State(Cancelled), To::State(Failed)],
        SYSTEM,
    ),
    act(CommandKind::FinishApply, &[Applying], &[To::State(Completed)], HOLDER),
    act(
        CommandKind::FailApply,
        &[Applying],
        &[To::State(Failed), To::State(Approved), To::State(Cancelled)],
        HOLDER,
    ),
    evidence(CommandKind::FinishApply, &[Unknown], "the lost holder"),
    evidence(CommandKind::FailApply, &[Unknown], "the lost holder"),
    act(CommandKind::LoseApply, &[Applying], &[To::State(Unknown)], SYSTEM),
    act(
        CommandKind::Reconcile,
        &[Unknown],
        &[To::State(Completed), To::State(Failed), To::State(Approved)],
        "an admin, a resource's owner",
    ),
    act(
        CommandKind::Retry,
        &[Failed],
        &[To::State(Approved), To::State(Submitted)],
        "the author, an admin",
    ),
    act(
        CommandKind::Resubmit,
        &[Rejected, Expired, Failed, Cancelled],
        &[To::NewDraft],
        "the author",
    ),
    act(CommandKind::Override, &[Submitted, Reviewing], &[], "an admin"),
    act(
        CommandKind::ConfirmOverride,
        &[Submitted, Reviewing],
        &[To::State(Approved)],
        "a second admin",
    ),
    act(CommandKind::LapseOverride, &[Submitted, Reviewing], &[], SYSTEM),
];

/// Returns the transition of a command from a state, if there is one.
pub fn find_move(command: CommandKind, from: State) -> Option<&'static Move> {
    MOVES.iter().find(|row| row.command == command && row.from.contains(&from))
}

/// Returns the states from which a command is allowed, for use in refusals.
pub fn acts_from(command: CommandKind) -> Vec<State> {
    MOVES
        .iter()
        .filter(|row| row.command == command && row.weight == Weight::Act)
        .flat_map(|row| row.from.iter().copied())
        .collect()
}
