//! Why a task is where it is: every gate before its apply, with evidence and the call that would
//! open it; who may answer now; and which rule asked for whom.

use std::collections::BTreeSet;

use ade_core::ids::{PolicyId, UserId};
use ade_core::task::State;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::schema;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Explanation {
    #[schema(value_type = schema::State)]
    pub state: State,
    pub gates: Vec<Gate>,
    /// Groups of people, all of which must agree.
    pub groups: Vec<Group>,
    pub may_answer: Vec<Reviewer>,
    pub approvals_missing: u32,
    pub rejections: u32,
    pub next_action: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Gate {
    pub name: String,
    pub is_open: bool,
    pub evidence: String,
    /// What to do about a closed gate.
    pub opens_with: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Group {
    /// How many distinct humans must agree.
    pub min: u32,
    pub asked_by: Vec<PolicyVersion>,
    #[schema(value_type = Vec<schema::UserId>)]
    pub members: BTreeSet<UserId>,
    /// Would be in it, but had a part in the change.
    pub excluded: Vec<Excluded>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PolicyVersion {
    #[schema(value_type = schema::PolicyId)]
    pub policy: PolicyId,
    pub version: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Excluded {
    #[schema(value_type = schema::UserId)]
    pub user: UserId,
    pub because: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Reviewer {
    #[schema(value_type = schema::UserId)]
    pub user: UserId,
    /// Whose seats they would fill.
    #[schema(value_type = Vec<schema::UserId>)]
    pub for_users: BTreeSet<UserId>,
    /// Like `has the role dba`.
    pub because: BTreeSet<String>,
}
