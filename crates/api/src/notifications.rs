//! What time and changed rules have told people.

use ade_core::ids::{NotificationId, TaskId};
use ade_core::time::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::schema;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Notification {
    #[schema(value_type = schema::NotificationId)]
    pub id: NotificationId,
    #[schema(value_type = schema::TaskId)]
    pub task: TaskId,
    pub number: i64,
    pub title: String,
    /// The event it tells of.
    #[schema(example = "task.expiring")]
    pub kind: String,
    #[schema(value_type = schema::Timestamp)]
    pub at: Timestamp,
}
