//! Who is asked, who may answer, and when enough humans have agreed. Requests and votes are
//! data here; `task::decide` is the only place that changes them.

pub mod acting;
pub mod assignment;
pub mod batch;
pub mod delegation;
pub mod escalation;
pub mod pairs;
pub mod quorum;
pub mod separation;
pub mod tenure;

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use self::separation::Conflict;
use self::tenure::TooNew;
use crate::change::Digest;
use crate::ids::UserId;
use crate::time::Timestamp;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Status {
    Pending,
    Approved,
    Rejected,
    /// Handed on to another reviewer, who has a request of their own.
    Delegated,
    /// Nobody waits for it any more: the revision moved on, or the review ended without it.
    Superseded,
    Expired,
}

/// How a reviewer came to stand in a place.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(tag = "route", rename_all = "snake_case")]
pub enum Route {
    Own,
    /// A standing delegation moved the request along this chain; it starts with the owner.
    Transfer {
        chain: Vec<UserId>,
    },
    /// The owner lets this person's yes stand for their own.
    Follow {
        chain: Vec<UserId>,
    },
    /// The reviewer before handed this one request on.
    HandedOver {
        chain: Vec<UserId>,
    },
    /// An escalation, or the owner's deactivation, asked this person instead.
    Reassigned {
        chain: Vec<UserId>,
    },
}

impl Route {
    /// Why somebody else stands in the owner's place; nothing if it is their own.
    pub(crate) fn in_words(&self, owner: UserId) -> Option<String> {
        match self {
            Self::Own => None,
            Self::Transfer { .. } => Some(format!("answers for {owner} by their delegation")),
            Self::Follow { .. } => Some(format!("{owner} lets this answer stand for theirs")),
            Self::HandedOver { .. } => Some(format!("was handed the request of {owner}")),
            Self::Reassigned { .. } => Some(format!("was asked in the place of {owner}")),
        }
    }

    /// From the owner of the place to the one who answers.
    pub fn chain(&self) -> &[UserId] {
        match self {
            Self::Own => &[],
            Self::Transfer { chain }
            | Self::Follow { chain }
            | Self::HandedOver { chain }
            | Self::Reassigned { chain } => chain,
        }
    }

    /// Given once for this task, so it outlives the delegation rules of the moment.
    fn is_lasting(&self) -> bool {
        match self {
            Self::HandedOver { .. } | Self::Reassigned { .. } => true,
            Self::Own | Self::Transfer { .. } | Self::Follow { .. } => false,
        }
    }
}

/// A seat somebody may fill: whose it is, and by which way they came to it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Place {
    pub owner: UserId,
    #[serde(flatten)]
    pub route: Route,
}

/// Why somebody who would sit in a group does not.
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

/// One reviewer's request on one revision. A reviewer has at most one per revision, however
/// many places lead to them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Approval {
    pub reviewer: UserId,
    pub revision: u32,
    pub status: Status,
    pub places: Vec<Place>,
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

/// One answer, bound to the revision and digest its author saw. Never changed afterwards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vote {
    pub voter: UserId,
    pub answer: Answer,
    pub revision: u32,
    pub digest: Digest,
    /// The round of review it belongs to; see `Task::round`.
    pub round: u32,
    /// Owners of the seats the voter could fill when voting; their own only if it was theirs to
    /// fill.
    pub places: BTreeSet<UserId>,
    pub reason: Option<String>,
    pub at: Timestamp,
    /// False for an answer that came after the review had ended: kept, told, never counted.
    pub effectual: bool,
    pub withdrawn: bool,
    /// The revision it was first given on, if an identical effect carried it over.
    pub carried_from: Option<u32>,
}

/// What the caller had on screen when deciding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    pub revision: u32,
    pub digest: Digest,
}
