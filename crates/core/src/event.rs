//! The names of events, as streams, webhooks and sockets carry them. The meaning of a name never
//! changes. The envelope and the delivery are not part of this module.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use crate::ids::TenantId;
use crate::limits::EVENT_SHARDS;

#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("unknown topic `{0}`")]
pub struct UnknownTopic(pub String);

/// The topics of events. Each has a stream of its own and can be subscribed to separately.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Topic {
    Task,
    Approval,
    Lock,
    Agent,
    Policy,
    Freeze,
    Change,
}

impl Topic {
    pub const ALL: [Self; 7] = [
        Self::Task,
        Self::Approval,
        Self::Lock,
        Self::Agent,
        Self::Policy,
        Self::Freeze,
        Self::Change,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Task => "task",
            Self::Approval => "approval",
            Self::Lock => "lock",
            Self::Agent => "agent",
            Self::Policy => "policy",
            Self::Freeze => "freeze",
            Self::Change => "change",
        }
    }

    /// Returns the topic of an event kind, also of an unknown kind of a newer release. A kind
    /// without a topic of its own, such as an override, belongs to the topic of its task.
    pub fn of(kind: &str) -> Self {
        let subject = kind.split('.').next().unwrap_or_default();
        subject.parse().unwrap_or(Self::Task)
    }
}

impl FromStr for Topic {
    type Err = UnknownTopic;

    fn from_str(text: &str) -> Result<Self, UnknownTopic> {
        let known = Self::ALL.into_iter().find(|topic| topic.as_str() == text);
        known.ok_or_else(|| UnknownTopic(text.to_owned()))
    }
}

/// Returns the shard in which the events of a tenant are numbered and streamed. The last bytes of a
/// time-ordered id are random, so that tenants spread evenly.
pub fn shard_of(tenant: TenantId) -> u8 {
    let [.., last] = tenant.uuid().into_bytes();
    last % EVENT_SHARDS
}

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
    TaskStarted = "task.started";
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
    OverrideReviewOverdue = "override.review_overdue";
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
    AgentOnline = "agent.online";
    AgentLate = "agent.late";
    AgentOffline = "agent.offline";
    AgentDraining = "agent.draining";
    AgentPaused = "agent.paused";
    PolicyPublished = "policy.published";
    FreezeSet = "freeze.set";
    FreezeLifted = "freeze.lifted";
    ChangeProposed = "change.proposed";
    ChangeClosed = "change.closed";
}

impl fmt::Display for EventKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn event_kinds_have_a_topic_and_unknown_ones_are_tasks() {
        for kind in EventKind::ALL {
            let subject = kind.as_str().split('.').next().unwrap();
            let expected = if subject == "override" { "task" } else { subject };
            assert_eq!(Topic::of(kind.as_str()).as_str(), expected);
        }
        assert_eq!(Topic::of("campaign.begun"), Topic::Task);
    }

    #[test]
    fn event_shards_spread_tenants_created_together() {
        let tenants = (0..256).map(TenantId::from_u128);
        let shards: BTreeSet<u8> = tenants.map(shard_of).collect();
        assert_eq!(shards.len(), usize::from(EVENT_SHARDS));
    }
}
