//! Notifications about expiries, changed policies, other events, and changes to accounts.

use ade_core::ids::{NotificationId, TaskId};
use ade_core::time::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::schema;
use crate::seconds::Seconds;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Notification {
    #[schema(value_type = schema::NotificationId)]
    pub id: NotificationId,
    /// `null` if the notification is about a change to your account.
    #[schema(value_type = Option<schema::TaskId>)]
    pub task_id: Option<TaskId>,
    pub number: Option<i64>,
    /// The title of the task, or what changed in your account.
    pub title: String,
    /// The event, or the change: `passkey.added` or `passkey.reset`.
    #[schema(example = "task.expiring")]
    pub kind: String,
    #[schema(value_type = schema::Timestamp)]
    pub at: Timestamp,
}

/// A daily window in a time zone; it spans midnight if it ends before it begins.
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

/// Your notification preferences. Requests that need your answer are always in your inbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewPreferences {
    /// The event kinds sent by mail; `*` matches any text. Empty: no mail.
    #[schema(max_items = 64, examples(json!(["approval.*", "task.expiring"])))]
    pub mail: Vec<String>,
    /// The event kinds sent by Slack; `*` matches any text.
    #[schema(max_items = 64)]
    pub slack: Vec<String>,
    /// Your Slack member id.
    #[serde(default)]
    #[schema(max_length = 64, example = "U012AB3CD")]
    pub slack_member: Option<String>,
    /// The hours in which only urgent notifications are sent.
    #[serde(default)]
    pub quiet_hours: Option<QuietHours>,
    /// The minimum number of seconds between two messages on one channel; notifications in between
    /// are combined.
    #[schema(value_type = schema::Seconds)]
    pub digest_seconds: Seconds,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Preferences {
    pub mail: Vec<String>,
    pub slack: Vec<String>,
    pub slack_member: Option<String>,
    pub quiet_hours: Option<QuietHours>,
    pub digest_seconds: u64,
    /// The version for `If-Match`; 0 if you have set nothing.
    pub version: u64,
}
