//! Event consumers, each of which processes all events for one purpose: their progress, and the
//! events that they could not process.

use ade_core::consumer::Consumer;
use ade_core::ids::{DeadEventId, EventId};
use ade_core::time::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::schema;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum EventConsumer {
    /// Notifies people by mail and chat.
    NotificationService,
    /// Sends every event out of the installation, if a sink is configured.
    AuditLogger,
    /// Creates webhook deliveries.
    WebhookDispatcher,
    /// Counts events.
    AnalyticsPipeline,
}

impl From<EventConsumer> for Consumer {
    fn from(consumer: EventConsumer) -> Self {
        match consumer {
            EventConsumer::NotificationService => Self::NotificationService,
            EventConsumer::AuditLogger => Self::AuditLogger,
            EventConsumer::WebhookDispatcher => Self::WebhookDispatcher,
            EventConsumer::AnalyticsPipeline => Self::AnalyticsPipeline,
        }
    }
}

impl From<Consumer> for EventConsumer {
    fn from(consumer: Consumer) -> Self {
        match consumer {
            Consumer::NotificationService => Self::NotificationService,
            Consumer::AuditLogger => Self::AuditLogger,
            Consumer::WebhookDispatcher => Self::WebhookDispatcher,
            Consumer::AnalyticsPipeline => Self::AnalyticsPipeline,
        }
    }
}

/// The progress of an event consumer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EventConsumerStatus {
    pub consumer: EventConsumer,
    /// The sequence number of the last processed event.
    pub seq: u64,
    /// The number of events of your tenant that the consumer has not processed yet.
    pub behind: u64,
    #[schema(value_type = Option<schema::Timestamp>)]
    pub moved_at: Option<Timestamp>,
    /// The event that blocks the consumer, if there is one.
    pub trouble: Option<EventConsumerFailure>,
    /// The number of dead events.
    pub dead: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EventConsumerFailure {
    /// The sequence number of the blocking event.
    pub seq: u64,
    pub tries: u32,
    pub problem: String,
    #[schema(value_type = schema::Timestamp)]
    pub since: Timestamp,
    #[schema(value_type = schema::Timestamp)]
    pub next_at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EventConsumers {
    /// The sequence number of the newest event.
    pub head: u64,
    pub items: Vec<EventConsumerStatus>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum DeadEventState {
    Dead,
    /// The consumer is processing the event again.
    Redriving,
    /// The event was processed after a redrive.
    Taken,
}

/// An event that a consumer could not process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DeadEvent {
    #[schema(value_type = schema::DeadEventId)]
    pub id: DeadEventId,
    pub consumer: EventConsumer,
    #[schema(value_type = String)]
    pub event_id: EventId,
    pub seq: u64,
    #[serde(rename = "type")]
    pub kind: String,
    pub object: String,
    pub state: DeadEventState,
    pub tries: u32,
    /// The error of the last attempt.
    pub problem: String,
    #[schema(value_type = schema::Timestamp)]
    pub died_at: Timestamp,
    #[schema(value_type = schema::Timestamp)]
    pub changed_at: Timestamp,
}

/// Either events by their ids, or those of a consumer, oldest first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Redrive {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<schema::DeadEventId>>, min_items = 1, max_items = 1000)]
    pub event_ids: Option<Vec<DeadEventId>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub consumer: Option<EventConsumer>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Redriven {
    /// The number of events that will be processed again; events that were not dead do not count.
    pub count: u64,
    /// True if the limit of one call was reached; call again for the rest.
    pub has_more: bool,
}
