//! The one table of what may happen where. `decide` refuses whatever is not in it; the diagram,
//! the database checks and the enabled buttons are made from it.

use super::command::CommandKind;
use super::state::State;
use super::state::State::{
    Applying, Approved, Cancelled, Completed, Draft, Expired, Failed, Rejected, Reviewing,
    Submitted, Unknown,
};

/// Where a move leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum To {
    State(State),
    /// The row is deleted; the audit keeps the fact.
    Gone,
    /// The task stays as it is, and a new draft that names it is made.
    NewDraft,
}

/// Whether a move is an act or only a note for the record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Weight {
    Act,
    /// Came too late to count: kept as evidence, and whoever sent it is told.
    Evidence,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Move {
    pub command: CommandKind,
    /// Empty for a task that does not exist yet.
    pub from: &'static [State],
    pub to: &'static [To],
    pub weight: Weight,
    /// For people who read the table; `access` is what decides.
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

const REVIEWER: &str = "an asked reviewer";
const HOLDER: &str = "the holder of the permit";
const SYSTEM: &str = "the server";
const AUTHOR: &str = "the author, their agent, an admin";

/// Everything a review leads to: an answer that arrives there is late.
const AFTER_REVIEW: &[State] =
    &[Draft, Approved, Applying, Completed, Rejected, Cancelled, Failed, Unknown, Expired];

/// An empty `to` means the state stays as it is.
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
    stays(CommandKind::Delegate, &[Reviewing], "the asked reviewer"),
    stays(CommandKind::Escalate, &[Reviewing], SYSTEM),
    stays(CommandKind::Extend, &[Reviewing], "an asked reviewer, an admin"),
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
    evidence(CommandKind::FinishApply, &[Unknown], "the holder that was lost"),
    evidence(CommandKind::FailApply, &[Unknown], "the holder that was lost"),
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

/// The move a command makes from a state, if there is one.
pub fn find_move(command: CommandKind, from: State) -> Option<&'static Move> {
    MOVES.iter().find(|row| row.command == command && row.from.contains(&from))
}

/// The states from which a command is an act, for a refusal that says where it would work.
pub fn acts_from(command: CommandKind) -> Vec<State> {
    MOVES
        .iter()
        .filter(|row| row.command == command && row.weight == Weight::Act)
        .flat_map(|row| row.from.iter().copied())
        .collect()
}

impl Move {
    pub fn allows(&self, from: State, to: To) -> bool {
        if self.to.is_empty() { to == To::State(from) } else { self.to.contains(&to) }
    }
}
