//! The commands on a task. Each has one name that routes, audit, events and tests use.

use std::fmt;

use super::loaded_gates::LoadedGates;
use crate::access::Action;
use crate::approval::{Answer, Seen};
use crate::change::{Digest, Drift};
use crate::ids::{ExecutionId, LeaseId, UserId};
use crate::policy::{PolicyRef, Subject};
use crate::risk::{Level, Thresholds};
use crate::time::Timestamp;

macro_rules! commands {
    ($($kind:ident = $name:literal;)+) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum CommandKind {
            $($kind,)+
        }

        impl CommandKind {
            pub const ALL: &[Self] = &[$(Self::$kind,)+];

            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$kind => $name,)+ }
            }

            /// Returns the permission that this command needs.
            pub const fn action(self) -> Action {
                match self { $(Self::$kind => Action::$kind,)+ }
            }
        }

        impl fmt::Display for CommandKind {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

commands! {
    Create = "create";
    Delete = "delete";
    Comment = "comment";
    Amend = "amend";
    Submit = "submit";
    OpenReview = "open_review";
    AutoApprove = "auto_approve";
    Approve = "approve";
    Reject = "reject";
    RequestChanges = "request_changes";
    WithdrawVote = "withdraw_vote";
    Delegate = "delegate";
    Escalate = "escalate";
    Extend = "extend";
    WarnExpiry = "warn_expiry";
    Cancel = "cancel";
    Expire = "expire";
    ReopenReview = "reopen_review";
    StartApply = "start_apply";
    BeginApply = "begin_apply";
    DriftApply = "drift_apply";
    WithdrawPermit = "withdraw_permit";
    RequeueApply = "requeue_apply";
    FinishApply = "finish_apply";
    FailApply = "fail_apply";
    LoseApply = "lose_apply";
    Reconcile = "reconcile";
    Retry = "retry";
    Resubmit = "resubmit";
    Override = "override";
    ConfirmOverride = "confirm_override";
    LapseOverride = "lapse_override";
}

/// The content of a revision as the rules see it. It is previewed, hashed and assessed outside the
/// core.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content {
    pub digest: Digest,
    /// The digest of the change without the names of its resources: equal for the same change to
    /// other resources.
    pub shape: Digest,
    pub subject: Subject,
    pub level: Level,
}

impl Content {
    /// Returns the level for decisions that a tenant cannot relax: at least that of the thresholds
    /// of the installation.
    pub fn level_at_least(&self, installation: Thresholds) -> Level {
        self.level.max(installation.level(self.subject.risk))
    }
}

/// What the holder knows about an apply that did not fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ApplyResult {
    Succeeded,
    /// The agent's host was allowed to make the change, and has not reported the result.
    ReleasedToHost,
}

impl ApplyResult {
    /// Returns what a late report is recorded as; `None` means that the change was made.
    pub(super) const fn remains(self) -> Option<Remains> {
        match self {
            Self::Succeeded => None,
            Self::ReleasedToHost => Some(Remains::Changed),
        }
    }
}

/// What a failed apply left behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Remains {
    /// Nothing had been changed yet.
    Nothing,
    /// Changes were made and rolled back.
    RolledBack,
    /// Something was changed, or it is unknown whether it was.
    Changed,
}

/// The finding of a person about an apply whose outcome was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ReconcileFinding {
    Completed,
    Failed,
    /// The effect did not happen; it may be tried again.
    NotApplied,
}

/// Why a review is reopened after the approval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reopen {
    BasisLost,
    EffectDrifted { content: Content },
}

/// Why more people are asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Escalation {
    /// The next step of the policies is due.
    Step,
    /// A reviewer who had not answered was deactivated.
    Deactivated { reviewer: UserId },
}

/// The grant of an apply. All later reports of that attempt must name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hold {
    pub lease: LeaseId,
    pub token: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Creates a task; used only through [`super::create`].
    Create,
    Delete,
    Comment {
        text: String,
    },
    Amend {
        content: Content,
    },
    /// The content as previewed just before the submission, which may differ from the draft.
    Submit {
        content: Content,
        pins: Vec<PolicyRef>,
    },
    OpenReview,
    AutoApprove,
    Vote {
        answer: Answer,
        seen: Seen,
        reason: Option<String>,
    },
    WithdrawVote,
    Delegate {
        to: UserId,
        reason: Option<String>,
    },
    Escalate(Escalation),
    /// Extends the time to answer.
    Extend {
        until: Timestamp,
        reason: String,
    },
    WarnExpiry,
    Cancel {
        reason: Option<String>,
    },
    Expire,
    ReopenReview(Reopen),
    StartApply {
        execution: ExecutionId,
        hold: Hold,
        /// Read in the transaction that decides.
        gates: LoadedGates,
    },
    BeginApply {
        hold: Hold,
        /// Read in the transaction that decides.
        gates: LoadedGates,
    },
    DriftApply {
        hold: Hold,
        content: Content,
        /// The resources whose version differs from the one that was approved.
        moved: Vec<Drift>,
    },
    WithdrawPermit {
        hold: Hold,
        /// Read in the transaction that decides.
        gates: LoadedGates,
    },
    RequeueApply,
    FinishApply {
        hold: Hold,
        result: ApplyResult,
    },
    FailApply {
        hold: Hold,
        remains: Remains,
    },
    LoseApply,
    Reconcile {
        found: ReconcileFinding,
        reason: String,
    },
    Retry,
    Resubmit,
    Override {
        ticket: String,
        reason: String,
    },
    ConfirmOverride {
        seen: Seen,
    },
    LapseOverride,
}

impl Command {
    pub const fn kind(&self) -> CommandKind {
        match self {
            Self::Create => CommandKind::Create,
            Self::Delete => CommandKind::Delete,
            Self::Comment { .. } => CommandKind::Comment,
            Self::Amend { .. } => CommandKind::Amend,
            Self::Submit { .. } => CommandKind::Submit,
            Self::OpenReview => CommandKind::OpenReview,
            Self::AutoApprove => CommandKind::AutoApprove,
            Self::Vote { answer: Answer::Approve, .. } => CommandKind::Approve,
            Self::Vote { answer: Answer::Reject, .. } => CommandKind::Reject,
            Self::Vote { answer: Answer::RequestChanges, .. } => CommandKind::RequestChanges,
            Self::WithdrawVote => CommandKind::WithdrawVote,
            Self::Delegate { .. } => CommandKind::Delegate,
            Self::Escalate(_) => CommandKind::Escalate,
            Self::Extend { .. } => CommandKind::Extend,
            Self::WarnExpiry => CommandKind::WarnExpiry,
            Self::Cancel { .. } => CommandKind::Cancel,
            Self::Expire => CommandKind::Expire,
            Self::ReopenReview(_) => CommandKind::ReopenReview,
            Self::StartApply { .. } => CommandKind::StartApply,
            Self::BeginApply { .. } => CommandKind::BeginApply,
            Self::DriftApply { .. } => CommandKind::DriftApply,
            Self::WithdrawPermit { .. } => CommandKind::WithdrawPermit,
            Self::RequeueApply => CommandKind::RequeueApply,
            Self::FinishApply { .. } => CommandKind::FinishApply,
            Self::FailApply { .. } => CommandKind::FailApply,
            Self::LoseApply => CommandKind::LoseApply,
            Self::Reconcile { .. } => CommandKind::Reconcile,
            Self::Retry => CommandKind::Retry,
            Self::Resubmit => CommandKind::Resubmit,
            Self::Override { .. } => CommandKind::Override,
            Self::ConfirmOverride { .. } => CommandKind::ConfirmOverride,
            Self::LapseOverride => CommandKind::LapseOverride,
        }
    }
}
