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

/// A window of the day as a clock in the zone shows it; over midnight if it ends before it begins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct QuietHours {
    #[schema(max_length = 64, example = "Europe/Vienna")]
    pub zone: String,
    #[schema(example = "22:00")]
    pub from: String,
    #[schema(example = "07:00")]
    pub to: String,
}

/// How you want to be told. What waits for your answer is in your inbox in any case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewPreferences {
    /// Kinds of events that are told by mail; `*` stands for any text. None: nothing by mail.
    #[schema(max_items = 64, examples(json!(["approval.*", "task.expiring"])))]
    pub mail: Vec<String>,
    /// The same for Slack.
    #[schema(max_items = 64)]
    pub slack: Vec<String>,
    /// Who you are there, by the id of a member.
    #[serde(default)]
    #[schema(max_length = 64, example = "U012AB3CD")]
    pub slack_member: Option<String>,
    /// Nothing is sent in this time but what cannot wait.
    #[serde(default)]
    pub quiet_hours: Option<QuietHours>,
    /// Between two messages on one channel; what comes in between goes together.
    #[schema(maximum = 1440)]
    pub digest_minutes: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Preferences {
    pub mail: Vec<String>,
    pub slack: Vec<String>,
    pub slack_member: Option<String>,
    pub quiet_hours: Option<QuietHours>,
    pub digest_minutes: u32,
    /// For `If-Match`; 0 until you have said something.
    pub version: u64,
}
