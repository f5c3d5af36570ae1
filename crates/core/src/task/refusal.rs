//! Why a command was not carried out, with the values a person needs to do something about it.
//! Every refusal leaves the task exactly as it was.

use thiserror::Error;

use super::basis::BasisLost;
use super::command::CommandKind;
use super::facts::Blocked;
use super::state::State;
use crate::access::Denied;
use crate::approval::Seen;
use crate::approval::delegation::Fault;
use crate::approval::separation::Conflict;
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
        /// Who is applying it, if somebody is.
        holder: Option<String>,
        works_from: Vec<State>,
    },
    #[error("a task that exists cannot be created again")]
    AlreadyExists,
    #[error(transparent)]
    Denied(#[from] Denied),
    #[error("you cannot agree to it: you are {} ({})", .0.part, .0.account)]
    SelfApproval(Conflict),
    #[error("you were not asked; {} may answer now", people(may_answer))]
    NotAsked { may_answer: Vec<UserId> },
    #[error("you have no say yet: {0}")]
    RoleTooNew(TooNew),
    #[error("only a person can do this")]
    PersonRequired,
    #[error(
        "you saw revision {} ({}); it is now revision {} ({}): see what changed, decide again",
        seen.revision, seen.digest, current.revision, current.digest
    )]
    StaleRevision { seen: Seen, current: Seen },
    #[error("say why: a reason is required")]
    ReasonRequired,
    #[error("the reason has {bytes} bytes; at most {REASON_MAX_BYTES} are kept")]
    ReasonTooLong { bytes: usize },
    #[error("name the incident ticket")]
    TicketRequired,
    #[error("the content is the same as that of revision {revision}")]
    NothingChanged { revision: u32 },
    #[error("the loaded policy versions are not the ones it was submitted under")]
    PinsMissing,
    #[error("no policy lets it pass without a person")]
    AutoApprovalRefused { reasons: Vec<AutoRefusal> },
    #[error("you have no answer that counts on this revision")]
    NothingToWithdraw,
    #[error("the policies forbid delegation here")]
    DelegationForbidden,
    #[error("{to} cannot take this request over: they may not approve it in their own right")]
    DelegateNotAllowed { to: UserId },
    #[error(transparent)]
    Delegation(Fault),
    #[error("you have no open request on this revision")]
    NoOpenRequest,
    #[error("{reviewer} is active or has no open request: nothing to reassign")]
    NothingToReassign { reviewer: UserId },
    #[error("all escalation steps have run")]
    NoStepLeft,
    #[error("not before {at}")]
    NotDue { at: Timestamp },
    #[error("the approval still stands until {until}")]
    BasisStands { until: Timestamp },
    #[error("the approval no longer stands: {0}")]
    BasisLost(BasisLost),
    #[error("applies are stopped by freeze {id}: {reason}")]
    Frozen { id: FreezeId, reason: String, ends_at: Option<Timestamp> },
    #[error("no permit is given: {0}")]
    InstallationFrozen(InstallationFreeze),
    #[error("{} resource(s) are held by others", .0.len())]
    ResourcesBlocked(Vec<Blocked>),
    #[error("the agent has no free slot")]
    NoCapacity,
    #[error("this is not the grant the task is applied under")]
    NotTheHold,
    #[error("the apply began at {at}; it can no longer be taken back unseen")]
    AlreadyBegun { at: Timestamp },
    #[error("the apply has not begun")]
    NotBegun,
    #[error("somebody asked to stop it before it began")]
    AbortAsked,
    #[error("the preview gave the approved effect: there is no drift")]
    NotDrifted,
    #[error("the old holder may still be at work: its hold is not fenced and over")]
    HolderMayLive,
    #[error("it was tried {APPLY_ATTEMPTS_MAX} times")]
    AttemptsExhausted,
    #[error(
        "{asked_by} asked for an override; a second admin can confirm it before {confirm_before}"
    )]
    OverrideOpen { asked_by: UserId, confirm_before: Timestamp },
    #[error("nobody asked for an override of this revision")]
    OverrideNotAsked,
    #[error("the override was not confirmed before {at}")]
    OverrideLapsed { at: Timestamp },
    #[error("more time can be given from {ends_at}, when it would end, until {latest}")]
    ExtensionOutOfRange { ends_at: Timestamp, latest: Timestamp },
    #[error("{asked_by} asked for it: another admin has to confirm")]
    SameAdmin { asked_by: UserId },
}

fn where_it_is(
    state: State,
    since: Timestamp,
    holder: Option<&String>,
    works_from: &[State],
) -> String {
    let by = holder.map(|name| format!(" by {name}")).unwrap_or_default();
    let from: Vec<&str> = works_from.iter().map(|state| state.as_str()).collect();
    format!("the task is {state} since {since}{by}; it works from {}", from.join(", "))
}

fn people(ids: &[UserId]) -> String {
    if ids.is_empty() {
        return "nobody".to_owned();
    }
    ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
