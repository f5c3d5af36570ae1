//! The error code of each refusal by the rules, for problems and for responses that list several.

use ade_core::task::Refusal;

use crate::code::Code;

/// There is no wildcard, so that every new refusal gets its own code.
impl From<&Refusal> for Code {
    fn from(refusal: &Refusal) -> Self {
        match refusal {
            Refusal::WrongState { .. } => Self::WrongState,
            Refusal::AlreadyExists => Self::AlreadyExists,
            Refusal::Denied(_) => Self::NotAllowed,
            Refusal::SelfApproval(_) => Self::SelfApproval,
            Refusal::NotAsked { .. } => Self::NotAsked,
            Refusal::RoleTooNew(_) => Self::RoleTooNew,
            Refusal::PasskeyTooNew { .. } => Self::PasskeyTooNew,
            Refusal::PersonRequired => Self::PersonRequired,
            Refusal::StaleRevision { .. } => Self::StaleRevision,
            Refusal::ReasonRequired => Self::ReasonRequired,
            Refusal::ReasonTooLong { .. } => Self::ReasonTooLong,
            Refusal::TicketRequired => Self::TicketRequired,
            Refusal::NothingChanged { .. } => Self::NothingChanged,
            Refusal::PinsMissing => Self::PinsMissing,
            Refusal::AutoApprovalRefused { .. } => Self::AutoApprovalRefused,
            Refusal::NothingToWithdraw => Self::NothingToWithdraw,
            Refusal::DelegationForbidden => Self::DelegationForbidden,
            Refusal::DelegateNotAllowed { .. } => Self::DelegateNotAllowed,
            Refusal::Delegation(_) => Self::DelegationFault,
            Refusal::NoOpenRequest => Self::NoOpenRequest,
            Refusal::NothingToReassign { .. } => Self::NothingToReassign,
            Refusal::NoStepLeft => Self::NoStepLeft,
            Refusal::NotDue { .. } => Self::NotDue,
            Refusal::BasisStands { .. } => Self::BasisStands,
            Refusal::BasisLost(_) => Self::BasisLost,
            Refusal::Frozen { .. } | Refusal::InstallationFrozen(_) => Self::Frozen,
            Refusal::ResourcesBlocked(_) => Self::LockHeld,
            Refusal::NoCapacity => Self::NoCapacity,
            Refusal::NotTheHold => Self::LeaseLost,
            Refusal::AlreadyBegun { .. } => Self::AlreadyBegun,
            Refusal::NotBegun => Self::NotBegun,
            Refusal::AbortRequested => Self::AbortRequested,
            Refusal::NotDrifted => Self::NotDrifted,
            Refusal::HolderMayLive => Self::HolderMayLive,
            Refusal::AttemptsExhausted => Self::AttemptsExhausted,
            Refusal::OverrideOpen { .. } => Self::OverrideOpen,
            Refusal::OverrideNotAsked => Self::OverrideNotAsked,
            Refusal::OverrideLapsed { .. } => Self::OverrideLapsed,
            Refusal::ExtensionOutOfRange { .. } => Self::ExtensionOutOfRange,
            Refusal::SameAdmin { .. } => Self::SameAdmin,
        }
    }
}
