//! Webhooks: the events that an endpoint subscribes to, the meaning of its responses, the retries
//! of a delivery, and the circuit breaker. Calling endpoints, and the addresses that may be called,
//! are not part of this module.

mod answer;
mod circuit;
mod schedule;
mod subscription;

pub use answer::{DeliveryResponse, DeliveryStep, DeliveryVerdict, excerpt, judge, next};
pub use circuit::{Circuit, Room};
pub use schedule::{longest_pause, pause};
pub use subscription::{Subscription, SubscriptionError};

/// The event type of a test delivery.
pub const PING: &str = "webhook.ping";
