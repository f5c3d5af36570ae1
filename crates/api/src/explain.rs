//! Why a task is in its state: every gate before its apply, with evidence and the call that would
//! open it; who can vote now; and which rule required which reviewer.

use std::collections::BTreeSet;

use ade_core::ids::{PolicyId, UserId};
use ade_core::task::{GateCode, State, SubState};
use ade_core::time::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::problem::NextAction;
use crate::schema;
use crate::tasks::TaskDecision;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Explanation {
    #[schema(value_type = schema::State)]
    pub state: State,
    #[schema(value_type = Option<schema::SubState>)]
    pub sub_state: Option<SubState>,
    pub decision: Option<TaskDecision>,
    pub gates: Vec<Gate>,
    /// The groups of people, all of which must approve.
    pub groups: Vec<Group>,
    pub may_answer: Vec<Reviewer>,
    pub approvals_missing: u32,
    pub rejections: u32,
    pub next_action: NextAction,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Gate {
    pub name: String,
    pub passed: bool,
    /// Why the gate is closed.
    #[schema(value_type = Option<schema::GateCode>)]
    pub code: Option<GateCode>,
    pub evidence: String,
    /// What to do about a closed gate.
    pub how_to_pass: Option<String>,
    /// When a closed gate opens without any action, if that is known.
    #[schema(value_type = Option<schema::Timestamp>)]
    pub until: Option<Timestamp>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Group {
    /// The number of different people who must approve.
    pub min: u32,
    pub asked_by: Vec<PolicyVersion>,
    #[schema(value_type = Vec<schema::UserId>)]
    pub member_ids: BTreeSet<UserId>,
    /// People who would be eligible but took part in the change.
    pub excluded: Vec<Excluded>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PolicyVersion {
    #[schema(value_type = schema::PolicyId)]
    pub policy_id: PolicyId,
    pub version: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Excluded {
    #[schema(value_type = schema::UserId)]
    pub user_id: UserId,
    pub because: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Reviewer {
    #[schema(value_type = schema::UserId)]
    pub user_id: UserId,
    /// The owners of the slots that the person would fill.
    #[schema(value_type = Vec<schema::UserId>)]
    pub for_user_ids: BTreeSet<UserId>,
    /// The reasons, like `has the role dba`.
    pub because: BTreeSet<String>,
}
