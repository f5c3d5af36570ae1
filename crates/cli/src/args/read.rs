//! Value parsers for command-line arguments: durations, times, states, resources.

use std::time::Duration;

use ade_api::locks::{LockMode, WantedLock};
use ade_api::tasks::{Mode, TouchedResource};
use ade_core::ids::ApprovalId;
use ade_core::limits::{APPLY_TIMEOUT_MAX_SECONDS, LEASE_TTL_MAX, LEASE_TTL_MIN};
use ade_core::resource::ResourceRef;
use ade_core::task::State;
use ade_core::task_ref::TaskRef;
use ade_core::time::Timestamp;
use serde::de::DeserializeOwned;

use crate::look::time::now;

/// The object of a decision: a task, or the caller's own approval request for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    Task(TaskRef),
    Approval(ApprovalId),
}

pub fn asked(text: &str) -> Result<Asked, String> {
    if text.starts_with("apr_") {
        return text.parse().map(Asked::Approval).map_err(|error| format!("{error}"));
    }
    text.parse().map(Asked::Task).map_err(|error| format!("{error}"))
}

pub fn state(text: &str) -> Result<State, String> {
    let known = State::ALL.into_iter().find(|state| state.as_str().eq_ignore_ascii_case(text));
    known.ok_or_else(|| {
        let names = State::ALL.map(|state| state.as_str().to_lowercase());
        format!("use one of {}", names.join(", "))
    })
}

/// Parses an enum value of the API in any letter case.
pub fn word<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    let cases = [text.to_owned(), text.to_lowercase(), text.to_uppercase()];
    let mut why = String::new();
    for word in cases.map(|word| word.replace('-', "_")) {
        match serde_json::from_value(word.into()) {
            Ok(read) => return Ok(read),
            Err(error) => why = error.to_string(),
        }
    }
    // Serde says: `unknown variant `x`, expected one of `a`, `b``.
    let known = why.split_once("expected ").map_or(why.as_str(), |(_, known)| known);
    Err(format!("use {}", known.replace('`', "").to_lowercase()))
}

/// Parses the name of an environment variable.
pub fn variable(text: &str) -> Result<String, String> {
    if text.is_empty() || text.contains(['=', '\0']) {
        return Err("use the name of a variable; its value comes from the environment".to_owned());
    }
    Ok(text.to_owned())
}

pub fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || "use a duration such as 90s, 30m or 2h".to_owned();
    let signed: jiff::SignedDuration = text.parse().map_err(|_| wrong())?;
    Duration::try_from(signed).ok().filter(|long| !long.is_zero()).ok_or_else(wrong)
}

/// Parses an RFC 3339 timestamp, or a duration from now.
pub fn moment(text: &str) -> Result<Timestamp, String> {
    if let Ok(long) = duration(text) {
        return Ok(now().plus(long));
    }
    at(text)
}

/// Parses an RFC 3339 timestamp, or a duration before now.
pub fn past(text: &str) -> Result<Timestamp, String> {
    if let Ok(long) = duration(text) {
        return Ok(now().minus(long));
    }
    at(text)
}

fn at(text: &str) -> Result<Timestamp, String> {
    let read: Result<jiff::Timestamp, _> = text.parse();
    read.map(|at| Timestamp::from_micros(at.as_microsecond()))
        .map_err(|_| "use a duration such as 2h, or a time such as 2026-11-15T18:00:00Z".to_owned())
}

/// Parses an apply timeout. The server accepts whole seconds only.
pub fn apply_timeout(text: &str) -> Result<Duration, String> {
    let most = Duration::from_secs(u64::from(APPLY_TIMEOUT_MAX_SECONDS));
    let given = duration(text)?;
    if given.subsec_nanos() == 0 && given <= most {
        return Ok(given);
    }
    Err(format!("use whole seconds, at most {} h", most.as_secs() / 3600))
}

/// Parses a lease TTL within the limits of the server.
pub fn ttl(text: &str) -> Result<Duration, String> {
    let given = duration(text)?;
    if (LEASE_TTL_MIN..=LEASE_TTL_MAX).contains(&given) {
        return Ok(given);
    }
    Err(format!(
        "use a duration from {} s to {} s",
        LEASE_TTL_MIN.as_secs(),
        LEASE_TTL_MAX.as_secs()
    ))
}

pub fn touched(text: &str) -> Result<TouchedResource, String> {
    let (name, mode) = match text.rsplit_once('=') {
        Some((name, "shared")) => (name, Mode::Shared),
        Some((name, "exclusive")) => (name, Mode::Exclusive),
        Some(_) | None => (text, Mode::Exclusive),
    };
    let resource: ResourceRef = name.parse().map_err(|error| format!("{error}"))?;
    Ok(TouchedResource { resource, mode: Some(mode) })
}

pub fn wanted(text: &str) -> Result<WantedLock, String> {
    let touched = touched(text)?;
    let mode = match touched.mode {
        Some(Mode::Shared) => LockMode::Shared,
        Some(Mode::Exclusive) | None => LockMode::Exclusive,
    };
    Ok(WantedLock { resource: touched.resource, mode, capacity: None })
}

/// Parses a minimum risk score: `>60`, `>=60`, or a plain number, which is the minimum itself.
pub fn least_risk(text: &str) -> Result<u8, String> {
    let wrong = || "use a number from 0 to 100, such as '>60' or 60".to_owned();
    let (number, more) = match text.strip_prefix(">=") {
        Some(rest) => (rest, 0),
        None => text.strip_prefix('>').map_or((text, 0), |rest| (rest, 1)),
    };
    let number: u8 = number.trim().parse().map_err(|_| wrong())?;
    Some(number + more).filter(|least| *least <= 100).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use ade_core::risk::Level;

    use super::*;

    #[test]
    fn resource_mode_defaults_to_exclusive() {
        let read = |text: &str| touched(text).map(|read| (read.resource.to_string(), read.mode));
        assert_eq!(read("database:a"), Ok(("database:a".to_owned(), Some(Mode::Exclusive))));
        assert_eq!(read("database:a=shared"), Ok(("database:a".to_owned(), Some(Mode::Shared))));
        // An id may contain an equals sign.
        assert_eq!(read("host:a=b").unwrap().0, "host:a=b");
        assert!(read("orders").is_err());
    }

    #[test]
    fn duration_with_a_unit_is_parsed() {
        assert_eq!(duration("90s"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("30m"), Ok(Duration::from_mins(30)));
        for wrong in ["", "0s", "-5s", "5", "soon"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
        assert_eq!(apply_timeout("90m"), Ok(Duration::from_mins(90)));
        assert!(apply_timeout("25h").is_err() && apply_timeout("1500ms").is_err());
        assert!(ttl("999ms").is_err() && ttl("301s").is_err() && ttl("2s").is_ok());
    }

    #[test]
    fn moment_is_a_date_or_a_time_from_now() {
        let at = moment("2026-11-15T18:00:00Z").unwrap();
        assert_eq!(at.to_string(), "2026-11-15T18:00:00.000000Z");
        assert!(moment("2h").unwrap() > now());
        assert!(past("2h").unwrap() < now());
        assert!(moment("tomorrow").unwrap_err().contains("2026-11-15T18:00:00Z"));
    }

    #[test]
    fn enum_value_in_any_case_is_parsed_and_unknown_is_listed() {
        assert_eq!(word::<Level>("high"), Ok(Level::High));
        assert_eq!(word::<Level>("HIGH"), Ok(Level::High));
        let message = word::<Level>("huge").unwrap_err();
        assert!(message.contains("low, medium, high, critical"), "{message}");
    }

    #[test]
    fn risk_filter_is_a_minimum_score() {
        assert_eq!(least_risk(">60"), Ok(61));
        assert_eq!(least_risk(">=60"), Ok(60));
        assert_eq!(least_risk("60"), Ok(60));
        assert!(least_risk(">100").is_err() && least_risk("high").is_err());
    }

    #[test]
    fn decision_target_is_a_task_or_an_approval() {
        let id = "0".repeat(26);
        assert!(matches!(asked(&format!("task_{id}")), Ok(Asked::Task(_))));
        assert!(matches!(asked(&format!("apr_{id}")), Ok(Asked::Approval(_))));
        assert_eq!(asked("t-48"), Ok(Asked::Task(TaskRef::Number(48))));
        assert!(asked("orders").is_err());
    }
}
