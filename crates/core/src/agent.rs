//! How a registered program stands: what a person ordered comes first, then how long it has been
//! silent. One enum of statuses, everywhere.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::event::EventKind;
use crate::limits::{AGENT_LATE_AFTER, AGENT_OFFLINE_AFTER};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    Active,
    Late,
    Offline,
    Draining,
    Paused,
}

/// What a person told it. Until it is taken back the agent gets no new work; what it has begun it
/// finishes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// Finish, and end: it is about to go away.
    Drain,
    /// Stay, and wait to be resumed.
    Pause,
}

impl Status {
    pub const ALL: [Self; 5] =
        [Self::Active, Self::Late, Self::Offline, Self::Draining, Self::Paused];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Late => "late",
            Self::Offline => "offline",
            Self::Draining => "draining",
            Self::Paused => "paused",
        }
    }

    /// `silence` is the time since its last heartbeat; `None` if there was none.
    pub fn of(order: Option<Order>, silence: Option<Duration>) -> Self {
        match (order, silence) {
            (Some(Order::Drain), _) => Self::Draining,
            (Some(Order::Pause), _) => Self::Paused,
            (None, Some(silence)) if silence < AGENT_LATE_AFTER => Self::Active,
            (None, Some(silence)) if silence < AGENT_OFFLINE_AFTER => Self::Late,
            (None, _) => Self::Offline,
        }
    }

    /// What others are told when it comes to stand so.
    pub const fn event(self) -> EventKind {
        match self {
            Self::Active => EventKind::AgentOnline,
            Self::Late => EventKind::AgentLate,
            Self::Offline => EventKind::AgentOffline,
            Self::Draining => EventKind::AgentDraining,
            Self::Paused => EventKind::AgentPaused,
        }
    }
}

impl Order {
    pub const ALL: [Self; 2] = [Self::Drain, Self::Pause];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Drain => "drain",
            Self::Pause => "pause",
        }
    }
}

/// When more silence would say something new; never, if it is taken for gone.
pub fn says_more_in(silence: Option<Duration>) -> Option<Duration> {
    let silence = silence?;
    let next = [AGENT_LATE_AFTER, AGENT_OFFLINE_AFTER].into_iter().find(|after| silence < *after);
    next.map(|after| after.saturating_sub(silence))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOMENT: Duration = Duration::from_micros(1);

    #[test]
    fn silence_makes_it_late_and_then_offline() {
        for (silence, status) in [
            (Duration::ZERO, Status::Active),
            (AGENT_LATE_AFTER.saturating_sub(MOMENT), Status::Active),
            (AGENT_LATE_AFTER, Status::Late),
            (AGENT_OFFLINE_AFTER.saturating_sub(MOMENT), Status::Late),
            (AGENT_OFFLINE_AFTER, Status::Offline),
            (Duration::MAX, Status::Offline),
        ] {
            assert_eq!(Status::of(None, Some(silence)), status, "{silence:?}");
        }
        assert_eq!(Status::of(None, None), Status::Offline);
    }

    #[test]
    fn an_order_stands_whatever_is_heard() {
        for silence in [None, Some(Duration::ZERO), Some(Duration::MAX)] {
            assert_eq!(Status::of(Some(Order::Drain), silence), Status::Draining);
            assert_eq!(Status::of(Some(Order::Pause), silence), Status::Paused);
        }
    }

    /// Looked at when it is said to be worth it, the status is another; just before, the same.
    #[test]
    fn no_change_comes_before_it_is_looked_for() {
        let mut silence = Duration::ZERO;
        let mut seen = vec![Status::of(None, Some(silence))];
        while let Some(wait) = says_more_in(Some(silence)) {
            let before = Status::of(None, Some((silence + wait).saturating_sub(MOMENT)));
            assert_eq!(seen.last(), Some(&before));
            silence += wait;
            seen.push(Status::of(None, Some(silence)));
        }
        assert_eq!(seen, [Status::Active, Status::Late, Status::Offline]);
        assert_eq!(says_more_in(None), None);
    }

    #[test]
    fn the_words_are_those_on_the_wire() {
        for status in Status::ALL {
            assert_eq!(serde_json::to_value(status).unwrap(), status.as_str());
            assert!(status.event().as_str().starts_with("agent."));
        }
        for order in Order::ALL {
            assert_eq!(serde_json::to_value(order).unwrap(), order.as_str());
        }
    }
}
