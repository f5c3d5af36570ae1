//! Shared display of risk (bars, number and word), states (icon and word) and agents. Colour only
//! adds to the text.

pub mod time;

use ade_api::agents::Agent;
use ade_api::claims::BlockedBy;
use ade_api::tasks::{Risk, TaskDecision};
use ade_core::agent::AgentStatus;
use ade_core::risk::Level;
use ade_core::task::State;
use ade_core::time::Timestamp;

use crate::output::{Paint, Tone};
use crate::text::visible;

pub fn state(state: State) -> (&'static str, Tone) {
    match state {
        State::Draft => ("○", Tone::Quiet),
        State::Submitted | State::Reviewing => ("◐", Tone::Busy),
        State::Approved => ("◑", Tone::Good),
        State::Applying => ("▶", Tone::Busy),
        State::Completed => ("●", Tone::Good),
        State::Rejected | State::Failed => ("✕", Tone::Bad),
        State::Unknown => ("?", Tone::Bad),
        State::Cancelled | State::Expired => ("■", Tone::Quiet),
    }
}

pub fn agent(status: AgentStatus) -> (&'static str, Tone) {
    match status {
        AgentStatus::Active => ("●", Tone::Good),
        AgentStatus::Late => ("▲", Tone::Busy),
        AgentStatus::Draining => ("◐", Tone::Busy),
        AgentStatus::Paused => ("‖", Tone::Quiet),
        AgentStatus::Offline => ("■", Tone::Quiet),
    }
}

pub fn seen(agent: &Agent, when: impl Fn(Timestamp) -> String) -> String {
    agent.seen_at.map_or_else(|| "never".to_owned(), when)
}

pub fn capabilities(agent: &Agent) -> String {
    let known: Vec<&str> = agent.capabilities.iter().map(String::as_str).collect();
    known.join(", ")
}

pub const fn level(level: Level) -> &'static str {
    match level {
        Level::Low => "LOW",
        Level::Medium => "MEDIUM",
        Level::High => "HIGH",
        Level::Critical => "CRITICAL",
    }
}

pub fn level_tone(of: Level) -> Tone {
    match of {
        Level::Low => Tone::Quiet,
        Level::Medium => Tone::Plain,
        Level::High => Tone::Busy,
        Level::Critical => Tone::Bad,
    }
}

/// Formats a risk such as `78 HIGH`.
pub fn risk(risk: Risk) -> String {
    format!("{} {}", risk.score, level(risk.level))
}

/// Formats a risk with bars in front, such as `▂▄▆░  78 HIGH`.
pub fn bars(risk: Risk) -> String {
    let bars = match risk.level {
        Level::Low => "▂░░░",
        Level::Medium => "▂▄░░",
        Level::High => "▂▄▆░",
        Level::Critical => "▂▄▆█",
    };
    format!("{bars} {:>3} {}", risk.score, level(risk.level))
}

pub fn state_text(of: State, paint: Paint) -> String {
    let (icon, tone) = state(of);
    paint.tone(&format!("{icon} {of}"), tone)
}

/// Formats who decided and why, such as `usr_…: use a batch`. The reason is untrusted text.
pub fn decided(decision: &TaskDecision) -> String {
    let reason = decision.reason.as_deref().unwrap_or("no reason given");
    format!("{}: {}", visible(&decision.by), visible(reason))
}

/// Lists what prevents a permit, such as `lock_held: host:web-1 is held by agt_…`, and says what to
/// do about the first of it.
pub fn blocked(by: &[BlockedBy]) -> String {
    let reasons = by.iter().map(|one| format!("{}: {}", one.code.as_str(), visible(&one.reason)));
    let advice = by.first().map(|one| visible(&one.next_action.message));
    reasons.chain(advice).collect::<Vec<_>>().join("; ")
}

/// Describes an error that may pass: its code and its message.
pub fn obstacle(error: &ade_client::Error) -> String {
    format!("{}: {}", visible(error.code()), visible(&error.to_string()))
}

pub fn yes(is_so: bool) -> &'static str {
    if is_so { "yes" } else { "no" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn task_state_has_an_icon_and_a_word_without_colour() {
        for of in State::ALL {
            let plain = state_text(of, Paint::OFF);
            assert!(plain.ends_with(of.as_str()) && plain.chars().nth(1) == Some(' '), "{plain}");
        }
    }

    #[test]
    fn risk_is_shown_as_bars_number_and_word() {
        let drawn = bars(Risk { score: 92, level: Level::Critical });
        assert_eq!(drawn, "▂▄▆█  92 CRITICAL");
    }
}
