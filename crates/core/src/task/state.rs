//! The states of a task. Their names are stored, sent and displayed, so they must not change.

use std::fmt;

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum State {
    Draft,
    Submitted,
    Reviewing,
    Approved,
    Applying,
    Completed,
    Rejected,
    Cancelled,
    /// The apply failed, and that is known.
    Failed,
    /// The holder was lost after it had begun: the outcome is unknown.
    Unknown,
    /// The time ran out; the task was neither approved nor rejected.
    Expired,
}

impl State {
    pub const ALL: [Self; 11] = [
        Self::Draft,
        Self::Submitted,
        Self::Reviewing,
        Self::Approved,
        Self::Applying,
        Self::Completed,
        Self::Rejected,
        Self::Cancelled,
        Self::Failed,
        Self::Unknown,
        Self::Expired,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Draft => "DRAFT",
            Self::Submitted => "SUBMITTED",
            Self::Reviewing => "REVIEWING",
            Self::Approved => "APPROVED",
            Self::Applying => "APPLYING",
            Self::Completed => "COMPLETED",
            Self::Rejected => "REJECTED",
            Self::Cancelled => "CANCELLED",
            Self::Failed => "FAILED",
            Self::Unknown => "UNKNOWN",
            Self::Expired => "EXPIRED",
        }
    }

    /// Returns whether the task has ended: nothing more happens to it unless a person retries,
    /// reconciles or resubmits it.
    pub const fn is_final(self) -> bool {
        match self {
            Self::Completed
            | Self::Rejected
            | Self::Cancelled
            | Self::Failed
            | Self::Unknown
            | Self::Expired => true,
            Self::Draft | Self::Submitted | Self::Reviewing | Self::Approved | Self::Applying => {
                false
            }
        }
    }

    /// Returns whether the task still needs a permit, so that locks and slots can block it.
    pub const fn is_before_permit(self) -> bool {
        match self {
            Self::Draft | Self::Submitted | Self::Reviewing | Self::Approved => true,
            Self::Applying
            | Self::Completed
            | Self::Rejected
            | Self::Cancelled
            | Self::Failed
            | Self::Unknown
            | Self::Expired => false,
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
