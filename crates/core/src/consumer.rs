//! The consumer groups, each of which reads all events for one job, and the handling of events that
//! a group cannot process: they are retried a few times and then parked as dead, so that they do
//! not block later events. An outage of a dependency is no reason to park an event.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use thiserror::Error;

use crate::limits::{GROUP_AWAY_PAUSE, GROUP_PAUSE_FIRST, GROUP_PAUSE_GROWTH, GROUP_TRIES_MAX};

#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("unknown consumer group `{0}`")]
pub struct UnknownGroup(pub String);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Consumer {
    NotificationService,
    AuditLogger,
    WebhookDispatcher,
    AnalyticsPipeline,
}

impl Consumer {
    pub const ALL: [Self; 4] = [
        Self::NotificationService,
        Self::AuditLogger,
        Self::WebhookDispatcher,
        Self::AnalyticsPipeline,
    ];

    /// Returns the name of the group, under which its cursors are stored.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NotificationService => "notification-service",
            Self::AuditLogger => "audit-logger",
            Self::WebhookDispatcher => "webhook-dispatcher",
            Self::AnalyticsPipeline => "analytics-pipeline",
        }
    }
}

impl fmt::Display for Consumer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Consumer {
    type Err = UnknownGroup;

    fn from_str(text: &str) -> Result<Self, UnknownGroup> {
        let known = Self::ALL.into_iter().find(|group| group.as_str() == text);
        known.ok_or_else(|| UnknownGroup(text.to_owned()))
    }
}

/// Why events could not be processed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConsumerFault {
    /// A dependency of the group is unavailable, so that every event would fail.
    Away,
    /// One of the events itself failed.
    Event,
}

/// What follows after a failed round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum After {
    /// The same events are retried after a pause.
    Again { pause: Duration, tries: u32 },
    /// The events are retried one by one to find the one that fails.
    Singly,
    /// The event is parked as dead, and the group continues after it.
    Dead { tries: u32 },
}

/// Decides what follows. `events` were passed to the group; the first of them had already failed
/// alone `failed_before` times.
pub fn after(fault: ConsumerFault, events: usize, failed_before: u32) -> After {
    let tries = failed_before.saturating_add(1);
    match fault {
        ConsumerFault::Away => After::Again { pause: GROUP_AWAY_PAUSE, tries: failed_before },
        ConsumerFault::Event if events > 1 => After::Singly,
        ConsumerFault::Event if tries >= GROUP_TRIES_MAX => After::Dead { tries },
        ConsumerFault::Event => After::Again { pause: pause(failed_before), tries },
    }
}

fn pause(failed_before: u32) -> Duration {
    GROUP_PAUSE_FIRST.saturating_mul(GROUP_PAUSE_GROWTH.saturating_pow(failed_before))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn consumer_group_is_found_by_name() {
        for group in Consumer::ALL {
            assert_eq!(group.as_str().parse(), Ok(group));
        }
        assert_eq!("unknown".parse::<Consumer>(), Err(UnknownGroup("unknown".to_owned())));
    }

    #[test]
    fn consumer_group_parks_an_event_after_its_last_try() {
        for failed in 0..GROUP_TRIES_MAX * 2 {
            let after = after(ConsumerFault::Event, 1, failed);
            let is_dead = matches!(after, After::Dead { .. });
            assert_eq!(is_dead, failed + 1 >= GROUP_TRIES_MAX, "{failed}: {after:?}");
        }
        assert!(pause(1) > pause(0), "pauses grow");
    }

    #[test]
    fn consumer_group_outage_costs_an_event_no_try() {
        for (events, failed) in [(1, 0), (1, 1_000), (500, 0), (500, 1_000)] {
            let after = after(ConsumerFault::Away, events, failed);
            assert_eq!(after, After::Again { pause: GROUP_AWAY_PAUSE, tries: failed });
        }
    }

    #[test]
    fn consumer_group_retries_a_failed_batch_one_by_one() {
        for failed in [0, GROUP_TRIES_MAX, 1_000] {
            assert_eq!(after(ConsumerFault::Event, 2, failed), After::Singly);
        }
    }
}
