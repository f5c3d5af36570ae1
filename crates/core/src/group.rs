//! The groups that read all events, each for a job of its own, and what becomes of an event that
//! one of them cannot take: it is tried a few times and then put aside, so that it holds up nothing
//! for ever. What is not the event's fault is no reason to put it aside.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use thiserror::Error;

use crate::limits::{GROUP_AWAY_PAUSE, GROUP_PAUSE_FIRST, GROUP_PAUSE_GROWTH, GROUP_TRIES_MAX};

#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("no group is called `{0}`")]
pub struct UnknownGroup(pub String);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Group {
    NotificationService,
    AuditLogger,
    WebhookDispatcher,
    AnalyticsPipeline,
}

impl Group {
    pub const ALL: [Self; 4] = [
        Self::NotificationService,
        Self::AuditLogger,
        Self::WebhookDispatcher,
        Self::AnalyticsPipeline,
    ];

    /// Its name among those who read events; cursors are kept by it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NotificationService => "notification-service",
            Self::AuditLogger => "audit-logger",
            Self::WebhookDispatcher => "webhook-dispatcher",
            Self::AnalyticsPipeline => "analytics-pipeline",
        }
    }
}

impl fmt::Display for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Group {
    type Err = UnknownGroup;

    fn from_str(text: &str) -> Result<Self, UnknownGroup> {
        let known = Self::ALL.into_iter().find(|group| group.as_str() == text);
        known.ok_or_else(|| UnknownGroup(text.to_owned()))
    }
}

/// Why events were not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// What the group needs is not there: whatever the event, it would be the same.
    Away,
    /// One of the events itself.
    Event,
}

/// What comes after a round that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum After {
    /// The same events again, after a pause.
    Again { pause: Duration, tries: u32 },
    /// One by one, so that it shows which of them it is.
    Singly,
    /// This event is put aside, and the group goes on behind it.
    Dead { tries: u32 },
}

/// `events` were handed over, the first of which had failed alone so many times before.
pub fn after(fault: Fault, events: usize, failed_before: u32) -> After {
    let tries = failed_before.saturating_add(1);
    match fault {
        Fault::Away => After::Again { pause: GROUP_AWAY_PAUSE, tries: failed_before },
        Fault::Event if events > 1 => After::Singly,
        Fault::Event if tries >= GROUP_TRIES_MAX => After::Dead { tries },
        Fault::Event => After::Again { pause: pause(failed_before), tries },
    }
}

fn pause(failed_before: u32) -> Duration {
    GROUP_PAUSE_FIRST.saturating_mul(GROUP_PAUSE_GROWTH.saturating_pow(failed_before))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_group_is_found_by_its_name() {
        for group in Group::ALL {
            assert_eq!(group.as_str().parse(), Ok(group));
        }
        assert_eq!("nobody".parse::<Group>(), Err(UnknownGroup("nobody".to_owned())));
    }

    #[test]
    fn an_event_is_put_aside_after_its_tries_and_never_before() {
        for failed in 0..GROUP_TRIES_MAX * 2 {
            let after = after(Fault::Event, 1, failed);
            let is_dead = matches!(after, After::Dead { .. });
            assert_eq!(is_dead, failed + 1 >= GROUP_TRIES_MAX, "{failed}: {after:?}");
        }
        assert!(pause(1) > pause(0), "pauses grow");
    }

    #[test]
    fn what_is_not_its_fault_never_costs_an_event_a_try() {
        for (events, failed) in [(1, 0), (1, 1_000), (500, 0), (500, 1_000)] {
            let after = after(Fault::Away, events, failed);
            assert_eq!(after, After::Again { pause: GROUP_AWAY_PAUSE, tries: failed });
        }
    }

    #[test]
    fn many_at_once_are_looked_at_one_by_one_before_any_is_blamed() {
        for failed in [0, GROUP_TRIES_MAX, 1_000] {
            assert_eq!(after(Fault::Event, 2, failed), After::Singly);
        }
    }
}
