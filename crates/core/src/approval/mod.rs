//! Approvals: who is asked, who may answer, and when enough humans have approved. Requests and
//! votes are plain data here; only `task::decide` changes them.

pub mod acting;
pub mod assignment;
pub mod batch;
pub mod delegation;
pub mod escalation;
pub mod pairs;
pub mod quorum;
pub mod separation_of_duties;
pub mod tenure;

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use self::separation_of_duties::Conflict;
use self::tenure::TooNew;
use crate::change::Digest;
use crate::ids::UserId;
use crate::time::Timestamp;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ApprovalStatus {
    Pending,
    Approved,
    Rejected,
    /// The request was delegated to another reviewer, who has a request of their own.
    Delegated,
    /// The request is closed: the revision has changed, or the review ended without an answer.
    Superseded,
    Expired,
}

/// How a reviewer came to fill a slot.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(tag = "route", rename_all = "snake_case")]
pub enum Route {
    Own,
    /// A standing delegation moved the request along this chain; it starts with the owner.
    Transfer {
        chain: Vec<UserId>,
    },
    /// The owner lets the approval of this person count as their own.
    Follow {
        chain: Vec<UserId>,
    },
    /// The previous reviewer delegated this one request.
    HandedOver {
        chain: Vec<UserId>,
    },
    /// An escalation, or the deactivation of the owner, asked this person instead.
    Reassigned {
        chain: Vec<UserId>,
    },
}

impl Route {
    /// Describes why another person acts in place of the owner; `None` if the slot is their own.
    pub(crate) fn in_words(&self, owner: UserId) -> Option<String> {
        match self {
            Self::Own => None,
            Self::Transfer { .. } => Some(format!("answers for {owner} by delegation")),
            Self::Follow { .. } => Some(format!("{owner} follows this answer")),
            Self::HandedOver { .. } => Some(format!("was handed the request of {owner}")),
            Self::Reassigned { .. } => Some(format!("was assigned in place of {owner}")),
        }
    }

    /// Returns the people from the owner of the slot to the one who answers.
    pub fn chain(&self) -> &[UserId] {
        match self {
            Self::Own => &[],
            Self::Transfer { chain }
            | Self::Follow { chain }
            | Self::HandedOver { chain }
            | Self::Reassigned { chain } => chain,
        }
    }

    /// Returns whether the route was given for this task alone, so that it outlives changes of the
    /// delegation rules.
    fn is_lasting(&self) -> bool {
        match self {
            Self::HandedOver { .. } | Self::Reassigned { .. } => true,
            Self::Own | Self::Transfer { .. } | Self::Follow { .. } => false,
        }
    }
}

/// A slot that a person may fill: its owner, and how it was assigned to them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Slot {
    pub owner: UserId,
    #[serde(flatten)]
    pub route: Route,
}

/// Why a member of a group has no slot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Exclusion {
    Involved(Conflict),
    TooNew(TooNew),
}

impl fmt::Display for Exclusion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Involved(conflict) => fmt::Display::fmt(&conflict.part, f),
            Self::TooNew(too_new) => fmt::Display::fmt(too_new, f),
        }
    }
}

/// The request to one reviewer on one revision. A reviewer has at most one per revision, however
/// many slots lead to them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Approval {
    pub reviewer: UserId,
    pub revision: u32,
    pub status: ApprovalStatus,
    pub places: Vec<Slot>,
    pub requested_at: Timestamp,
    pub due_at: Timestamp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    Approve,
    Reject,
    RequestChanges,
}

/// One answer, bound to the revision and digest that the voter saw. It is never changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vote {
    pub voter: UserId,
    pub answer: Answer,
    pub revision: u32,
    pub digest: Digest,
    /// The review round it belongs to; see `Task::round`.
    pub round: u32,
    /// The owners of the slots that the voter could fill when voting, including the voter if they
    /// had a slot of their own.
    pub places: BTreeSet<UserId>,
    pub reason: Option<String>,
    pub at: Timestamp,
    /// False for an answer that arrived after the review had ended: recorded, but never counted.
    pub effectual: bool,
    pub withdrawn: bool,
    /// The revision it was first given on, if it was carried over with an identical effect.
    pub carried_from: Option<u32>,
    /// What a reader should know about the voter's authority at the time of the vote.
    pub marks: BTreeSet<VoteMark>,
}

/// A reservation about the authority behind a vote that counts nevertheless.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VoteMark {
    /// No second admin has confirmed the person, who joined by an invitation that its admin could
    /// read.
    Unconfirmed,
    /// Every role of the person was too new for a task of this risk; it counted because the tenant
    /// was in setup.
    NewRole,
    /// The passkey was enrolled after a reset and too new for a task of this risk; it counted
    /// because the tenant was in setup.
    NewPasskey,
}

impl VoteMark {
    pub const ALL: [Self; 3] = [Self::Unconfirmed, Self::NewRole, Self::NewPasskey];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Unconfirmed => "unconfirmed",
            Self::NewRole => "new_role",
            Self::NewPasskey => "new_passkey",
        }
    }
}

/// The revision and digest that the caller had on screen when deciding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    pub revision: u32,
    pub digest: Digest,
}
