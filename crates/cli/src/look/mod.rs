//! How things look to a person, wherever they are shown: risk as bars, number and word; states as
//! icon and word; colour third.

pub mod time;

use ade_api::tasks::Risk;
use ade_core::agent::Status;
use ade_core::risk::Level;
use ade_core::task::State;

use crate::output::{Paint, Tone};

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

pub fn agent(status: Status) -> (&'static str, Tone) {
    match status {
        Status::Active => ("●", Tone::Good),
        Status::Late => ("▲", Tone::Busy),
        Status::Draining => ("◐", Tone::Busy),
        Status::Paused => ("‖", Tone::Quiet),
        Status::Offline => ("■", Tone::Quiet),
    }
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

/// Like `78 HIGH`.
pub fn risk(risk: Risk) -> String {
    format!("{} {}", risk.score, level(risk.level))
}

/// The same with bars, which are read before words are.
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

pub fn yes(is_so: bool) -> &'static str {
    if is_so { "yes" } else { "no" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_told_by_icon_and_word_before_colour() {
        for of in State::ALL {
            let plain = state_text(of, Paint::OFF);
            assert!(plain.ends_with(of.as_str()) && plain.chars().nth(1) == Some(' '), "{plain}");
        }
    }

    #[test]
    fn a_risk_is_told_by_bars_number_and_word() {
        let told = bars(Risk { score: 92, level: Level::Critical });
        assert_eq!(told, "▂▄▆█  92 CRITICAL");
    }
}
