//! Delegations: who votes on behalf of whom.

use std::collections::BTreeSet;

use ade_core::approval::delegation::DelegationKind;
use ade_core::ids::{ApprovalId, DelegationId, TaskId, UserId};
use ade_core::time::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::code::Code;
use crate::problem::NextAction;
use crate::schema;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewDelegation {
    /// Defaults to the caller; only admins can give another person.
    #[serde(default)]
    #[schema(value_type = Option<schema::UserId>)]
    pub owner_id: Option<UserId>,
    #[schema(value_type = schema::UserId)]
    pub delegate_id: UserId,
    /// `transfer`: the delegate answers instead. `follow`: the delegate's approval counts for the
    /// owner as well.
    #[schema(value_type = schema::DelegationKind)]
    pub kind: DelegationKind,
    #[serde(default)]
    pub conditions: DelegationConditions,
    /// Whether the delegate's own delegations apply as well.
    #[serde(default)]
    pub cascade: bool,
    /// Defaults to now.
    #[serde(default)]
    #[schema(value_type = Option<schema::Timestamp>)]
    pub starts_at: Option<Timestamp>,
    #[schema(value_type = schema::Timestamp)]
    pub expires_at: Timestamp,
    /// Whether to hand over the currently open requests as well. Only for your own delegations.
    #[serde(default)]
    pub move_pending: bool,
}

/// All given conditions must hold; an empty object means no condition.
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
    pub owner_id: UserId,
    #[schema(value_type = schema::UserId)]
    pub delegate_id: UserId,
    #[schema(value_type = schema::DelegationKind)]
    pub kind: DelegationKind,
    pub conditions: DelegationConditions,
    pub cascade: bool,
    #[schema(value_type = schema::Timestamp)]
    pub starts_at: Timestamp,
    #[schema(value_type = schema::Timestamp)]
    pub expires_at: Timestamp,
    pub active: bool,
}

/// The delegation, and the result for the open requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DelegationMade {
    #[serde(flatten)]
    pub delegation: Delegation,
    /// The number of requests that were handed over.
    pub moved: u32,
    /// The requests that could not be handed over, with reasons.
    pub stayed: Vec<Stayed>,
}

/// A request that stays with the owner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Stayed {
    #[schema(value_type = schema::ApprovalId)]
    pub approval_id: ApprovalId,
    /// The error code that handing over this request alone would return.
    pub code: Code,
    pub detail: String,
}

/// Hands one request over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct HandOver {
    #[schema(value_type = schema::UserId)]
    pub delegate_id: UserId,
    #[serde(default)]
    #[schema(max_length = 4096)]
    pub reason: Option<String>,
}

/// Who can act for a person now, and why others cannot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Resolved {
    #[schema(value_type = schema::UserId)]
    pub user_id: UserId,
    /// The task that the question is about. Without one, conditions are listed and not evaluated.
    #[schema(value_type = Option<schema::TaskId>)]
    pub task_id: Option<TaskId>,
    #[schema(value_type = schema::Timestamp)]
    pub at: Timestamp,
    pub acting: Vec<Acting>,
    /// Every delegation path from the person, whether or not it leads to someone who can act.
    pub ways: Vec<DelegationWay>,
    /// Cycles and chains that are too long; no request is routed through them.
    pub faults: Vec<DelegationFault>,
    /// True if there are more paths than the response contains.
    pub is_cut: bool,
    pub next_action: NextAction,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Acting {
    #[schema(value_type = schema::UserId)]
    pub user_id: UserId,
    /// `own`, `transfer`, `follow`, `handed_over` or `reassigned`.
    pub route: String,
    /// The people from the owner to the one who acts.
    #[schema(value_type = Vec<schema::UserId>)]
    pub chain: Vec<UserId>,
    pub message: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DelegationWay {
    #[schema(value_type = schema::DelegationKind)]
    pub kind: DelegationKind,
    #[schema(value_type = Vec<schema::UserId>)]
    pub path: Vec<UserId>,
    /// The delegations in order, with their conditions and dates.
    pub steps: Vec<Delegation>,
    pub acts: bool,
    /// Why the last person of the path cannot act.
    pub because: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DelegationFault {
    /// `cycle`, `too_long` or `not_allowed`.
    pub fault: String,
    #[schema(value_type = Vec<schema::UserId>)]
    pub path: Vec<UserId>,
    pub message: String,
}
