//! On-call duties: who is on duty for a role, and when.

use ade_core::ids::{DutyId, UserId};
use ade_core::time::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::schema;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewDuty {
    #[schema(min_length = 1, max_length = 128, example = "dba")]
    pub role: String,
    /// A person who has the role; a duty does not grant it.
    #[schema(value_type = schema::UserId)]
    pub user_id: UserId,
    #[schema(value_type = schema::Timestamp)]
    pub starts_at: Timestamp,
    #[schema(value_type = schema::Timestamp)]
    pub ends_at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Duty {
    #[schema(value_type = schema::DutyId)]
    pub id: DutyId,
    pub role: String,
    #[schema(value_type = schema::UserId)]
    pub user_id: UserId,
    #[schema(value_type = schema::Timestamp)]
    pub starts_at: Timestamp,
    #[schema(value_type = schema::Timestamp)]
    pub ends_at: Timestamp,
}

/// Whom a role reaches now: the people on duty, or everyone with the role if no one is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct OnDuty {
    pub role: String,
    #[schema(value_type = Vec<schema::UserId>)]
    pub user_ids: Vec<UserId>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Duties {
    /// The duties that have not ended, by start time.
    pub items: Vec<Duty>,
    /// The people on duty, for each role.
    pub now: Vec<OnDuty>,
}
