//! The names of what happened, as streams, webhooks and sockets carry them. A name never
//! changes its meaning; the envelope and delivery are not here.

use std::fmt;

macro_rules! events {
    ($($kind:ident = $name:literal;)+) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum EventKind {
            $($kind,)+
        }

        impl EventKind {
            pub const ALL: &[Self] = &[$(Self::$kind,)+];

            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$kind => $name,)+ }
            }
        }
    };
}

events! {
    TaskCreated = "task.created";
    TaskDeleted = "task.deleted";
    TaskCommented = "task.commented";
    TaskAmended = "task.amended";
    TaskSubmitted = "task.submitted";
    TaskReviewing = "task.reviewing";
    TaskApproved = "task.approved";
    TaskRejected = "task.rejected";
    TaskChangesRequested = "task.changes_requested";
    TaskCancelled = "task.cancelled";
    TaskAbortRequested = "task.abort_requested";
    TaskExpiring = "task.expiring";
    TaskExtended = "task.extended";
    TaskExpired = "task.expired";
    TaskReviewReopened = "task.review_reopened";
    TaskApplying = "task.applying";
    TaskApplyBegun = "task.apply_begun";
    TaskDrifted = "task.drifted";
    TaskRequeued = "task.requeued";
    TaskCompleted = "task.completed";
    TaskFailed = "task.failed";
    TaskUnknown = "task.unknown";
    TaskReconciled = "task.reconciled";
    TaskRetried = "task.retried";
    TaskResubmitted = "task.resubmitted";
    TaskLateReport = "task.late_report";
    OverrideAsked = "override.asked";
    OverrideConfirmed = "override.confirmed";
    OverrideLapsed = "override.lapsed";
    ApprovalRequested = "approval.requested";
    ApprovalVoted = "approval.voted";
    ApprovalWithdrawn = "approval.withdrawn";
    ApprovalDelegated = "approval.delegated";
    ApprovalEscalated = "approval.escalated";
    ApprovalSuperseded = "approval.superseded";
    LockAcquired = "lock.acquired";
    LockQueued = "lock.queued";
    LockPromoted = "lock.promoted";
    LockReleased = "lock.released";
    LockExpired = "lock.expired";
    LockBroken = "lock.broken";
    LockDeadlock = "lock.deadlock";
}

impl fmt::Display for EventKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
