//! The status of an agent: an order given by a person comes first, then the time since its last
//! heartbeat. The same statuses are used everywhere.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::event::EventKind;
use crate::limits::{AGENT_LATE_AFTER, AGENT_OFFLINE_AFTER};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentStatus {
    Active,
    Late,
    Offline,
    Draining,
    Paused,
}

/// An order given by a person. Until it is withdrawn, the agent gets no new work and finishes what
/// it has begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OrderKind {
    /// The agent finishes its work and then ends.
    Drain,
    /// The agent stays and waits to be resumed.
    Pause,
}

impl AgentStatus {
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

    /// Derives the status. `silence` is the time since the last heartbeat, or `None` if there was
    /// no heartbeat.
    pub fn of(order: Option<OrderKind>, silence: Option<Duration>) -> Self {
        match (order, silence) {
            (Some(OrderKind::Drain), _) => Self::Draining,
            (Some(OrderKind::Pause), _) => Self::Paused,
            (None, Some(silence)) if silence < AGENT_LATE_AFTER => Self::Active,
            (None, Some(silence)) if silence < AGENT_OFFLINE_AFTER => Self::Late,
            (None, _) => Self::Offline,
        }
    }

    /// Returns the event that announces this status.
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

impl OrderKind {
    pub const ALL: [Self; 2] = [Self::Drain, Self::Pause];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Drain => "drain",
            Self::Pause => "pause",
        }
    }
}

/// Returns after how much more silence the status changes; `None` once the agent is offline.
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
    fn agent_without_heartbeat_is_late_and_then_offline() {
        for (silence, status) in [
            (Duration::ZERO, AgentStatus::Active),
            (AGENT_LATE_AFTER.saturating_sub(MOMENT), AgentStatus::Active),
            (AGENT_LATE_AFTER, AgentStatus::Late),
            (AGENT_OFFLINE_AFTER.saturating_sub(MOMENT), AgentStatus::Late),
            (AGENT_OFFLINE_AFTER, AgentStatus::Offline),
            (Duration::MAX, AgentStatus::Offline),
        ] {
            assert_eq!(AgentStatus::of(None, Some(silence)), status, "{silence:?}");
        }
        assert_eq!(AgentStatus::of(None, None), AgentStatus::Offline);
    }

    #[test]
    fn agent_order_overrides_the_heartbeat_status() {
        for silence in [None, Some(Duration::ZERO), Some(Duration::MAX)] {
            assert_eq!(AgentStatus::of(Some(OrderKind::Drain), silence), AgentStatus::Draining);
            assert_eq!(AgentStatus::of(Some(OrderKind::Pause), silence), AgentStatus::Paused);
        }
    }

    /// At the predicted time the status differs; just before, it is the same.
    #[test]
    fn agent_status_changes_exactly_when_predicted() {
        let mut silence = Duration::ZERO;
        let mut seen = vec![AgentStatus::of(None, Some(silence))];
        while let Some(wait) = says_more_in(Some(silence)) {
            let before = AgentStatus::of(None, Some((silence + wait).saturating_sub(MOMENT)));
            assert_eq!(seen.last(), Some(&before));
            silence += wait;
            seen.push(AgentStatus::of(None, Some(silence)));
        }
        assert_eq!(seen, [AgentStatus::Active, AgentStatus::Late, AgentStatus::Offline]);
        assert_eq!(says_more_in(None), None);
    }

    #[test]
    fn agent_status_names_match_the_wire_format() {
        for status in AgentStatus::ALL {
            assert_eq!(serde_json::to_value(status).unwrap(), status.as_str());
            assert!(status.event().as_str().starts_with("agent."));
        }
        for order in OrderKind::ALL {
            assert_eq!(serde_json::to_value(order).unwrap(), order.as_str());
        }
    }
}
