//! Why a command was refused, with the values that a person needs to act on it. A refusal never
//! changes the task.

use thiserror::Error;

use super::blocked::Blocked;
use super::command::CommandKind;
use super::state::State;
use super::task_decision::TaskDecision;
use crate::access::Denied;
use crate::approval::Seen;
use crate::approval::delegation::DelegationError;
use crate::approval::separation_of_duties::Conflict;
use crate::approval::tenure::TooNew;
use crate::freeze::InstallationFreeze;
use crate::ids::{FreezeId, UserId};
use crate::limits::{APPLY_ATTEMPTS_MAX, REASON_MAX_BYTES};
use crate::policy::AutoRefusal;
use crate::time::Timestamp;

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Refusal {
    #[error(
        "{command} is not possible: {}",
        where_it_is(*state, *since, holder.as_ref(), works_from)
    )]
    WrongState {
        command: CommandKind,
        state: State,
        since: Timestamp,
        /// Who is applying the task, if it is being applied.
        holder: Option<String>,
        works_from: Vec<State>,
        /// How the task was decided, if it was.
        decision: Option<Box<TaskDecision>>,
    },
    #[error("the task already exists")]
    AlreadyExists,
    #[error(transparent)]
    Denied(#[from] Denied),
    #[error("you cannot approve this task: you are {} ({})", .0.part, .0.account)]
    SelfApproval(Conflict),
    #[error("no approval was requested from you; {} may answer now", people(may_answer))]
    NotAsked { may_answer: Vec<UserId> },
    #[error("you cannot decide this task yet: {0}")]
    RoleTooNew(TooNew),
    #[error(
        "your passkey was enrolled after a reset and counts for tasks of high risk from \
             {counts_from}"
    )]
    PasskeyTooNew { counts_from: Timestamp },
    #[error("only a person can do this")]
    PersonRequired,
    #[error(
        "you saw revision {} ({}); the task is now at revision {} ({}): review the changes and \
         decide again",
        seen.revision, seen.digest, current.revision, current.digest
    )]
    StaleRevision { seen: Seen, current: Seen },
    #[error("a reason is required")]
    ReasonRequired,
    #[error("the reason has {bytes} bytes; at most {REASON_MAX_BYTES} are allowed")]
    ReasonTooLong { bytes: usize },
    #[error("an incident ticket is required")]
    TicketRequired,
    #[error("the content is identical to revision {revision}")]
    NothingChanged { revision: u32 },
    #[error("the loaded policy versions are not those that the task was submitted under")]
    PinsMissing,
    #[error("no policy allows auto-approval of this task")]
    AutoApprovalRefused { reasons: Vec<AutoRefusal> },
    #[error("you have no vote that counts on this revision")]
    NothingToWithdraw,
    #[error("the policies of this task forbid delegation")]
    DelegationForbidden,
    #[error("{to} cannot take over this request: they cannot approve the task in their own right")]
    DelegateNotAllowed { to: UserId },
    #[error(transparent)]
    Delegation(DelegationError),
    #[error("you have no open approval request for this revision")]
    NoOpenRequest,
    #[error("{reviewer} is active or has no open request: there is nothing to reassign")]
    NothingToReassign { reviewer: UserId },
    #[error("all escalation steps have run")]
    NoStepLeft,
    #[error("too early: not before {at}")]
    NotDue { at: Timestamp },
    #[error("the approval is still valid until {until}")]
    BasisStands { until: Timestamp },
    #[error("the approval is no longer valid: {0}")]
    BasisLost(BasisLost),
    #[error("freeze {id} stops applies: {reason}")]
    Frozen { id: FreezeId, reason: String, ends_at: Option<Timestamp> },
    #[error("no permit was granted: {0}")]
    InstallationFrozen(InstallationFreeze),
    #[error("resources locked by others: {}", resources(.0))]
    ResourcesBlocked(Vec<Blocked>),
    #[error("the agent has no free slot")]
    NoCapacity,
    #[error("the task is being applied under another permit")]
    NotTheHold,
    #[error("the apply began at {at} and can no longer be cancelled")]
    AlreadyBegun { at: Timestamp },
    #[error("the apply has not begun")]
    NotBegun,
    #[error("a cancellation was requested before the apply began")]
    AbortRequested,
    #[error("the preview shows the approved effect: there is no drift")]
    NotDrifted,
    #[error("the previous holder may still be running: its hold is not fenced and expired yet")]
    HolderMayLive,
    #[error("the task was attempted {APPLY_ATTEMPTS_MAX} times")]
    AttemptsExhausted,
    #[error(
        "{asked_by} requested an override; a second admin can confirm it before {confirm_before}"
    )]
    OverrideOpen { asked_by: UserId, confirm_before: Timestamp },
    #[error("no override was requested for this revision")]
    OverrideNotAsked,
    #[error("the override was not confirmed before {at}")]
    OverrideLapsed { at: Timestamp },
    #[error(
        "the review can be extended to a time after {ends_at}, its current end, and up to \
             {latest}"
    )]
    ExtensionOutOfRange { ends_at: Timestamp, latest: Timestamp },
    #[error("{asked_by} requested the override: another admin must confirm it")]
    SameAdmin { asked_by: UserId },
}

/// Why the basis of an approval no longer holds.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum BasisLost {
    #[error("the reason for the approval is not recorded")]
    NoBasis,
    #[error("approvals missing under the current policies and roles: {missing}")]
    QuorumShort { missing: u32 },
    #[error("a policy no longer allows auto-approval")]
    ClauseGone,
    #[error("the approval was valid until {until}")]
    RunOut { until: Timestamp },
    #[error("the override covers another revision or was never confirmed")]
    NotOverridden,
    #[error("the override is no longer backed by two different active admins")]
    OverrideAdminGone,
}

fn where_it_is(
    state: State,
    since: Timestamp,
    holder: Option<&String>,
    works_from: &[State],
) -> String {
    let by = holder.map(|name| format!(" by {name}")).unwrap_or_default();
    let from: Vec<&str> = works_from.iter().map(|state| state.as_str()).collect();
    format!("the task has been {state} since {since}{by}; allowed states: {}", from.join(", "))
}

fn resources(blocked: &[Blocked]) -> String {
    blocked.iter().map(|one| one.resource.to_string()).collect::<Vec<_>>().join(", ")
}

fn people(ids: &[UserId]) -> String {
    if ids.is_empty() {
        return "no one".to_owned();
    }
    ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
