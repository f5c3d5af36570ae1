//! Webhooks: which events an endpoint has asked for, what its answer to one means, when a delivery
//! is tried again, and when the endpoint is left alone for a while. Which addresses may be called
//! at all, and the calls themselves, are not here.

mod answer;
mod circuit;
mod schedule;
mod subscription;

pub use answer::{Answer, Next, Verdict, excerpt, judge, next};
pub use circuit::{Circuit, Room};
pub use schedule::{longest_pause, pause};
pub use subscription::{Subscription, SubscriptionError};

/// The type of what is sent to try an endpoint out.
pub const PING: &str = "webhook.ping";
