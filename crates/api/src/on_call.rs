//! Who is on duty for a role, and when.

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
    /// Somebody who holds the role: a duty gives none.
    #[schema(value_type = schema::UserId)]
    pub user: UserId,
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
    pub user: UserId,
    #[schema(value_type = schema::Timestamp)]
    pub starts_at: Timestamp,
    #[schema(value_type = schema::Timestamp)]
    pub ends_at: Timestamp,
}

/// Whom a role reaches now: those on duty, or all who hold it if nobody is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct OnDuty {
    pub role: String,
    #[schema(value_type = Vec<schema::UserId>)]
    pub people: Vec<UserId>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Duties {
    /// Those that are not over, in the order in which they start.
    pub items: Vec<Duty>,
    /// For each role that has any.
    pub now: Vec<OnDuty>,
}
