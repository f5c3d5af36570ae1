//! Groups that read events, each for a job of its own: how far they are, and what they could not
//! take.

use ade_core::group::Group as GroupName;
use ade_core::ids::{DeadEventId, EventId};
use ade_core::time::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::schema;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EventGroup {
    /// Tells people by mail and chat.
    NotificationService,
    /// Sends every event out of the installation, if a sink is configured.
    AuditLogger,
    /// Makes deliveries for webhooks.
    WebhookDispatcher,
    /// Counts what happens.
    AnalyticsPipeline,
}

impl From<EventGroup> for GroupName {
    fn from(group: EventGroup) -> Self {
        match group {
            EventGroup::NotificationService => Self::NotificationService,
            EventGroup::AuditLogger => Self::AuditLogger,
            EventGroup::WebhookDispatcher => Self::WebhookDispatcher,
            EventGroup::AnalyticsPipeline => Self::AnalyticsPipeline,
        }
    }
}

impl From<GroupName> for EventGroup {
    fn from(group: GroupName) -> Self {
        match group {
            GroupName::NotificationService => Self::NotificationService,
            GroupName::AuditLogger => Self::AuditLogger,
            GroupName::WebhookDispatcher => Self::WebhookDispatcher,
            GroupName::AnalyticsPipeline => Self::AnalyticsPipeline,
        }
    }
}

/// How one group does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct GroupStanding {
    pub group: EventGroup,
    /// The last event it is done with.
    pub seq: u64,
    /// So many events of your tenant it has not seen yet.
    pub behind: u64,
    #[schema(value_type = Option<schema::Timestamp>)]
    pub moved_at: Option<Timestamp>,
    /// What it stands still at, if it does.
    pub trouble: Option<GroupTrouble>,
    /// Events that it has put aside.
    pub dead: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct GroupTrouble {
    /// The event it stands at.
    pub seq: u64,
    pub tries: u32,
    pub problem: String,
    #[schema(value_type = schema::Timestamp)]
    pub since: Timestamp,
    #[schema(value_type = schema::Timestamp)]
    pub next_at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Groups {
    /// The number of the newest event.
    pub head: u64,
    pub items: Vec<GroupStanding>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum DeadEventState {
    Dead,
    /// On its way through its group again.
    Redriving,
    /// It was taken then.
    Taken,
}

/// An event that a group could not take.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DeadEvent {
    #[schema(value_type = schema::DeadEventId)]
    pub id: DeadEventId,
    pub group: EventGroup,
    #[schema(value_type = String)]
    pub event: EventId,
    pub seq: u64,
    #[serde(rename = "type")]
    pub kind: String,
    pub object: String,
    pub state: DeadEventState,
    pub tries: u32,
    /// Why it could not be taken, the last time.
    pub problem: String,
    #[schema(value_type = schema::Timestamp)]
    pub died_at: Timestamp,
    #[schema(value_type = schema::Timestamp)]
    pub changed_at: Timestamp,
}

/// Either some by their id, or those of a group, oldest first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Redrive {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<schema::DeadEventId>>, min_items = 1, max_items = 1000)]
    pub events: Option<Vec<DeadEventId>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<EventGroup>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Redriven {
    /// How many go through their group again; those that were not dead do not count.
    pub count: u64,
    /// As many as one call takes: ask once more.
    pub has_more: bool,
}
