//! Who answers for whom.

use std::collections::BTreeSet;

use ade_core::approval::delegation::Kind;
use ade_core::ids::{ApprovalId, DelegationId, TaskId, UserId};
use ade_core::time::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::code::Code;
use crate::schema;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewDelegation {
    /// The caller if left out; another only for an admin.
    #[serde(default)]
    #[schema(value_type = Option<schema::UserId>)]
    pub owner: Option<UserId>,
    #[schema(value_type = schema::UserId)]
    pub delegate_to: UserId,
    /// `transfer`: they answer instead. `follow`: their yes stands for the owner's too.
    #[schema(value_type = schema::DelegationKind)]
    pub kind: Kind,
    #[serde(default)]
    pub conditions: DelegationConditions,
    /// Whether the delegate's own delegations lead further.
    #[serde(default)]
    pub cascade: bool,
    /// Now if left out.
    #[serde(default)]
    #[schema(value_type = Option<schema::Timestamp>)]
    pub starts_at: Option<Timestamp>,
    #[schema(value_type = schema::Timestamp)]
    pub expires_at: Timestamp,
    /// Also hand over what waits for the owner now. Only for one's own.
    #[serde(default)]
    pub move_pending: bool,
}

/// Empty means no condition; every given one must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DelegationConditions {
    #[schema(max_items = 64)]
    pub task_types: BTreeSet<String>,
    #[schema(max_items = 64)]
    pub resource_patterns: BTreeSet<String>,
    #[schema(maximum = 100)]
    pub risk_above: Option<u8>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Delegation {
    #[schema(value_type = schema::DelegationId)]
    pub id: DelegationId,
    #[schema(value_type = schema::UserId)]
    pub owner: UserId,
    #[schema(value_type = schema::UserId)]
    pub delegate_to: UserId,
    #[schema(value_type = schema::DelegationKind)]
    pub kind: Kind,
    pub conditions: DelegationConditions,
    pub cascade: bool,
    #[schema(value_type = schema::Timestamp)]
    pub starts_at: Timestamp,
    #[schema(value_type = schema::Timestamp)]
    pub expires_at: Timestamp,
    pub active: bool,
}

/// A delegation, and what became of what was waiting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DelegationMade {
    #[serde(flatten)]
    pub delegation: Delegation,
    /// Requests handed over.
    pub moved: u32,
    /// Requests that could not be, each with why.
    pub stayed: Vec<Stayed>,
}

/// A request that still waits for the owner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Stayed {
    #[schema(value_type = schema::ApprovalId)]
    pub approval: ApprovalId,
    /// As the problem would have that handing over this one alone answers with.
    pub code: Code,
    pub detail: String,
}

/// Hands one request on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct HandOver {
    #[schema(value_type = schema::UserId)]
    pub to: UserId,
    #[serde(default)]
    #[schema(max_length = 4096)]
    pub reason: Option<String>,
}

/// Who may act for somebody now, and why others may not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Resolved {
    #[schema(value_type = schema::UserId)]
    pub user: UserId,
    /// The task it was asked about. Without one conditions are told and not asked.
    #[schema(value_type = Option<schema::TaskId>)]
    pub task: Option<TaskId>,
    #[schema(value_type = schema::Timestamp)]
    pub at: Timestamp,
    pub acting: Vec<Acting>,
    /// Every way that starts from them, whether it leads to somebody or not.
    pub ways: Vec<DelegationWay>,
    /// Circles and chains that are too long; nobody is asked over them.
    pub faults: Vec<DelegationFault>,
    /// There are more ways than one answer tells.
    pub is_cut: bool,
    pub next_action: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Acting {
    #[schema(value_type = schema::UserId)]
    pub user: UserId,
    /// `own`, `transfer`, `follow`, `handed_over` or `reassigned`.
    pub route: String,
    /// From the owner to the one who acts.
    #[schema(value_type = Vec<schema::UserId>)]
    pub chain: Vec<UserId>,
    pub says: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DelegationWay {
    #[schema(value_type = schema::DelegationKind)]
    pub kind: Kind,
    #[schema(value_type = Vec<schema::UserId>)]
    pub path: Vec<UserId>,
    /// One after the other, with their conditions and dates.
    pub steps: Vec<Delegation>,
    pub acts: bool,
    /// Why its end may not act.
    pub because: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DelegationFault {
    /// `cycle`, `too_long` or `not_allowed`.
    pub fault: String,
    #[schema(value_type = Vec<schema::UserId>)]
    pub path: Vec<UserId>,
    pub says: String,
}
