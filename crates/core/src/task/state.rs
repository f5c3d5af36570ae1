//! Where a task stands. The names are a contract: they are stored, sent and shown.

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
    /// The apply ended badly, and that is known.
    Failed,
    /// The holder was lost after it had begun: nobody knows whether the effect happened.
    Unknown,
    /// Time ran out; neither a yes nor a no.
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

    /// Whether a permit is still to be asked for: then locks and slots stand in the way of it.
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
